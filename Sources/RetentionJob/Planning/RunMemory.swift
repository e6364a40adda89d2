package import PriceStore
package import RetentionPolicy

/// What past runs of the same store tell the guards.
package struct RunMemory: Hashable, Sendable {
    /// When the last recorded run ended (a crashed one: when it started); nil: there was none.
    package var lastRun: Instant?
    /// By entity name, as ``deletedKey(_:)``: the latest cutoff of recent runs that deleted rows of it, whether they finished or not.
    package var deletedBefore: [String: Instant] = [:]
    /// The latest instant at which a run computed ages that did not record its end; nil: there is none.
    package var crashedAsOf: Instant?
    /// The longest time between the ends of consecutive runs; nil: fewer than two runs.
    package var longestGap: Duration?
    /// Whether the last run crashed, or failed after a crash: then the store is checked for damage.
    package var hasCrash: Bool
    /// What undos have restored, the newest first.
    package var restorations: [Restored]
    /// The rules as last carried out on the store, including rules removed since; empty: no run is known.
    package var rules: [CarriedOut] = []
    /// Of one of many stores on which no rule has been carried out: the rules as last carried out on the others.
    package var rulesOfOthers: [CarriedOut] = []
    /// Lines of the ledger that should be rules but cannot be read: it is unknown what was carried out.
    package var damagedRules: [String] = []
    /// All of these rules as lines of the ledger.
    package var ruleLines: [String] { rules.map(\.line) + damagedRules }
    /// The last store of a ledger that knows no run of this store; nil: it knows some, or no store at all.
    package var otherStore: String?
    /// Whether the file of that store no longer exists.
    package var isOtherGone = false

    /// Whether no run has carried out a rule on the store yet.
    var isBeforeFirstRun: Bool {
        rules.isEmpty && damagedRules.isEmpty && deletedBefore.isEmpty && !hasCrash && otherStore == nil
    }

    /// Marks the rules of a report for whose entity no run has carried out a rule yet: one that refused it has recorded no cutoff.
    func noteFirst(in report: inout RunReport) {
        guard report.isFirst || !rules.isEmpty && damagedRules.isEmpty && !hasCrash else { return }
        let known = Set(rules.lazy.filter { $0.cutoff > .distantPast }.map(\.record.rule.entity.folded))
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
        /// How many rows of each table were restored, or were there; nil: the undo was stopped before it was recorded.
        package var rowCounts: [String: Int]?
        /// Whether it restored nothing, because all rows were there.
        package var foundAll = false
        /// The latest cutoff of the undone run for each entity, and its rules there, by its name in lower case.
        package var cutoffs: [String: Instant] = [:]
        package var owners: [String: Set<String>] = [:]
        /// The rules that a later run was allowed to delete with again, and carried out completely.
        package var accepted: [RecordedRule]
        /// The names of the rules that were accepted in the file of the undo.
        package var acceptedThere: Set<String> = []
        /// The rules of the undone run that are not accepted, but for those that the policy did not have any more when others were in a run of
        /// all rules.
        package var waiting: Set<String>
        /// Another file that the undo was of, and that this store may be, with a new name; nil: it was of this store.
        package var store: String?
        /// Whether that file is still where it was.
        package var isInPlace = false

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
            waiting = rules
        }
    }

    /// A rule as last carried out.
    package struct CarriedOut: Hashable, Sendable {
        /// How many expired rows the run left, or that the policy has disabled or removed the rule since.
        package enum State: String, Hashable, Sendable { case none, some, disabled, removed }

        package var record: RecordedRule
        package var state: State
        /// The run, and when it ended.
        package var run: String
        package var ended: Instant
        package var cutoff: Instant
        /// Rows before the cutoff that `keep_last`, `thin` and holds kept.
        package var keptCount: Int
        /// The file of the policy, and the holds with which the rule was carried out.
        package var policy: String
        package var holds: [Hold]
        /// The other rules of the entity, if what this rule keeps depends on them.
        package var beside: [RecordedRule]
        /// Whether no row has ever matched its `where`.
        var isUnmatched = false
        /// The newest date of its rows, and when a run first saw it; nil: there was none.
        var feed: Feed?
        /// What holds have kept of its rows; nil: nothing.
        var held: Held?

        /// The most rows that holds have kept, and the cutoff before which they are, since the holds are as they are and somebody has
        /// accepted that rows came back: fewer of them may be in another table.
        package struct Held: Hashable, Sendable {
            package var count: Int
            package var cutoff: Instant

            /// What is known after a run of a rule.
            fileprivate init?(_ last: CarriedOut?, _ now: CarriedOut, count: Int, isAccepted: Bool) {
                if let last, let held = last.held, count < held.count, !isAccepted,
                    Set(last.holds.map(\.record)) == Set(now.holds.map(\.record))
                {
                    self = held
                    return
                }
                guard count > 0 else { return nil }
                self.init(count: count, cutoff: now.cutoff)
            }

            package init(count: Int, cutoff: Instant) { (self.count, self.cutoff) = (count, cutoff) }
        }

        /// How far the rows of a rule had come.
        package struct Feed: Hashable, Sendable {
            package var newest: Instant
            package var since: Instant

            package init(newest: Instant, since: Instant) { (self.newest, self.since) = (newest, since) }

            /// What is known after a run of a rule; nil: it has no rows.
            fileprivate init?(_ last: CarriedOut?, _ record: RecordedRule, newest: Instant?, _ clock: Instant) {
                guard let newest else { return nil }
                self.init(newest: newest, since: clock)
                guard let last, last.record.choosesRows(as: record), let feed = last.feed, newest <= feed.newest
                else { return }
                self = feed
            }
        }

        package init(
            _ record: RecordedRule, state: State, run: String, ended: Instant, cutoff: Instant, keptCount: Int,
            policy: String = "", holds: [Hold] = [], beside: [RecordedRule] = []
        ) {
            self.beside = beside
            self.policy = policy
            self.holds = holds
            self.record = record
            self.state = state
            self.run = run
            self.ended = ended
            self.cutoff = cutoff
            self.keptCount = keptCount
        }

        /// The ledger's line, separated by tabs: state, run, end, cutoff, kept rows, policy, rule, `-` if no row has ever matched it, each
        /// hold, after a `+` each rule beside it, after a `#` the held rows and their cutoff, and after a `@` the newest date and since when
        /// it is the newest.
        package var line: String {
            ([
                state.rawValue, run, "\(ended.microseconds)", "\(cutoff.microseconds)", "\(keptCount)",
                SafeText.line(policy), record.canonical,
            ] + (isUnmatched ? ["-"] : []) + holds.map(\.record) + beside.map { "+" + $0.canonical }
                + [held].compactMap(\.self).map { "#\($0.count),\($0.cutoff.microseconds)" }
                + [feed].compactMap(\.self).map { "@\($0.newest.microseconds),\($0.since.microseconds)" }).joined(
                    separator: "\t")
        }

        /// Nil: the line is damaged.
        ///
        /// - Parameter records: reads the records of its rules.
        package init?(line: String, _ records: inout RecordedRules) {
            let parts = line.fields(separatedBy: "\t")
            guard parts.count >= 7, let state = State(rawValue: parts[0]), let ended = Int64(parts[2]),
                let cutoff = Int64(parts[3]), let keptCount = Int(parts[4]),
                let rule = records.rule(parts[6])
            else { return nil }
            let isUnmatched = parts.count > 7 && parts[7] == "-"
            var others = parts[(isUnmatched ? 8 : 7)...]
            // Takes the last part if it is two numbers after a mark.
            func numbers(_ mark: String) -> (Int64, Int64)? {
                guard let last = others.last, last.hasPrefix(mark) else { return nil }
                let found = last.dropFirst().split(separator: ",").compactMap { Int64($0) }
                guard found.count == 2 else { return nil }
                others.removeLast()
                return (found[0], found[1])
            }
            let (feed, held) = (numbers("@"), numbers("#"))
            let beside = others.filter { $0.hasPrefix("+") }.compactMap {
                records.rule(String($0.dropFirst()))
            }
            let holds = others.filter { !$0.hasPrefix("+") }.compactMap { Hold(record: $0) }
            guard holds.count + beside.count == others.count else { return nil }
            self.init(
                rule, state: state, run: parts[1], ended: Instant(microseconds: ended),
                cutoff: Instant(microseconds: cutoff), keptCount: min(max(0, keptCount), 1 << 48), policy: parts[5],
                holds: holds, beside: beside)
            self.isUnmatched = isUnmatched
            self.feed = feed.map { Feed(newest: Instant(microseconds: $0), since: Instant(microseconds: $1)) }
            self.held = held.map { Held(count: Int(min(max(0, $0), 1 << 48)), cutoff: Instant(microseconds: $1)) }
        }
    }

    package init(
        lastRun: Instant? = nil, longestGap: Duration? = nil, hasCrash: Bool = false, restorations: [Restored] = []
    ) {
        self.restorations = restorations
        self.lastRun = lastRun
        self.longestGap = longestGap
        self.hasCrash = hasCrash
    }
}

