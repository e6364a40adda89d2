/// Work on bytes: characters take many times as long, and a run goes through the schema and the ledger each time.
extension String {
    /// The name in the form in which names are compared: `A` to `Z` become `a` to `z`, other letters are unchanged.
    package var folded: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard utf8.contains(where: capitals.contains) else { return self }
        return String(decoding: utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Whether a word of the letters A to Z, in capitals, is somewhere in the text, in any case.
    package func mentions(_ word: StaticString) -> Bool {
        let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        var text = self
        return text.withUTF8 { bytes in
            guard bytes.count >= word.count else { return false }
            return (0...bytes.count - word.count).contains { start in
                word.indices.allSatisfy { bytes[start + $0] & 0xDF == word[$0] }
            }
        }
    }

    /// Whether the text has printable ASCII characters only.
    package var isPlainASCII: Bool { utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The parts between separators, which are ASCII, with empty ones.
    package func fields(separatedBy separator: Unicode.Scalar) -> [String] {
        utf8.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
}
