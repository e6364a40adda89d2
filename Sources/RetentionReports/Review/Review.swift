import PriceStore
package import RetentionJob
package import RetentionPolicy

/// What a reviewer asks about a store: what the last run did, what comes next, and what needs attention. Text, JSON and page are made from
/// it, so that each figure is computed once.
package struct Review {
    /// What a run would do now.
    package var plan: RunReport
    /// Past runs of the policy on the store, the newest last; none if the policy keeps no ledger.
    package var runs: [LedgerRun]
    /// Those of other policies. Of them only what they deleted matters, because it explains numbers of rows.
    let others: [LedgerRun]
    /// The rows of the enabled rules by their dates.
    package var dates: [String: Series]
    /// The size of the store now; nil: the store cannot be read.
    package var storeSizeBytes: Int64?
    /// Whether the ledger cannot be read, which is the failure of the plan. Then at most some of the past runs are known.
    package var isLedgerUnreadable = false
    /// The entities, in lower case, from which the rules' deletes can take rows by cascades, by the names of the rules.
    let reached: [String: Set<String>]
    /// The policy, completed from the store.
    package var policy: Policy
    var days: [String: Series] = [:]
    /// The rows that each rule deleted on days that are not known, because the clock was wrong.
    var undatedDeleted: [String: Int64] = [:]
    /// Whether the plan has what a run would do; otherwise only the past runs are known.
    let isStoreRead: Bool

    package init(
        plan: RunReport, runs: [LedgerRun], others: [LedgerRun] = [], dates: [String: Series] = [:],
        storeSizeBytes: Int64? = nil, policy: Policy, reached: [String: Set<String>] = [:]
    ) {
        self.reached = reached
        (self.plan, self.runs, self.others, self.dates, self.policy) = (plan, runs, others, dates, policy)
        self.storeSizeBytes = storeSizeBytes
        isStoreRead = plan.failure == nil || !plan.rules.isEmpty
        if !isStoreRead { takeRulesOfPastRuns() }
        findDays()
    }

    /// Takes the rules of the policy for those of the plan, with figures that are not known. A rule for several tables or ages is as many
    /// rules as in its newest run, and so is one of a policy with mistakes, of which only the name was read.
    private mutating func takeRulesOfPastRuns() {
        let (pastRuns, isRead) = (runs.reversed().map(\.report.rules), policy.mistakes == nil)
        policy.rules = policy.rules.flatMap { rule in
            let members =
                pastRuns.lazy.map { $0.filter { $0.family == rule.name || !isRead && $0.name == rule.name } }
                .first { !$0.isEmpty } ?? []
            var one = rule
            if !isRead { (one.dateAttribute, one.maxAge.written) = ("?", "?") }
            return members.isEmpty
                ? [one]
                : members.map { member in
                    one.family = member.family.map { Rule.Family(name: $0, entity: rule.entity) }
                    (one.name, one.entity) = (member.name, member.entity)
                    (one.dateAttribute, one.maxAge.written) = (member.dateAttribute, member.maxAge)
                    return one
                }
        }
        plan.rules = policy.rules.map { rule in
            var report = RunReport.RuleReport(
                name: rule.name, entity: rule.entity, dateAttribute: rule.dateAttribute, dateFormat: rule.dateFormat,
                maxAge: rule.maxAge.written, cutoff: plan.asOf, outcome: rule.isEnabled ? .planned : .disabled)
            let known = ["name", "entity", "date_attribute", "date_format", "max_age", "outcome", "family"]
            report.unknown = Set(RunReport.RuleReport.values.map(\.name)).subtracting(known)
            (report.family, report.planned.isCounted) = (rule.family?.name, false)
            return report
        }
    }

    /// The days up to today of which past runs are shown, and over which growth is measured.
    static let recentDays = 30

    /// The start of the day that is some days before today.
    func start(daysAgo days: Int) -> Instant { start(days, before: plan.asOf) }

    /// The start of the day that is some days before the day of an instant.
    func start(_ days: Int, before instant: Instant) -> Instant {
        policy.timezone.startOfDay(CivilDate(dayNumber: dayNumber(instant) - days))
    }

    func dayNumber(_ instant: Instant) -> Int { policy.timezone.civil(of: instant).date.dayNumber }

    /// The runs that began in these days.
    var recentRuns: [LedgerRun] {
        let recent = start(daysAgo: Self.recentDays)..<start(daysAgo: -1)
        return begun.filter { recent.contains($0.at) }.map(\.run)
    }

    /// The runs, and when they began.
    var begun: [(at: Instant, run: LedgerRun)] { runs.begun(now: plan.asOf).map { (at: $0.at, run: $0.run) } }

    /// The newest run that is no undo and whose date may be right; nil: none is recorded.
    var lastRun: LedgerRun? { runs.newest(now: plan.started) }

    /// The gaps between the runs; nil: the policy has no `expected_every`, or no ledger that can be read.
    var missed: MissedRuns? {
        guard policy.ledger != .none, !isLedgerUnreadable else { return nil }
        return policy.expectedEvery.map {
            MissedRuns(runs, of: policy, every: $0, zone: policy.timezone, now: plan.started)
        }
    }

    /// When the next run is due, and when it counts as missed: a tenth later. Nil: that is not known.
    var due: (due: Instant, late: Instant)? { runs.due(of: policy, now: plan.started) }

    var ready: [RunReport.RuleReport] { plan.rules.filter { $0.outcome == .planned } }

    /// The rows that a run would delete now, with those of cascades; nil: they were not counted.
    var expiredNow: Int? { isStoreRead ? ready.reduce(0) { $0 + $1.planned.expired + $1.done.cascaded } : nil }

    /// The rows that will expire within 24 hours; nil: they were not counted.
    var expiredTomorrow: Int? { sum(of: ready) { $0.nextDay } }

    /// The rows that will expire until the next run is due; nil: it is due, when is not known, or they were not counted.
    var expiredUntilDue: Int? { due.flatMap { plan.asOf < $0.due ? sum(of: ready) { $0.untilDue } : nil } }

    /// The same as ``expiredNow`` and ``expiredTomorrow`` with the rows of rules that a run would refuse; nil: not all were counted.
    var expiredOfAll: (now: Int?, tomorrow: Int?) {
        let refused = plan.rules.filter { $0.outcome == .refused }
        let isKnown = refused.allSatisfy { $0.planned.isCounted }
        let now = isKnown ? expiredNow.map { refused.reduce($0) { $0 + $1.planned.expired } } : nil
        return (now, sum(of: ready + refused) { $0.nextDay })
    }

    /// The sum of a forecast over some rules; nil: it is not known of all.
    private func sum(of rules: [RunReport.RuleReport], _ rows: (Forecast) -> Int?) -> Int? {
        guard isStoreRead else { return nil }
        return rules.reduce(0) { sum, rule in
            sum.flatMap { sum in rule.planned.forecast.flatMap(rows).map { sum + $0 } }
        }
    }

    func days(of name: String) -> Series { days[name] ?? Series(names: Self.dayFigures) }

    /// Whether the archive of a run is gone before its time: somebody has removed it, or its disk is not mounted.
    private func hasLostArchive(_ run: LedgerRun) -> Bool {
        run.isArchiveThere == false && run.report.archive?.until.map { $0 > plan.asOf } == true
    }

    /// The runs that cannot be undone because their archives are gone before their time.
    var runsWithLostArchive: [LedgerRun] { runs.filter { hasLostArchive($0) && $0.undoneBy?.isWhole != true } }

    /// The size of the store after each run, and of all archives that were kept then: those that are there, and those that have been there
    /// until their time was over. Since when one is gone before its time is unknown, and so is the size. One that is kept forever does not
    /// count once somebody has moved it.
    var sizes: Series {
        let archives = runs.compactMap { run -> (kept: Range<Instant>, bytes: Int64?)? in
            guard let archive = run.report.archive, let bytes = archive.sizeBytes else { return nil }
            let made = run.report.finished
            var end = archive.until ?? .distantFuture
            if run.isArchiveThere == true { end = .distantFuture }
            if run.isArchiveThere == false, archive.until == nil { end = made }
            return (made..<max(made, end), hasLostArchive(run) ? nil : bytes)
        }
        let undated = undatedRuns
        return Series(
            names: ["store_bytes", "archive_bytes"],
            points: recentRuns.filter { $0.isFinished && !undated.contains($0.number) }.map { run in
                let now = run.report.finished
                let kept = archives.filter { $0.kept.contains(now) }
                let known = kept.compactMap(\.bytes)
                let size = archives.isEmpty || known.count < kept.count ? nil : known.reduce(0, +)
                return .init(start: now, end: now, values: [run.report.storeSizeBytes, size])
            })
    }

    /// How the number of a rule's rows has changed; nil: unknown.
    func growth(of rule: RunReport.RuleReport) -> (text: String, isLarge: Bool)? {
        // The rows of past days stand at the starts of the days.
        days(of: rule.name).growth(2, now: start(daysAgo: 0), last: rule.planned.rows.map { Int64($0) }) {
            Figures.grouped($0)
        }
    }

    /// The review as JSON, schema `retention.report/1`, ending with a line end.
    package var json: String {
        let rules = orderedRules.map { rule in
            let series = [("dates", dates[rule.name]), ("days", days(of: rule.name))]
            let undated = JSONText.Member("deleted_undated", (undatedDeleted[rule.name] ?? 0).json)
            return JSONText.object(rule.members + series.map { .init($0, $1?.json ?? .null) } + [undated])
        }
        let findings = attention.map { found in
            let level = found.style == .bad ? "error" : found.style == .caution ? "warning" : "notice"
            return ["level": level.json, "kind": found.kind.json, "rule": found.rule.json, "text": found.text.json]
                as JSONText
        }
        let next: JSONText = [
            "due": (due?.due).json, "late_after": (due?.late).json, "expired": expiredNow.json,
            "until_due": expiredUntilDue.json, "next_day": expiredTomorrow.json,
        ]
        let document: JSONText = [
            "schema": "retention.report/1", "store": plan.store.json, "as_of": plan.asOf.json,
            "config": plan.config.json, "config_sha256": plan.configSHA256.json,
            "last_run": lastRun.map(LogReport.value) ?? .null, "next": next, "attention": .array(findings),
            "rules": .array(rules), "holds": plan.members.first { $0.name == "holds" }?.value ?? .null,
            "store_bytes": storeSizeBytes.json, "sizes": sizes.json,
            "runs": .array(recentRuns.map(LogReport.value)), "missed": missed?.json ?? .null,
        ]
        return document.document + "\n"
    }
}