extension RunMemory {
    /// The warning for a store that the ledger does not know although it knows others, as a sentence without a full stop; nil: no warning.
    /// A ledger of many stores always knows others. Then there is a warning only if the file of one no longer exists.
    package func unknownStoreText(for policy: Policy) -> String? {
        guard let otherStore, !policy.isOneOfMany || isOtherGone else { return nil }
        let guards = "rows_came_back and restored_rows have nothing to compare with"
        return
            "the ledger knows \(otherStore), but no run of this store: \(policy.isOneOfMany ? "" : "policy_widened, ")\(guards); a store "
            + "that was moved is known if its ledger was moved with it"
    }

    /// The rules of a policy as its runs last carried them out. If the ledger does not know the file, those of the policy that ran last of
    /// those with the name of a rule of this one: the file was moved or copied. If there is none, those of the policy that ran last.
    func rules(of policy: Policy) -> [CarriedOut] {
        let file = Self.file(of: policy)
        let own = rules.filter { $0.policy == file }
        guard own.isEmpty else { return own }
        let names = Set(policy.rules.map { $0.family?.name ?? $0.name })
        let alike = rules.filter {
            $0.state != .removed && names.contains($0.record.rule.family?.name ?? $0.record.rule.name)
        }
        let files = Set(alike.map(\.policy))
        let last = rules.filter { files.isEmpty || files.contains($0.policy) }.max { $0.ended < $1.ended }
        return rules.filter { $0.policy == last?.policy }
    }

