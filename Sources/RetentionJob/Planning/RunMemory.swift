package import PriceStore
package import RetentionPolicy

/// What past runs of the same store tell the guards.
package struct RunMemory: Hashable, Sendable {
    /// When the recorded runs ended (a crashed one: when it started), the newest first.
    package var ends: [Instant]
    /// When the last of them ended; nil: there was none.
    package var lastRun: Instant? { ends.first }
    /// By entity name, as ``deletedKey(_:)``: the latest cutoff of recent runs that deleted rows of it, whether they finished or not.
    package var deletedBefore: [String: Instant] = [:]
    /// The latest instant at which a run computed ages that did not record its end; nil: there is none.
    package var crashedAsOf: Instant?
    /// Whether the last run crashed, or failed after a crash: then the store is checked for damage.
    package var hasCrash: Bool
    /// What undos have restored, the newest first.
    package var restorations: [Restored]
    /// The rules to which somebody has agreed, of all policies of the ledger.
    package var agreed: [AgreedRule] = []
    /// Whether a policy is compared with them: not if the plan is that of the agreed rules themselves.
    var comparesPolicy = true
    /// What is known of the rows of each rule since it was last carried out on the store; empty: no run is known.
    package var rules: [CarriedOut] = []
    /// Lines of the ledger that should be one of these but cannot be read: it is unknown what was agreed, or carried out.
    package var damagedAgreed: [String] = []
    package var damagedRules: [String] = []
    /// What is known of the rules as lines of the ledger.
    package var ruleLines: [String] { rules.map(\.line) + damagedRules }
    /// The newest run of the store that has an archive, if the ledger knows no run of the store; nil: there is none.
    package var unknownArchive: String?
    /// Why it is unknown what was agreed or carried out, as a clause; nil: it is known.
    var unknownPast: String? {
        guard damagedAgreed.isEmpty, damagedRules.isEmpty else {
            return "what the ledger recorded of the rules cannot be read"
        }
        return unknownArchive.map {
            "the ledger knows no run of this store, but the archive of its run \($0) is there"
        }
    }
    /// The last store of a ledger that knows no run of this store; nil: it knows some, or no store at all.
    package var otherStore: String?
    /// Whether the file of that store no longer exists.
    package var isOtherGone = false

    /// Whether no run has carried out a rule on the store yet.
    package var isBeforeFirstRun: Bool {
        rules.isEmpty && damagedRules.isEmpty && deletedBefore.isEmpty && !hasCrash && otherStore == nil
            && unknownArchive == nil
    }

    /// The entities for which a run has carried out a rule, in lower case; nil: that is not known.
    func knownEntities(for report: RunReport) -> Set<String>? {
        guard report.isFirst || !rules.isEmpty && damagedRules.isEmpty && !hasCrash else { return nil }
        return Set(rules.lazy.map(\.record.rule.entity.folded))
    }

    /// Marks the rules of a report for whose entity no run has carried out a rule yet.
    func noteFirst(in report: inout RunReport) {
        guard let known = knownEntities(for: report) else { return }
        for (index, rule) in report.rules.enumerated() {
            report.rules[index].remembered.isFirst = !known.contains(rule.entity.folded)
        }
    }

    /// The key of an entity in ``deletedBefore``: its name in lower case, without a schema.
    package static func deletedKey(_ entity: String) -> String {
        entity.folded.split(separator: ".").last.map(String.init) ?? entity
    }

    /// Rows that an undo has restored, or may have.
    package struct Restored: Hashable, Sendable {
        /// The undo, and the run that it undid.
        package var undo: String
        package var run: String
        package var ended: Instant
        /// The instant at which the undone run computed ages; nil: its record no longer exists.
        package var asOf: Instant?
        /// The rules whose rows were restored, and the tables.
        package var rules: Set<String>
        package var tables: Set<String>
        /// Whether it restored nothing, because all rows were there.
        package var foundAll = false
        /// The latest cutoff of the undone run for each entity, by its name in lower case.
        package var cutoffs: [String: Instant] = [:]
        /// The rules that a later run was allowed to delete with again, and carried out completely.
        package var accepted: [RecordedRule]
        /// Another file that the undo was of, and that this store may be, with a new name; nil: it was of this store.
        package var store: String?
        /// Whether no later run has accepted yet, by all of its rules, that the rows go.
        package var protectsRows: Bool { !rules.isSubset(of: accepted.map(\.rule.name)) }

        package init(
            undo: String, run: String, ended: Instant, asOf: Instant?, rules: Set<String>, tables: Set<String>,
            accepted: [RecordedRule] = []
        ) {
            self.undo = undo
            self.run = run
            self.ended = ended
            self.asOf = asOf
            self.rules = rules
            self.tables = tables
            self.accepted = accepted
        }
    }

    /// What a run has left of the rows of a rule.
    package struct CarriedOut: Hashable, Sendable {
        package var record: RecordedRule
        /// Whether the run left no expired row, and no pending file.
        package var leftNone: Bool
        /// The run, and when it ended.
        package var run: String
        package var ended: Instant
        package var cutoff: Instant
        /// Rows before the cutoff that `keep_last`, `thin` and holds kept.
        package var keptCount: Int
        /// Whether no row has ever matched its `where`.
        var isUnmatched = false
        /// The newest date of its rows, and when a run first saw it; nil: there was none.
        var feed: Feed?

        /// How far the rows of a rule had come.
        package struct Feed: Hashable, Sendable {
            package var newest: Instant
            package var since: Instant
        }
    }

    package init(ends: [Instant] = [], hasCrash: Bool = false, restorations: [Restored] = []) {
        (self.ends, self.hasCrash, self.restorations) = (ends, hasCrash, restorations)
    }

    /// What is known without a ledger, or with an empty one.
    package init(unknownArchive: String?) {
        self.init()
        self.unknownArchive = unknownArchive
    }
}