extension LedgerRun {
    /// Whether the end of the run is recorded.
    var isFinished: Bool { outcome != .running && outcome != .crashed }

    /// Why a run did not do everything.
    struct Stop {
        var outcome: String
        var reason: String
        /// What tells it from other reasons, whatever the figures are.
        var cause: String
        /// The rule that it stopped; nil: the whole run, or files.
        var rule: String?
    }

    /// What stopped the run or its rules. What a refusal advised is left out, because it may be solved.
    var stops: [Stop] {
        // What follows is advice, which may be done, or has the numbers of rows, which differ each night.
        func start(_ text: String) -> String { String(text.prefix { $0 != ";" }) }
        if let failure = report.failure.map(report.short).map(start) {
            return [Stop(outcome: outcome.rawValue, reason: failure, cause: failure.withoutFigures)]
        }
        let ofRules = report.rules.filter { [.refused, .failed, .interrupted].contains($0.outcome) }.map { rule in
            let codes = rule.refusalCodes.map(\.rawValue)
            let text = report.short(rule.message ?? rule.outcome.rawValue)
            let reason = rule.outcome == .interrupted ? start(text) : text
            return Stop(
                outcome: rule.outcome.rawValue, reason: codes.isEmpty ? reason : codes.joined(separator: ", "),
                cause: codes.first ?? start(text).withoutFigures, rule: rule.name)
        }
        return ofRules
            + report.pending.refused.map { Stop(outcome: outcome.rawValue, reason: $0, cause: $0.withoutFigures) }
    }

