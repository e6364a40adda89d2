extension String {
    /// The name in the form in which names are compared: `A` to `Z` become `a` to `z`, other letters are unchanged.
    package var folded: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard utf8.contains(where: capitals.contains) else { return self }
        return String(decoding: utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
