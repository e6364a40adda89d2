import PriceStore
import RetentionJob
import RetentionPolicy

extension Review {
    /// Something that a reviewer should know: how bad it is, a word for programs, the rule that it is about (nil: none, or several), a text.
    typealias Finding = (style: Style, kind: String, rule: String?, text: String)

    /// What needs attention, the worst first.
    var attention: [Finding] {
        let warnings = plan.warnings.filter { !$0.hasPrefix("hold ends soon") }.map { text -> Finding in
            let rule = plan.rules.first { text.contains(" of \($0.entity) ") || text.contains(": \($0.name) ") }
            return (.caution, text.hasPrefix("no new rows") ? "no_new_rows" : "warning", rule?.name, text)
        }
        let advice = plan.rules.flatMap { rule in
            rule.advice.map { text -> Finding in (.plain, "advice", rule.name, text) }
        }
        let nights = nights
        let lastNight = nights.filter(\.stands).map(\.finding)
        let found: [[Finding]] = [lastNight, present, warnings, plan.rules.flatMap(rows), holds, growing, lacking]
        let standing = found.flatMap(\.self).sorted { Self.place($0.kind) < Self.place($1.kind) }
        // What stands comes before what is over.
        let past = nights.filter { !$0.stands }.map(\.finding)
        let all = [standing, past, gone, advice].flatMap(\.self)
        return [Style.bad, .caution, .plain].flatMap { style in all.filter { $0.style == style } }
    }

    private static func place(_ kind: String) -> Int { kinds.firstIndex(of: kind) ?? kinds.count }

    /// The kinds of what stands, the worst first.
    private static let kinds = [
        "ledger", "store", "archive", "failed", "crashed", "missed", "clock", "refused", "pending", "interrupted",
        "behind", "archive_gone", "no_new_rows", "warning", "unreadable", "silent_groups", "late", "hold", "growth",
        "no_archive", "no_limit",
    ]

    var sentences: [(text: String, style: Style)] {
        attention.map { found in (found.rule.map { "\($0): \(found.text)" } ?? found.text, found.style) }
    }

    /// The rules, those that need attention first.
    var orderedRules: [RunReport.RuleReport] {
        let named = attention.filter { $0.style != .plain && $0.kind != "growth" }.map(\.rule)
        let first = Dictionary(firstOf: named.enumerated().map { ($1, $0) })
        let places = plan.rules.map { rule in first[rule.name] ?? named.count }
        return places.indices.sorted { (places[$0], $0) < (places[$1], $1) }.map { plan.rules[$0] }
    }

    /// The first of these rules: a pattern may have thousands of tables. JSON has all.
    var shownRules: [RunReport.RuleReport] { Array(orderedRules.prefix(Self.mostRules)) }
    private static let mostRules = 50

    /// How many rules are not shown, as a clause; empty: all are.
    var leftOut: String {
        plan.rules.count > Self.mostRules ? ", \(Self.mostRules) of \(Figures.grouped(plan.rules.count))" : ""
    }