extension RunMemory.CarriedOut {
    /// The ledger's line, separated by tabs: `none` or `some` rows left, run, end, cutoff, kept rows, rule, `-` if no row has ever
    /// matched it, and after a `@` the newest date and since when it is the newest.
    package var line: String {
        ([
            leftNone ? "none" : "some", run, "\(ended.microseconds)", "\(cutoff.microseconds)", "\(keptCount)",
            record.canonical,
        ] + (isUnmatched ? ["-"] : [])
            + [feed].compactMap(\.self).map { "@\($0.newest.microseconds),\($0.since.microseconds)" }).joined(
                separator: "\t")
    }

    /// Nil: the line is damaged.
    ///
    /// - Parameter records: reads the records of its rules.
    package init?(line: String, _ records: inout RecordedRules) {
        var parts = line.fields(separatedBy: "\t")
        guard parts.count >= 6, ["none", "some"].contains(parts[0]), let ended = Int64(parts[2]),
            let cutoff = Int64(parts[3]), let keptCount = Int(parts[4]), let rule = records.rule(parts[5])
        else { return nil }
        self.init(
            record: rule, leftNone: parts[0] == "none", run: parts[1], ended: Instant(microseconds: ended),
            cutoff: Instant(microseconds: cutoff), keptCount: min(max(0, keptCount), 1 << 48))
        if let last = parts.last, last.hasPrefix("@") {
            let numbers = last.dropFirst().split(separator: ",").compactMap { Int64($0) }
            guard numbers.count == 2 else { return nil }
            feed = Feed(
                newest: Instant(microseconds: numbers[0]), since: Instant(microseconds: numbers[1]))
            parts.removeLast()
        }
        isUnmatched = parts.count > 6 && parts[6] == "-"
        guard parts.count == (isUnmatched ? 7 : 6) else { return nil }
    }

    /// The names of the rule and of its entity.
    package var key: [String] { [record.rule.name, record.rule.entity.folded] }

    /// The name of the rule in the policy, and of its entity.
    var tableKey: [String] { [record.rule.writtenName, record.rule.entity.folded] }
}

extension [RunMemory.CarriedOut] {
    /// How far the rows of a rule had come, whatever values had its age, if it reads the same rows and has no newer one now.
    func feed(of record: RecordedRule, upTo newest: Instant?) -> RunMemory.CarriedOut.Feed? {
        let own = filter { $0.record.rule.name == record.rule.name }
        return (own.isEmpty ? self : own).filter { $0.record.readsRows(as: record) }.compactMap(\.feed).filter { feed in
            newest.map { $0 <= feed.newest } ?? false
        }.max { $0.newest < $1.newest }
    }
}

extension RunMemory {
    /// The longest time between the ends of consecutive runs, of those times that began before an instant; nil: there is none.
    package func longestGap(before instant: Instant = .distantFuture) -> Duration? {
        zip(ends, ends.dropFirst()).filter { $1 < instant }.map { $0.since($1) }.max()
    }

    /// The warning for a store that the ledger does not know although it knows others, as a sentence without a full stop; nil: no warning.
    /// A ledger of many stores always knows others. Then there is a warning only if the file of one no longer exists.
    package func unknownStoreText(for policy: Policy) -> String? {
        guard let otherStore, !policy.isOneOfMany || isOtherGone else { return nil }
        let guards = "rows_came_back and restored_rows have nothing to compare with"
        return
            "the ledger knows \(otherStore), but no run of this store: \(agreed(of: policy) != nil ? "" : "policy_widened, ")\(guards); a store "
            + "that was moved is known if its ledger was moved with it"
    }

    /// The tables of which undos have restored rows since a rule was carried out. Nothing is known of what that run had left in them.
    func restoredTables(since former: CarriedOut) -> Set<String> {
        restorations.filter { $0.ended > former.ended }.reduce(into: []) { $0.formUnion($1.tables) }
    }