    /// The same by their keys.
    func rulesByKey(of policy: Policy) -> [[String]: CarriedOut] {
        Dictionary(rules(of: policy).map { ($0.key, $0) }) { first, _ in first }
    }

    /// The rules of a policy as last carried out on its other stores.
    func ofOthers(_ policy: Policy) -> [CarriedOut] {
        var memory = RunMemory()
        memory.rules = rulesOfOthers
        return memory.rules(of: policy)
    }

    /// The tables of which undos have restored rows since a rule was carried out. Nothing is known of what that run had left in them.
    func restoredTables(since former: CarriedOut) -> Set<String> {
        restorations.filter { $0.ended > former.ended && $0.store == nil }.reduce(into: []) { $0.formUnion($1.tables) }
    }

    /// Whether a row has ever matched the rule's `where`, or a narrower one, under any name of the rule.
    func hasMatched(_ record: RecordedRule) -> Bool {
        record.rule.rows == .all
            || rules.contains {
                !$0.isUnmatched && $0.record.rule.entity == record.rule.entity
                    && $0.record.rule.rows.implies(record.rule.rows)
            }
    }

    /// A link to the file may lead to another file after each deployment.
    private static func file(of policy: Policy) -> String { SafeText.line(FilePlace(policy.file.path).path) }

    /// How long what is known of a missing table is kept.
    private static let missing = Duration.seconds(30 * 86_400)

