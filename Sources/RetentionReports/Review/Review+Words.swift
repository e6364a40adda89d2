import PriceStore
import RetentionJob
import RetentionPolicy

/// A table of the review. A terminal shows its first columns, the page all of them.
struct ReviewTable {
    var caption: String
    /// How many columns a terminal shows, and whether the last of them is a text of any length.
    var shortCount: Int
    var endsWithText: Bool
    var columns: [(heading: String, isNumber: Bool)]
    var rows: [(cells: [String], style: Style)]
    /// What is below each row, a line for each text; on a page it is the last column, with this heading.
    var texts: (heading: String, ofRows: [[String]])?

    /// A row for each item, and a value of it for each column.
    init<Item>(
        _ caption: String, _ items: [Item], shortCount: Int, endsWithText: Bool = false, style: (Item) -> Style,
        _ columns: [(heading: String, isNumber: Bool, value: (Item) -> String)],
        texts: (heading: String, value: (Item) -> [String])? = nil
    ) {
        (self.caption, self.shortCount, self.endsWithText) = (caption, shortCount, endsWithText)
        self.columns = columns.map { ($0.heading, $0.isNumber) }
        rows = items.map { item in (columns.map { $0.value(item) }, style(item)) }
        self.texts = texts.map { texts in (texts.heading, items.map { texts.value($0) }) }
    }
}

/// The words of a review, which its text and its page share.
extension Review {
    /// An instant to the minute, in UTC.
    static func time(_ instant: Instant?) -> String { instant.map { String($0.toSecond.plain.dropLast(3)) } ?? "" }

    /// A length of time in its largest unit: `3 days`, `5 h 02 min`.
    static func age(_ duration: Duration) -> String {
        let days = Figures.days(duration)
        return days > 1 ? Figures.grouped(days) + " days" : Figures.duration(duration)
    }

    /// The lines at the top: what happened, what comes, and how much needs attention.
    var topLines: [(label: String, text: String, style: Style)] {
        let (found, last) = (attention, lastRun)
        let head = found.isEmpty ? "nothing" : "\(Figures.count(found.count, "finding")), the worst first"
        return [
            (
                "Last run", last.map(words) ?? Self.noRun(policy, because: ledgerTrouble),
                last?.outcome.style ?? .caution
            ), next,
            ("Attention", head, found.first?.style ?? .good),
        ]
    }

