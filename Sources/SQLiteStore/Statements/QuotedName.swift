// SQLite reads a name in double quotes as a text if no column has that name. The store's own SQL may rely on this, so the connection allows
// it. In this program's statements a missing column would then be read as a text, and a condition on it would match the wrong rows. A name
// in backticks is never a text. Source: sqlite.org/quirks.html, section 8.

extension String {
    /// The name as an SQL identifier that is never read as a text: in backticks, with backticks doubled. In this target it replaces the
    /// property of `PriceStore`.
    var quotedIdentifier: String {
        guard utf8.contains(UInt8(ascii: "`")) else { return "`\(self)`" }
        return "`" + split(separator: "`", omittingEmptySubsequences: false).joined(separator: "``") + "`"
    }
}

extension Sequence<String> {
    /// The texts with commas between them.
    var list: String { joined(separator: ", ") }
}

extension [String] {
    /// The names as a list of such identifiers in parentheses.
    var quotedList: String { "(" + map(\.quotedIdentifier).list + ")" }
}