    /// Whether a row has ever matched the rule's `where`, or a narrower one, under any name of the rule.
    func hasMatched(_ record: RecordedRule) -> Bool {
        record.rule.rows == .all
            || rules.contains {
                !$0.isUnmatched && $0.record.rule.entity == record.rule.entity
                    && $0.record.rule.rows.implies(record.rule.rows)
            }
    }

    /// When a run last carried out a rule of a policy; nil: none has.
    func lastEnd(of policy: Policy) -> Instant? {
        let names = Set(policy.rules.map(\.writtenName))
        return rules.lazy.filter { names.contains($0.record.rule.writtenName) }.map(\.ended).max()
    }

    /// How long what is known of a missing table, or of a rule that the policy has no more, is kept.
    private static let missing = Duration.seconds(30 * 86_400)

    private static let outcomesOfDone: Set<RunReport.Outcome> = [.completed, .interrupted, .failed]

    /// The lines of what is known of the rules after a run has ended. What is known of a rule and a table is replaced by a run that has
    /// carried out all ages of the rule and left none; until then only the newest dates change, and ages are added. A run of some rules
    /// forgets nothing of the others.
    func ruleLines(
        after plan: Plan, _ report: RunReport, policy: Policy, _ options: Planner.Options, clock: Instant
    ) -> [String] {
        var known = Dictionary(grouping: rules, by: \.tableKey)
        let steps = zip(plan.steps, report.rules).filter { $0.0.rule.isEnabled }
        func isDone(_ step: Plan.Step, _ report: RunReport.RuleReport) -> Bool {
            step.record != nil && Self.outcomesOfDone.contains(report.outcome)
        }
        let waiting = Set(steps.filter { !isDone($0, $1) }.map(\.0.rule.writtenName))
        let tables = Dictionary(grouping: steps.filter { $0.0.record != nil }) { step, _ in
            [step.rule.writtenName, step.record?.rule.entity.folded].compactMap(\.self)
        }
        for (key, steps) in tables {
            let past = known[key, default: []]
            let isWhole = steps.allSatisfy { isDone($0, $1) && ($0.rule.share == nil || options.hasAll(of: $0.rule)) }
            let now = steps.compactMap { step, done in
                step.record.map { carriedOut(step, $0, done, report, clock, after: past) }
            }
            // A run of an earlier instant got less far.
            let former = past.filter(\.leftNone).map(\.cutoff).max()
            let isLater = former.map { former in steps.contains { $1.cutoff >= former } } != false
            if isWhole, isLater, now.allSatisfy(\.leftNone) || former == nil {
                known[key] = now
            } else if !plan.doubtsClock {
                let kept = past.map { past in
                    var past = past
                    if let new = now.first(where: { $0.key == past.key && $0.record.readsRows(as: past.record) }) {
                        past.feed = new.feed
                    }
                    return past
                }
                // A value that is known with two ages has the longer one.
                let added: [CarriedOut] = zip(now, steps).compactMap { now, step in
                    var now = now
                    now.leftNone = false
                    let isKnown = past.contains { $0.record == now.record }
                    return isDone(step.0, step.1) && now.record.rule.share != nil && !isKnown ? now : nil
                }
                known[key] = kept + added
            }
        }
        let others = Set(agreed.map(\.name)).subtracting(policy.rulesAsWritten.map(\.name))
        let isCarriedOut = steps.contains { isDone($0, $1) }
        return known.flatMap { key, rules in
            rules.filter {
                tables[key] != nil || waiting.contains(key[0]) || others.contains(key[0])
                    || !options.ruleNames.isEmpty || clock.since($0.ended) < Self.missing
            }
        }.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.line) + (isCarriedOut ? [] : damagedRules)
    }

    /// What is known of a rule after a run that carried it out.
    private func carriedOut(
        _ step: Plan.Step, _ record: RecordedRule, _ done: RunReport.RuleReport, _ report: RunReport, _ clock: Instant,
        after past: [CarriedOut]
    ) -> CarriedOut {
        // Remaining rows have arrived since the plan. Pending files that were left may have rows of any age.
        let leftNone =
            !report.pending.isInterrupted && done.outcome == .completed
            && (done.left.expired == 0 || done.done.deleted >= done.planned.expired)
        var now = CarriedOut(
            record: record, leftNone: leftNone, run: report.runID, ended: clock, cutoff: done.cutoff,
            keptCount: done.kept.byRuleCount + done.kept.heldCount)
        now.isUnmatched = !step.isMatched && !hasMatched(record)
        now.feed = step.newest.map { past.feed(of: record, upTo: $0) ?? .init(newest: $0, since: clock) }
        // If this run got less far, the cutoff at which an earlier run left nothing stays known.
        if leftNone, let last = past.first(where: { $0.key == now.key }), last.leftNone, now.cutoff < last.cutoff,
            restoredTables(since: last).isEmpty, last.record.choosesRows(as: record)
        {
            (now.record, now.run, now.ended, now.cutoff, now.keptCount) = (
                last.record, last.run, last.ended, last.cutoff, last.keptCount
            )
        }
        return now
    }
}
