// SQLite takes a name in double quotes for a text where no column has that name. The store's own SQL may rely on this, so the
// connection allows it. In this program's statements a column that is gone would then become a text, and a condition on it would
// be true for the wrong rows. A name in backticks is never a text. Source: sqlite.org/quirks.html, section 8.

extension String {
    /// The name as an SQL identifier that is never read as a text: in backticks, backticks doubled. In this target it takes the
    /// place of the one of `PriceStore`.
    var quotedIdentifier: String {
        guard utf8.contains(UInt8(ascii: "`")) else { return "`\(self)`" }
        return "`" + split(separator: "`", omittingEmptySubsequences: false).joined(separator: "``") + "`"
    }
}

extension [String] {
    /// The names as a list of such identifiers in parentheses.
    var quotedList: String { "(" + map(\.quotedIdentifier).joined(separator: ", ") + ")" }
}