    private static let carriedOut: Set<RunReport.Outcome> = [.completed, .interrupted, .failed]

    /// The lines of the rules as last carried out, after a run has ended.
    ///
    /// A rule that the run did not carry out stays unchanged. Of the rules removed from the policy, one for each entity stays once the run
    /// has carried out all others, so that a new rule of the entity is noticed. Rules of other policies stay, wherever their files are now,
    /// except those of the file that has become this one.
    func ruleLines(after plan: Plan, _ report: RunReport, policy: Policy, clock: Instant) -> [String] {
        let file = Self.file(of: policy)
        let holds = policy.holds.filter { !$0.hasEnded(at: clock) }
        var former = rulesByKey(of: policy)
        let isFirst = rules.isEmpty && damagedRules.isEmpty && rulesOfOthers.isEmpty
        let places: [String: Int] = plan.steps.enumerated().reduce(into: [:]) { $0[$1.element.rule.name] = $1.offset }
        func done(_ rule: Rule) -> RunReport.RuleReport? {
            places[rule.name].map { report.rules[$0] }.flatMap { Self.carriedOut.contains($0.outcome) ? $0 : nil }
        }
        let isWhole = isFirst || policy.rules.allSatisfy { !$0.isEnabled || done($0) != nil }
        func step(_ rule: Rule) -> Plan.Step? { places[rule.name].map { plan.steps[$0] } }
        func recorded(_ rule: Rule) -> RecordedRule {
            step(rule)?.record
                ?? RecordedRule(
                    rule, entity: rule.entity, date: rule.dateName ?? rule.dateAttribute, zone: policy.timezone)
        }
        let families = waitingFamilies(of: policy, former, done)
        let isAccepted = report.rules.contains { $0.accepted.contains(.rowsCameBack) }
        let waiting = policy.rules.filter { $0.share != nil && $0.isEnabled && done($0) == nil }
        var found: [CarriedOut] = []
        // A former rule may be one that is still to be carried out, with another name or on another table.
        var awaited: (entities: Set<String>, names: Set<String>) = ([], [])
        for rule in policy.rules {
            var record = recorded(rule)
            if let name = rule.family?.name, let last = families[name] { record = record.matched(by: last) }
            let key = [rule.name, record.rule.entity.folded]
            let (last, done) = (former.removeValue(forKey: key), done(rule))
            let keepsLast = rule.isEnabled ? done == nil && !isFirst : !isWhole && last != nil
            guard !keepsLast else {
                if last?.isLive != true { awaited.entities.insert(key[1]) }
                if rule.isEnabled { awaited.names.insert(rule.name) }
                if let last { found.append(last) }
                continue
            }
            // Remaining rows have arrived since the plan.
            let leftNone =
                done.map { $0.outcome == .completed && ($0.left.expired == 0 || $0.done.deleted >= $0.planned.expired) }
                ?? false
            var now = CarriedOut(
                record, state: !rule.isEnabled ? .disabled : leftNone ? .none : .some, run: report.runID, ended: clock,
                cutoff: done?.cutoff ?? .distantPast,
                keptCount: done.map { $0.kept.byRuleCount + $0.kept.heldCount } ?? 0,
                holds: rule.isEnabled ? holds : last?.holds ?? [])
            now.isUnmatched = step(rule)?.isMatched != true && !hasMatched(record)
            now.feed = .init(last, record, newest: step(rule)?.newest, clock)
            now.held = .init(last, now, count: done?.kept.heldCount ?? 0, isAccepted: isAccepted)
            now.keepValues(of: last, waiting: waiting.filter { $0.family == rule.family }.compactMap(\.share))
            if rule.isEnabled, rule.keepsRows {
                now.beside = policy.rules.filter {
                    $0.isEnabled && $0.name != rule.name && $0.entity.folded == rule.entity.folded
                }.map(recorded)
            }
            // If this run got less far, the cutoff at which an earlier run left nothing stays known.
            if let last, last.state == .none, restoredTables(since: last).isEmpty, now.isLive,
                now.state != .none || now.cutoff < last.cutoff,
                !RuleChange.changes(from: last.record, to: now.record).contains(where: \.isWider)
            {
                now.state = .none
                (now.run, now.ended, now.cutoff, now.keptCount) = (last.run, last.ended, last.cutoff, last.keptCount)
            }
            found.append(now)
        }
        let accepted = found.filter { isWhole && done($0.record.rule)?.accepted.contains(.policyWidened) == true }
        found += gone(former, besides: found, accepted, awaited, isWhole: isWhole, policy, clock)
        for index in found.indices { found[index].policy = file }
        let moved = rules(of: policy).first?.policy
        let isMoved = moved.map { $0 != file && FilePlace($0).facts == nil } ?? false
        found += rules.filter { $0.policy != file && !(isMoved && $0.policy == moved) }
        return found.map(\.line) + (isWhole ? [] : damagedRules)
    }

