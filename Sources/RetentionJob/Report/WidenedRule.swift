package import PriceStore
package import RetentionPolicy

/// A rule that deletes more than what is agreed.
package struct WidenedRule: Sendable {
    /// The settings that make it wider.
    package var changes: [RuleChange]
    /// The names of holds that were removed or keep less.
    package var removedHolds: [String]
    /// The names of the entity's other rules whose changes make this rule keep other rows.
    package var changedSiblings: [String] = []
    /// Why the table may have been outside the rule, as a clause; nil: there is no doubt.
    var doubt: String?
    /// The other ages that the rows had by the table of ages in the store, if nothing else has changed; nil: none.
    var formerAges: [String]?
    /// The last run with the agreed rule, and its end; nil: the rule is new.
    package var run: String?
    package var ended: Instant?
    /// Why it is unknown what was agreed, as a clause; nil: it is known.
    package var unknownPast: String?
    /// Rows that would be deleted only because of the change, and their dates.
    package var rowCount = 0
    package var oldest: Instant?
    package var newest: Instant?

    /// What is wider, as a clause: `max_age was "300d" and is "60d"`.
    package var text: String {
        if let unknownPast { return unknownPast }
        var parts = changes.prefix(Self.mostChanges).map(\.text)
        if changes.count > parts.count { parts.append(Figures.count(changes.count - parts.count, "other change")) }
        if !removedHolds.isEmpty {
            let isOne = removedHolds.count == 1
            parts.append(
                "\(isOne ? "the hold" : "the holds") \(removedHolds.joined(separator: ", ")) "
                    + "\(isOne ? "is removed or keeps" : "are removed or keep") less")
        }
        if parts.isEmpty, !changedSiblings.isEmpty {
            let isOne = changedSiblings.count == 1
            parts.append(
                "\(changedSiblings.map { "'\($0)'" }.joined(separator: ", ")) \(isOne ? "has" : "have") changed, and what the rule "
                    + "keeps depends on \(isOne ? "it" : "them")")
        }
        parts += [doubt].compactMap(\.self)
        guard parts.isEmpty else { return parts.joined(separator: "; ") }
        guard let formerAges else { return "the rule is new, or has a new name" }
        return "the store gave its values another age, \(formerAges.listed("or")), when the rule was last carried out"
    }

    /// The most changes that the text names.
    private static let mostChanges = 5

    /// The number of rows, and their dates.
    package var rowText: String {
        let cause = unknownPast == nil ? " only because of that" : ""
        guard rowCount > 0 else { return "no row would be deleted\(cause) today" }
        return Figures.count(rowCount, "row") + Figures.span(oldest, newest) + " would be deleted\(cause)"
    }
}

extension RuleChange {
    /// The setting before and now, as a clause.
    package var text: String {
        guard noLonger.isEmpty || key == "except" else {
            return "max_age no longer names \(noLonger.map(SafeText.line).listed("and")) (\(Self.plain(was)))"
        }
        guard noLonger.isEmpty else {
            return "the pattern no longer leaves out \(noLonger.map(SafeText.line).listed("and"))"
        }
        return "\(key) was \(Self.plain(was)) and is \(Self.plain(now))"
    }

    /// A setting without the quotes around a word.
    private static func plain(_ setting: String?) -> String {
        guard let setting else { return "not set" }
        let word = setting.hasPrefix("\"") ? String(setting.dropFirst().dropLast()) : setting
        return SafeText.line(word.contains("\\") ? setting : word)
    }
}