    /// What stands now.
    private var present: [Finding] {
        var found: [Finding] = []
        if let failure = plan.failure {
            let reason = plan.short(failure)
            if isLedgerUnreadable {
                found.append((.bad, "ledger", nil, "the ledger cannot be read, so a run now would fail: \(reason)"))
            } else if !isStoreRead {
                // The store can be read, but lacks what the policy names.
                let text = plan.exitCode == 78 ? "a run now would fail" : "the store cannot be read now"
                found.append((.bad, "store", nil, "\(text): \(reason)"))
            } else {
                found.append((.bad, "archive", nil, "a run now would fail: \(failure)"))
            }
        }
        if let missed, missed.isOverdue, let gap = missed.gaps.last {
            found.append((.bad, "missed", nil, missed.sentence(gap)))
        }
        if plan.saysMovedBack, let ahead = (runs + others).last(where: { $0.report.started > plan.started }) {
            let (id, date) = (ahead.report.runID.prefix(10), Self.time(ahead.report.started))
            let text =
                "the run \(id) is dated \(date), later than now: if the clock is right now, it was ahead then, and every "
                + "run since is refused as clock_moved_back until one has --accept clock_moved_back"
            found.append((.bad, "clock", nil, text))
        }
        found += refused
        for rule in plan.rules where rule.outcome == .planned {
            let left = days(of: rule.name).values(3).map(\.value).reversed()
            let nights = zip(left, left.dropFirst()).prefix { $0 > $1 }.count
            guard nights > 1, let first = left.dropFirst(nights).first, let last = left.first else { continue }
            let rows = "\(Figures.count(Int(first), "expired row")) left before, \(Figures.grouped(last)) now"
            found.append((.caution, "behind", rule.name, "has fallen behind for \(nights) nights: \(rows)"))
        }
        if let first = runsWithLostArchive.first?.report.started, let last = runsWithLostArchive.last?.report.started {
            let count = runsWithLostArchive.count
            let folder = policy.archive?.folder ?? "the folder of the archives"
            let runs =
                count == 1
                ? "the run of \(Self.time(first))" : "the runs from \(Self.time(first)) to \(Self.time(last))"
            let archives = Figures.count(count, "archive", "is", "are")
            let text = "\(archives) not in \(folder), and archive.keep is not over: \(runs) cannot be undone"
            found.append((.caution, "archive_gone", nil, text))
        }
        return found + plan.pending.problems.map { (.bad, "pending", nil, $0) }
    }

    /// The rules that a run would refuse, with the reason. Rules with the same reason share it, and those of them with the same options the
    /// command.
    private var refused: [Finding] {
        let sameReasons = plan.rules.sameReasons
        func key(_ rule: RunReport.RuleReport) -> [String] {
            [sameReasons[rule.name]?.name ?? rule.name] + (rule.acceptOptions ?? [])
        }
        let rules = plan.rules.filter { $0.outcome == .refused }
        let shared = Dictionary(grouping: rules, by: key)
        return rules.map { rule -> Finding in
            let first = days(of: rule.name).points.reversed().prefix { $0.isRefused }.last
            let since = first.map { ", as since \(day($0.start))" } ?? ""
            let other = sameReasons[rule.name]
            let codes = rule.refusalCodes == other?.refusalCodes ? [] : rule.refusalCodes.dropFirst()
            let reason =
                other.map { ", for the same reason as \($0.name)" }
                ?? ": " + rule.withoutOption(rule.message ?? "no reason was recorded")
            let same = shared[key(rule)] ?? []
            let options = same.first?.name == rule.name ? rule.acceptOptions : nil
            let command = options.map { "; " + plan.acceptance(of: same, $0) } ?? ""
            let also = codes.isEmpty ? "" : "; also \(codes.map(\.rawValue).joined(separator: ", "))"
            return (.bad, "refused", rule.name, "a run now would refuse it\(since)\(reason)\(also)\(command)")
        }
    }

    /// What happened in a run, to one of its rules or to all of it.
    private struct Event {
        var at: Instant
        /// The time by the clock of the run.
        var shown: Instant
        var style = Style.caution
        var kind: String
        /// The text in parts: the rules with the same reason are named between them.
        var text: String
        var end = ""
        var rule: String?
        /// The same for the same in another night, whatever its figures are.
        var key: [String]
    }