    /// The rules that `--rule` named, as a clause; empty: all.
    var onlyText: String { report.onlyRules.isEmpty ? "" : ", \(report.onlyRules.listed("and")) only" }

    /// The outcome and its reasons: `refused: policy_widened (ticks)`.
    var outcomeText: String {
        let stops = stops
        let ofRules = Dictionary(grouping: stops.filter { $0.rule != nil }, by: \.reason).sorted { $0.key < $1.key }
            .map { reason, stops in "\(reason) (\(stops.compactMap(\.rule).joined(separator: ", ")))" }
        let undo = report.undo.map {
            outcome == .completed ? "undo of \($0.run): \($0.result)" : "undo of \($0.run) \(outcome.rawValue)"
        }
        let head = undo ?? outcome.rawValue + onlyText
        let texts = ofRules + stops.filter { $0.rule == nil }.map(\.reason)
        return texts.isEmpty ? head : "\(head): \(texts.joined(separator: "; "))"
    }
}

extension RunReport {
    /// A reason without the store, which its reader knows. The path of another file becomes its name, so that a line is short. That of
    /// the archive of the run is left out: the reason says that it is the archive.
    func short(_ reason: String) -> String {
        guard let range = reason.firstRange(of: store + ": ") else {
            guard reason.hasPrefix("/"), let colon = reason.firstRange(of: ": ") else { return reason }
            let name = reason[..<colon.lowerBound].split(separator: "/").last ?? ""
            let isArchive = !runID.isEmpty && name.hasPrefix(runID)
            return (isArchive ? "" : "\(name): ") + reason[colon.upperBound...]
        }
        let folder = reason[..<range.lowerBound]
        return (folder.hasPrefix("/") ? "" : String(folder)) + reason[range.upperBound...]
    }
}

extension RunReport {
    /// From when ages were computed, as a clause, if that was more than an hour before the run, as with `--as-of`; nil: from its start. What
    /// has expired since was not expired for the run.
    var asOfText: String? {
        guard undo == nil, !rules.isEmpty, asOf.advanced(byMicroseconds: 3_600_000_000) < started else { return nil }
        return "as of " + Review.time(asOf)
    }
}

extension LedgerRun.Outcome {
    var style: Style { self == .completed ? .plain : self == .interrupted || self == .running ? .caution : .bad }
}