    private func words(_ run: LedgerRun) -> String {
        let asOf = run.report.asOfText.map { ", " + $0 } ?? ""
        var parts = [Self.time(run.report.started) + asOf, run.outcomeText]
        if run.isFinished {
            // An undo may have brought rows back since.
            let isRestored = (runs + others).contains { $0.number > run.number && $0.report.undo != nil }
            parts.append(String(TextReport(run.report, tellsLeft: !isRestored).closing.dropLast()))
        }
        if run.outcome == .crashed { parts.append("what it deleted and left is not known") }
        parts.append(Self.rowsByRule(run.report.rules))
        if run.report.configSHA256 != plan.configSHA256 { parts.append("the policy has changed since") }
        if let undo = run.undoText {
            parts.append((["possible", "not possible"].contains(where: undo.hasPrefix) ? "undo " : "") + undo)
        }
        return parts.filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// The rules that deleted the most rows, with their sums; empty: it was one rule, or none.
    static func rowsByRule(_ rules: [RunReport.RuleReport]) -> String {
        let sums = Dictionary(grouping: rules.filter { $0.done.goneCount > 0 }, by: \.name).map { name, rules in
            (
                name: name, deleted: rules.reduce(0) { $0 + $1.done.deleted },
                gone: rules.reduce(0) { $0 + $1.done.goneCount }
            )
        }
        guard sums.count > 1 else { return "" }
        let most = sums.sorted { ($1.gone, $0.name) < ($0.gone, $1.name) }.prefix(5).map { name, deleted, gone in
            "\(name) \(Figures.grouped(deleted))"
                + (gone > deleted ? " and \(Figures.grouped(gone - deleted)) with them" : "")
        }
        return most.joined(separator: ", ") + (sums.count > 5 ? ", …" : "")
    }

    /// Why the past runs are not known, as a clause; nil: they are.
    private var ledgerTrouble: String? { isLedgerUnreadable ? Self.unreadableLedger : nil }

    static let unreadableLedger = "the ledger cannot be read"

    /// What is known if no run is.
    ///
    /// - Parameter trouble: why the past runs are not known, as a clause; nil: they are.
    static func noRun(_ policy: Policy, because trouble: String?) -> String {
        if let trouble { return "not known: \(trouble)" }
        return policy.ledger == .none ? "not known: the policy keeps no ledger" : "none is recorded"
    }

    /// Why it is not known when the next run is due.
    static func nextIsNotKnown(_ policy: Policy, because trouble: String?) -> String {
        if let trouble { return "when is not known: \(trouble)" }
        return "when is not known: the policy "
            + (policy.expectedEvery == nil ? "has no expected_every" : "keeps no ledger")
    }

    /// When the next run is due, and what it will delete.
    private var next: (label: String, text: String, style: Style) {
        let refused = plan.rules.filter { $0.outcome == .refused }.map { rule in
            "\(rule.name) (\(rule.planned.isCounted ? Figures.count(rule.planned.expired, "expired row") : "not counted"))"
        }
        let cascaded = ready.reduce(0) { $0 + $1.done.cascaded }
        let shares = cascaded > 0 ? " (\(Figures.grouped(cascaded)) by cascades)" : ""
        let verb = refused.isEmpty || plan.failure != nil ? "expired now" : "would be deleted now"
        let without = cascaded > 0 ? " (without cascades)" : ""
        let more = expiredUntilDue.map { ($0, "by then") } ?? expiredTomorrow.map { ($0, "within 24 hours") }
        let later = more.map { ", \(Figures.grouped($0.0)) more \($0.1)\(without)" } ?? ""
        let rest = refused.isEmpty ? "" : "; a run would refuse \(refused.listed("and"))"
        let rows =
            expiredNow.map { " · \(Figures.count($0, "row"))\(shares) \(verb)\(later)\(rest)" }
            ?? " · what a run would delete is not known"
        guard let missed else {
            return (
                "Next", Self.nextIsNotKnown(policy, because: ledgerTrouble) + rows, .caution
            )
        }
        let next = Self.next(due, of: missed.expected, every: missed.expectedEvery, now: missed.now)
        return ("Next", next.text + rows, next.style)
    }

    /// When the next run is due, and whether it has not begun.
    ///
    /// - Parameters:
    ///   - due: when it is due, and when it counts as missed; nil: no run is recorded.
    ///   - run: what is expected, in words.
    ///   - every: how often, as the policy writes it.
    static func next(
        _ due: (due: Instant, late: Instant)?, of run: String, every: String, now: Instant
    ) -> (text: String, style: Style) {
        guard let (due, late) = due else { return ("a run is expected every \(every), and none is recorded", .bad) }
        return now > late
            ? ("due by \(time(due)); no \(run) is recorded since", .bad)
            : ("due by \(time(due)); if you read this after \(time(late)), the job did not run", .plain)
    }

    /// The rows before the cutoff that stay, and why.
    func stays(_ rule: RunReport.RuleReport) -> (count: Int, text: String) {
        let tiers = rule.kept.byTier.isEmpty ? "" : " (\(Figures.tiers(rule.kept.byTier)))"
        let parts = [
            (rule.kept.byRuleCount, "by keep_last or thin" + tiers), (rule.kept.heldCount, "held"),
            (rule.candles.unpriced ?? 0, "without a price"),
        ].filter { $0.0 > 0 }
        let texts = parts.map { "\(Figures.grouped($0)) \($1)" }
        return (parts.reduce(0) { $0 + $1.0 }, texts.joined(separator: ", "))
    }

    /// What a run would do.
    var ruleTable: ReviewTable {
        func number(_ rule: RunReport.RuleReport, _ count: Int?) -> String {
            rule.outcome == .disabled ? "" : count.map { Figures.grouped($0) } ?? "?"
        }
        func positive(_ count: Int) -> String { count > 0 ? Figures.grouped(count) : "" }
        let ready = plan.failure == nil ? "ready" : "would fail"
        return ReviewTable(
            "What a run would do now, the rules that need attention first\(leftOut). ?: not known", shownRules,
            shortCount: 6,
            style: { $0.outcome.style },
            [
                ("Rule", false, { $0.name }),
                ("State", false, { $0.outcome == .planned ? ready : $0.outcome.rawValue }),
                ("Rows", true, { number($0, $0.planned.rows) }),
                ("Expired", true, { number($0, $0.planned.isCounted ? $0.planned.expired : nil) }),
                ("Next 24 h", true, { number($0, $0.planned.forecast?.nextDay) }),
                ("Newest (UTC)", false, { Self.time($0.planned.newest) }),
                ("Then 7 days", true, { number($0, $0.planned.forecast?.nextWeek) }),
                ("Cascaded", true, { positive($0.done.cascaded) }),
                ("Unreadable", true, { positive($0.planned.unreadableCount) }),
                ("Stay past the cutoff", false, { stays($0).text }),
                ("Overdue", false, { $0.overdue.map(Self.age) ?? ($0.planned.expired > 0 ? "?" : "") }),
                ("New candles", true, { positive($0.candles.created ?? 0) }),
                ("Changed candles", true, { positive($0.candles.changed ?? 0) }),
                ("Growth", false, { growth(of: $0)?.text ?? number($0, nil) }),
                ("Oldest (UTC)", false, { Self.time($0.planned.oldest) }),
                (
                    "Cutoff (UTC)", false,
                    { number($0, nil).isEmpty ? "" : isStoreRead ? Self.time($0.cutoff) : "?" }
                ),
                ("Max age", false, { $0.maxAge }), ("Date", false, { "\($0.entity).\($0.dateAttribute)" }),
            ])
    }

    /// What came and went of each rule on the newest days with a run: a week, or fewer days of many rules.
    var nightTable: ReviewTable {
        let names = shownRules.map(\.name)
        let most = min(7, max(1, 21 / max(1, names.count)))
        let nights = names.flatMap { name in
            let undated = undatedDeleted[name].flatMap { count in
                count > 0 ? (rule: name, day: "?", figures: ["", Figures.grouped(count), "", ""]) : nil
            }
            return days(of: name).points.suffix(most).reversed().map { point in
                (rule: name, day: day(point.start), figures: (0..<4).map { point.text($0) })
            } + (undated.map { [$0] } ?? [])
        }
        func figure(_ index: Int) -> ((rule: String, day: String, figures: [String])) -> String {
            { $0.figures[index] }
        }
        return ReviewTable(
            "What came and went in the newest nights. Arrived: less what other programs deleted. ?: not known", nights,
            shortCount: 6, style: { _ in .plain },
            [
                ("Rule", false, { $0.rule }), ("Day", false, { $0.day }), ("Arrived", true, figure(0)),
                ("Deleted", true, figure(1)), ("Rows left", true, figure(2)), ("Expired left", true, figure(3)),
            ])
    }

    var holdTable: ReviewTable {
        ReviewTable(
            "Holds: rows that no rule deletes as long as they are in force", plan.holds ?? [], shortCount: 5,
            style: { $0.state == .inForce ? .plain : .bad },
            [
                ("Hold", false, { $0.name }),
                ("State", false, { $0.state == .inForce ? "in force" : $0.state.rawValue }),
                ("Expired rows", true, { Figures.grouped(plan.keptCount(of: $0.name)) }),
                ("Ends (UTC)", false, { $0.expires.map(Self.time) ?? "never" }), ("Entity", false, { $0.entity }),
                ("Reason", false, { $0.reason }),
            ])
    }

    /// The newest runs and the gaps between them, the last one first.
    var runTable: ReviewTable {
        let newest = begun.suffix(30)
        let first = newest.first?.at ?? .distantPast
        // If no run is recorded, it is not known when one was due.
        let gaps = (missed?.gaps ?? []).filter { $0.due != nil && $0.until.map { $0 > first } ?? true }
        let items =
            newest.map { at, run in
                (at: at, shown: run.report.started, run: LedgerRun?.some(run), text: run.outcomeText)
            }
            + gaps.map { gap in
                let due = gap.due ?? first
                return (at: due, shown: due, run: nil, text: missed?.sentence(gap) ?? "")
            }
        let missedOnes = gaps.isEmpty ? "" : " and the missed ones"
        let notRead = gaps.isEmpty ? "" : ". A run that could not read its policy is missed: see its mail or journal"
        func ended(_ run: LedgerRun?, isCount: Bool = false, _ text: (RunReport) -> String) -> String {
            run.map { isCount && $0.report.undo != nil ? "" : $0.isFinished ? text($0.report) : "?" } ?? ""
        }
        return ReviewTable(
            runs.isEmpty
                ? "No run is recorded."
                : "The newest \(Figures.count(newest.count, "run"))\(missedOnes), the last one first\(notRead)",
            items.sorted { $0.at > $1.at }, shortCount: 3, endsWithText: true, style: { $0.run?.outcome.style ?? .bad },
            [
                ("Started (UTC)", false, { Self.time($0.shown) }),
                ("Deleted", true, { ended($0.run, isCount: true) { Figures.grouped($0.goneCount) } }),
                ("Outcome", false, { $0.text }),
                ("Time", true, { ended($0.run) { Figures.duration($0.finished.since($0.started)) } }),
                ("Exit", true, { ended($0.run) { String($0.exitCode) } }),
                (
                    "Residue", true,
                    { ended($0.run, isCount: true) { $0.countedResidue.map { Figures.grouped($0) } ?? "?" } }
                ),
                ("Archived", true, { $0.run?.report.archivedCount.map { Figures.grouped($0) } ?? "" }),
                ("Undo", false, { $0.run?.undoText ?? "" }),
                ("Run", false, { String($0.run?.report.runID.prefix(10) ?? "") }),
                ("Policy", false, { String($0.run?.report.configSHA256.prefix(8) ?? "") }),
                ("By", false, { $0.run.map { "\($0.process.operatorText) on \($0.process.host)" } ?? "" }),
            ])
    }
}