    /// What happened in recent runs.
    private var events: [Event] {
        let first = start(daysAgo: Self.recentDays)
        var found: [Event] = []
        for (at, run) in begun where at >= first {
            let shown = run.report.started
            func add(_ kind: String, _ text: String, _ style: Style = .caution) {
                found.append(Event(at: at, shown: shown, style: style, kind: kind, text: text, key: [text]))
            }
            let clock = run.report.isAhead(of: at) ? ", by a clock that was ahead" : ""
            let stops = run.stops
            if run.report.undo != nil {
                add("undo", run.outcomeText + clock)
            } else if run.outcome == .completed {
                if !clock.isEmpty { add("clock", "carried out by a clock that was ahead: " + run.outcomeText) }
                let code = run.report.exitCode
                if code != 0 { add("failed", "\(run.outcomeText) with exit code \(code)\(clock)") }
            } else if stops.isEmpty {
                add(run.outcome.rawValue, run.outcomeText + clock)
            } else {
                found += stops.map { stop in
                    Event(
                        at: at, shown: shown, kind: stop.outcome,
                        text: "\(stop.outcome)\(run.onlyText): \(stop.reason)", end: clock, rule: stop.rule,
                        key: [stop.outcome, run.onlyText, stop.cause, stop.rule ?? "", clock])
                }
            }
            for code in RefusalCode.allCases {
                // A rule that was refused for another reason was not carried out.
                let names = run.report.rules.filter { $0.outcome != .refused && $0.accepted.contains(code) }.map(\.name)
                guard !names.isEmpty else { continue }
                add("accepted", "\(code.rawValue) was accepted for \(names.listed("and"))", .plain)
            }
        }
        for gap in missed?.gaps ?? [] {
            guard let until = gap.until, until >= first else { continue }
            let (due, text) = (gap.due ?? gap.after ?? until, missed?.sentence(gap) ?? "")
            found.append(Event(at: due, shown: due, kind: "missed", text: text, key: [text]))
        }
        return found
    }

    /// What happened in recent runs, the newest first, the same once, as it was last; and whether it stands: nobody knows yet whether what
    /// ended the last run is over. What refused it is among what a run would refuse now, or over.
    private var nights: [(stands: Bool, finding: Finding)] {
        let found = events.sorted { $0.at > $1.at }
        let nights = Dictionary(grouping: found, by: \.key)
        var told: [(newest: Event, same: [Event], rules: [String])] = []
        // The rules with the same reason in the same nights are together.
        var (seen, places): (Set<[String]>, [[String]: Int]) = ([], [:])
        for newest in found where seen.insert(newest.key).inserted {
            let same = nights[newest.key] ?? []
            let whole = [newest.text, newest.end] + same.map { "\($0.at.microseconds)" }
            let place = places[whole] ?? told.count
            if place == told.count { told.append((newest, same, [])) }
            if let rule = newest.rule { told[place].rules.append(rule) }
            places[whole] = place
        }
        let lastRun = lastRun
        return told.map { newest, same, rules in
            let (first, newestTime) = (Self.time(same.last?.shown), Self.time(newest.shown))
            var times = same.count == 1 ? newestTime : "\(first) to \(newestTime), \(same.count) times"
            if same.count > 1, newest.kind == "missed" {
                // What is said of each would read as the length of all.
                times = "\(same.count) times, first \(first), last \(newestTime)"
            }
            let last = newest.at == lastRun?.report.started ? lastRun?.outcome : nil
            let stands = [.failed, .crashed, .interrupted].contains(last) && last?.rawValue == newest.kind
            let names = rules.isEmpty ? "" : " (\(rules.joined(separator: ", ")))"
            let text = "\(times): \(newest.text)\(names)\(newest.end)"
            return (stands, (stands ? last?.style ?? .bad : newest.style, newest.kind, nil, text))
        }
    }

    /// Rules of recent runs that the policy has no more, or by another name; and other policies, whose runs are not shown.
    private var gone: [Finding] {
        let names = Set(policy.rules.flatMap { [$0.name, $0.family?.name ?? $0.name] })
        let former = recentRuns.flatMap { run in
            run.report.rules.filter { $0.outcome != .disabled && names.isDisjoint(with: [$0.name, $0.family ?? ""]) }
                .map { ($0.name, run.report.started) }
        }
        let files = Set(others.map(\.report.config)).sorted().listed("and")
        let others = "\(Figures.count(others.count, "run")) of other policies on this store not shown: \(files)"
        return Dictionary(former, uniquingKeysWith: max).sorted { $0.key < $1.key }.map { name, run in
            (.plain, "rule_gone", name, "was run until \(Self.time(run)) and is no longer in the policy")
        } + (files.isEmpty ? [] : [(.plain, "other_policies", nil, others)])
    }

