/// What a request restores, by the archive's lists of rules and parts.
package struct RequestedParts {
    /// A row of the archive's list of parts: rows of a table that one transaction of a rule deleted.
    package struct Part {
        package var number: Int64
        package var rule: Int
        package var table: Int
        package var rows: ClosedRange<Int64>

        package init(number: Int64, rule: Int, table: Int, rows: ClosedRange<Int64>) {
            (self.number, self.rule, self.table, self.rows) = (number, rule, table, rows)
        }
    }

    /// The rules whose rows are restored, in the order of the run.
    package let rules: [String]
    package let tables: Set<Int>
    /// The numbers of those tables whose rows an earlier undo has restored.
    package let tablesUndone: Set<Int>
    private let request: RestorationRequest
    private let names: [Int: String]
    private let parts: [Int64: [Part]]

    /// Finds the parts of the requested rules among all parts and rules of the archive; these have numbers.
    package init(_ request: RestorationRequest, names: [Int: String], _ parts: [Part]) {
        self.request = request
        self.names = names.filter { request.rules.isEmpty || request.rules.contains($0.value) }
        let requested = parts.filter { [names = self.names] in names[$0.rule] != nil }
        self.parts = Dictionary(grouping: requested, by: \.number)
        rules = Set(requested.map(\.rule)).sorted().compactMap { [names = self.names] in names[$0] }
        tables = Set(requested.map(\.table))
        tablesUndone = Set(
            requested.filter { request.undoneRules.contains(names[$0.rule] ?? "") }.map(\.table))
    }

    /// The first requested rule that the archive does not have.
    package var missingRule: String? { request.rules.first { name in !names.values.contains(name) } }

    /// The transactions of the rules, in the order of the run; nil if a part belongs to none of the tables.
    ///
    /// A transaction with candles is left out if an earlier undo has restored its rule: a later run may have made the same candles.
    package func transactions(_ restored: [(number: Int, table: some RestorableSource)]) -> [[ArchivedRows]]? {
        let places = Dictionary(firstOf: restored.enumerated().map { ($1.number, $0) })
        guard tables.allSatisfy({ places[$0] != nil }) else { return nil }
        return parts.sorted { $0.key < $1.key }.compactMap { _, part in
            let isUndone = request.undoneRules.contains(part.first.flatMap { names[$0.rule] } ?? "")
            let rows = part.map { ArchivedRows(table: places[$0.table] ?? 0, rows: $0.rows) }
            return isUndone && rows.contains { restored[$0.table].table.holdsCandles } ? nil : rows
        }
    }
}
