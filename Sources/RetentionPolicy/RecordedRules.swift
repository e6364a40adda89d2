/// Reads the records of rules. Those of a pattern differ in the name of the table, so most are copies of the one before with another name.
package struct RecordedRules {
    /// The last record read, with its text before and after the name of the table.
    private var last: (before: Substring, after: Substring, rule: RecordedRule)?

    package init() {}

    /// The rule of a ``RecordedRule/canonical`` text; nil: the text is damaged, or this version does not know it.
    package mutating func rule(_ canonical: String) -> RecordedRule? {
        guard let name = Self.entity(in: canonical) else { return RecordedRule(canonical: canonical) }
        let (before, after) = (canonical[..<name.lowerBound], canonical[name.upperBound...])
        // Texts that are equal as characters may differ in bytes, and a store sees bytes.
        if let last, last.before.utf8.elementsEqual(before.utf8), last.after.utf8.elementsEqual(after.utf8) {
            return last.rule.of(String(canonical[name]))
        }
        guard let rule = RecordedRule(canonical: canonical) else { return nil }
        last = (before, after, rule)
        return rule
    }

    /// Where the name of the table is; nil: it needs to be read as JSON. No other text contains the key with its quotes.
    private static func entity(in canonical: String) -> Range<String.Index>? {
        let (text, key) = (canonical.utf8, #""entity": ""#.utf8)
        guard let start = text.indices.first(where: { text[$0...].starts(with: key) }) else { return nil }
        let name = text.index(start, offsetBy: key.count)
        guard let end = text[name...].firstIndex(where: { [UInt8(ascii: "\""), UInt8(ascii: "\\")].contains($0) }),
            text[end] == UInt8(ascii: "\"")
        else { return nil }
        return name..<end
    }
}
