package import PriceStore

/// A rule of a policy as somebody has agreed to it: by the first run of the policy, or by accepting it since.
///
/// A rule that is the same or narrower needs no one: it is agreed once a run has had it.
package struct AgreedRule: Hashable, Sendable {
    /// The rule as written. What its pattern leaves out includes the tables that other rules name.
    package let record: RecordedRule
    package var holds: [Hold]
    /// The policy's file, as one line of text.
    package var file: String
    /// Its stores as JSON, see ``store(of:)``.
    package var store: String
    /// The run, and when it ended.
    package var run: String
    package var ended: Instant

    package var name: String { record.rule.name }

    /// Makes the agreement to a rule of a policy as written, beside the holds that keep rows.
    package init(
        _ rule: Rule, of policy: Policy, holds: [Hold], file: String = "", run: String = "",
        ended: Instant = .distantPast
    ) {
        var rule = rule
        if let pattern = EntityPattern(rule.entity) {
            let others = policy.rulesAsWritten.map(\.entity).filter { EntityPattern($0) == nil }.map(\.folded)
            rule.except += pattern.matches(in: others).keys.filter { !rule.except.contains($0) }.sorted()
        }
        record = RecordedRule(
            rule, entity: rule.entity, date: rule.column ?? rule.dateAttribute, zone: policy.timezone)
        (self.holds, self.file, self.run, self.ended) = (holds, file, run, ended)
        store = Self.store(of: policy)
    }

    /// What makes the rule itself wider than another agreement.
    package func changes(since other: AgreedRule) -> [RuleChange] {
        RuleChange.changes(from: other.record, to: record)
    }

    /// That the policy names other stores than it did, or others of a pattern; nil: it does not.
    package func storeChange(since other: AgreedRule) -> RuleChange? {
        guard store != other.store else { return nil }
        return RuleChange(key: "store", was: other.store, now: store)
    }

    package static func store(of policy: Policy) -> String {
        CanonicalText.text(policy.patternText ?? policy.store.written)
    }

    /// Whether what another rule keeps may depend on this one, or the reverse: both may have the same table, and one of them keeps rows.
    package func isBeside(_ other: AgreedRule) -> Bool {
        (record.rule.keepsRows || other.record.rule.keepsRows) && record.rule.mayHaveTable(of: other.record.rule)
    }

    /// The names of the other rules that have changed, if what it may delete depends on them: those of its table if it keeps rows, and those
    /// that keep rows which go along with its own.
    ///
    /// - Parameter deletesOthers: whether rows of other tables may go along.
    package func changedBeside(
        from former: [String: AgreedRule]?, to now: [String: AgreedRule], deletesOthers: Bool = false
    ) -> [String] {
        guard record.rule.keepsRows || deletesOthers else { return [] }
        func texts(_ rules: [String: AgreedRule]) -> [String: String] {
            rules.filter { name, other in
                let rule = other.record.rule
                return name != self.name && rule.isEnabled
                    && (record.rule.keepsRows && other.isBeside(self) || deletesOthers && rule.keepsRows)
            }.mapValues(\.record.canonical)
        }
        let (was, now) = (texts(former ?? [:]), texts(now))
        return Set(was.keys).union(now.keys).filter { was[$0] != now[$0] }.sorted()
    }

    /// Whether another agreement is the same, whatever its run.
    package func isSame(as other: AgreedRule) -> Bool {
        record == other.record && holds == other.holds && file == other.file && store == other.store
    }

    // MARK: The ledger

    /// The ledger's line, separated by tabs: file, stores, run, end, rule, and each hold.
    package var line: String {
        ([file, store, run, "\(ended.microseconds)", record.canonical] + holds.map(\.record)).joined(separator: "\t")
    }

    /// Nil: the line is damaged, or this version does not know it.
    package init?(line: String) {
        let parts = line.fields(separatedBy: "\t")
        guard parts.count >= 5, let ended = Int64(parts[3]), let record = RecordedRule(canonical: parts[4]) else {
            return nil
        }
        holds = parts.dropFirst(5).compactMap { Hold(record: $0) }
        guard holds.count == parts.count - 5 else { return nil }
        (self.record, file, store, run) = (record, parts[0], parts[1], parts[2])
        self.ended = Instant(microseconds: ended)
    }
}

extension Rule {
    package var writtenName: String { family?.name ?? name }

    package var keepsRows: Bool { keepLast != nil || thin != nil }

    /// Whether a table may be one of both rules.
    fileprivate func mayHaveTable(of other: Rule) -> Bool {
        let (own, its) = (EntityPattern(entity), EntityPattern(other.entity))
        return entity.folded == other.entity.folded || own != nil && its != nil
            || own?.matches(in: [other.entity]).isEmpty == false || its?.matches(in: [entity]).isEmpty == false
    }
}
