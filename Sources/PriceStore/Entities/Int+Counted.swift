extension Int {
    /// The number and a noun: `1 row`, `2 rows`.
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }

    /// The number, a noun and a verb: `1 row is`, `2 rows are`.
    package func counted(_ noun: String, _ one: String, _ many: String) -> String {
        "\(counted(noun)) \(self == 1 ? one : many)"
    }
}
