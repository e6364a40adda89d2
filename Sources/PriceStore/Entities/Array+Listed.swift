extension [String] {
    /// With a word before the last one: `a`, `a and b`, `a, b and c`.
    package func listed(_ word: String) -> String {
        guard let last, count > 1 else { return first ?? "" }
        return "\(dropLast().joined(separator: ", ")) \(word) \(last)"
    }
}