    private var holds: [Finding] {
        (plan.holds ?? []).compactMap { hold in
            guard hold.state == .inForce, let end = hold.expires,
                end <= plan.asOf + .seconds(Self.recentDays * 86_400)
            else { return nil }
            let rows = Figures.count(plan.keptCount(of: hold.name), "expired row")
            let text =
                "the hold \(hold.name) ends in \(Self.age(end.since(plan.asOf))), at \(Self.time(end)); it keeps \(rows)"
            return (.caution, "hold", nil, text)
        }
    }

    /// What has grown by a tenth or more.
    private var growing: [Finding] {
        let sizes = sizes
        let rules = plan.rules.map { (Optional($0.name), "rows grow", growth(of: $0)) }
        // What is removed after a time grows up to that time only.
        let archives = policy.archive?.keep == nil ? [("the archives grow", 1)] : []
        let files = ([("the store grows", 0)] + archives).map { words, index in
            (String?.none, words, sizes.growth(index, now: plan.asOf, Figures.bytes))
        }
        return (rules + files).compactMap { rule, words, growth in
            growth.flatMap { $0.isLarge ? (.caution, "growth", rule, "\(words): \($0.text)") : nil }
        }
    }

    /// What the policy lacks, if all of it was read.
    private var lacking: [Finding] {
        let rules = policy.mistakes == nil ? policy.rules.filter(\.isEnabled) : []
        let unlimited = rules.filter { $0.limits.maxRows == nil && $0.limits.maxFraction == nil }
        return [
            ("no_archive", "no archive", "what a run deletes cannot be restored", rules.filter { !$0.isArchived }),
            ("no_limit", "no max_rows or max_fraction", "a run may delete any number of rows", unlimited),
        ].filter { !$0.3.isEmpty }.map { kind, what, why, lacking in
            let names = lacking.count == rules.count ? "any rule" : lacking.map(\.name).listed("and")
            return (.caution, kind, nil, "\(what) for \(names): \(why)")
        }
    }

    /// The rows of a rule that are not as they should be.
    private func rows(_ rule: RunReport.RuleReport) -> [Finding] {
        var found = rule.planned.unreadable.map { rows -> Finding in
            let count = Figures.count(rows.rowCount, "unreadable row")
            return (.caution, "unreadable", rule.name, "\(count) kept: \(rows.reason.reportPhrase)")
        }
        if let silent = rule.planned.silent {
            let groups = (silent.isCut ? "at least " : "") + Figures.count(silent.count, "group") + " of keep_last"
            // No value of a row is on a page.
            let text = "no new rows of \(groups), whose old rows expire; a dry run names them"
            found.append((.caution, "silent_groups", rule.name, text))
        }
        if let late = rule.remembered.late, late > 0, rule.outcome != .refused {
            let rows = Figures.count(late, "expired row")
            found.append((.caution, "late", rule.name, "\(rows) came back or arrived late"))
        }
        if let text = emptied(rule) { found.append((.caution, "no_new_rows", rule.name, text)) }
        return found
    }

    /// That the entity of a rule has lost all rows, which the policy does not expect; nil: it has not. Where there is no row, there is no
    /// newest one that could be too old.
    private func emptied(_ rule: RunReport.RuleReport) -> String? {
        guard rule.planned.rows == 0, let own = policy.rules.first(where: { $0.name == rule.name }), own.rows == .all,
            !own.allowEmpty, !own.accept.contains(.wouldEmptyEntity)
        else { return nil }
        for run in runs.reversed() {
            let found = run.report.rules.first { $0.name == rule.name }?.planned
            guard let found, found.rows ?? 0 > 0 || found.newest != nil else { continue }
            let rows = found.rows.map { Figures.count($0, "row") } ?? "rows"
            return "has no rows; the run of \(Self.time(run.report.started)) found \(rows)"
        }
        return nil
    }
}