    /// The recorded patterns of rules whose wider pattern is still to be accepted, by the names of the rules. A pattern is accepted once
    /// somebody has accepted it for a table, and the rule is carried out for each table that it matches.
    private func waitingFamilies(
        of policy: Policy, _ former: [[String]: CarriedOut], _ done: (Rule) -> RunReport.RuleReport?
    ) -> [String: Rule.Family] {
        var families = FormerPatterns.families(Array(former.values))
        for (name, members) in Dictionary(grouping: policy.rules.filter(\.isEnabled), by: \.family?.name) {
            guard let name, let last = families[name], let now = members.first?.family else { continue }
            let isWhole = members.allSatisfy { done($0) != nil || former[[$0.name, $0.entity.folded]] != nil }
            let isAccepted = members.contains { done($0)?.accepted.contains(.policyWidened) == true }
            if isWhole && isAccepted || !now.isWider(than: last) { families[name] = nil }
        }
        return families
    }

    /// Former rules that the policy has no more, as far as they stay known.
    private func gone(
        _ former: [[String]: CarriedOut], besides found: [CarriedOut], _ accepted: [CarriedOut],
        _ awaited: (entities: Set<String>, names: Set<String>), isWhole: Bool, _ policy: Policy, _ clock: Instant
    ) -> [CarriedOut] {
        let families = Set(policy.rules.compactMap(\.family))
        var entities = Set(found.map { $0.key[1] })
        let named = Set(policy.rules.map(\.entity.folded))
        return rules(of: policy).filter { former[$0.key] == $0 }.compactMap { rule in
            var rule = rule
            if let family = rule.record.rule.family, families.contains(family) {
                let isAge = rule.record.rule.share != nil
                // The table is missing, and may come back; or a rule that names it has it now. What is accepted for all tables that are there
                // is accepted for one that is missing.
                if !isAge, !named.contains(rule.key[1]) {
                    let same = accepted.first { $0.record.rule.family == family }
                    if let same { rule.record = same.record.of(rule.record.rule.entity) }
                    return clock.since(rule.ended) < Self.missing ? rule : nil
                }
                // Its values have another age now, and a rule that was not carried out must know which one they had.
                if isAge, !isWhole { return rule }
            }
            guard !awaited.entities.contains(rule.key[1]), !awaited.names.contains(rule.key[0]) else { return rule }
            guard entities.insert(rule.key[1]).inserted || !isWhole else { return nil }
            rule.state = .removed
            return rule
        }
    }
}

extension RunMemory.CarriedOut {
    /// Keeps the values that have another age now which was not carried out: each has the age with which it was last carried out. Their rows
    /// may be left.
    fileprivate mutating func keepValues(of last: Self?, waiting: [AgeShare]) {
        guard let share = record.rule.share, let former = last?.record.rule.share, !waiting.isEmpty else { return }
        let kept = share.keeping(former, in: waiting)
        guard kept != share else { return }
        record = record.matched(by: kept)
        state = .some
    }

    /// Whether the policy still has the rule enabled.
    var isLive: Bool { state == .none || state == .some }

    /// The names of the rule and of its entity.
    package var key: [String] { [record.rule.name, record.rule.entity.folded] }
}
