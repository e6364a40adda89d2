/// Statements, and the forms in which their results are read.
extension PostgresDatabase {
    /// Runs a statement.
    ///
    /// - Parameter isRepeated: whether the statement comes again with other values, so that one plan serves them all. To plan an index
    ///   range, the server looks for its first entry and steps over all entries that were deleted just before.
    @discardableResult
    func execute(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> ServerResult {
        let (text, values) = fragment.statement
        if let trace, !Self.isAboutCatalog(text), traced.insert(text).inserted { trace(text, plan(text, values)) }
        do throws(ServerFault) {
            return try isRepeated ? link.execute(repeated: text, values) : link.execute(text, values)
        } catch {
            throw TimescaleSQL.unknownForm(text, error) ?? error
        }
    }

    func rows(_ fragment: SQLFragment) throws -> [ServerRow] { try execute(fragment).rows }

    func row(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> ServerRow? {
        try execute(fragment, isRepeated: isRepeated).rows.first
    }

    /// The row of a query that always gives one.
    func onlyRow(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> ServerRow {
        guard let row = try row(fragment, isRepeated: isRepeated) else {
            throw ColumnFault(description: "a statement gave no row")
        }
        return row
    }

    /// Reads the rows of a query in portions of 10,000, inside a transaction.
    func forEachPortion(of query: SQLFragment, _ body: (ServerResult) throws -> Void) throws {
        try execute("DECLARE retention_rows NO SCROLL CURSOR FOR " + query)
        while true {
            let found = try execute("FETCH 10000 FROM retention_rows")
            try body(found)
            guard found.rows.count == 10_000 else { break }
        }
        try execute("CLOSE retention_rows")
    }

    /// The values of a query's only column, without NULL.
    func texts(_ fragment: SQLFragment) throws -> [String] {
        let result = try execute(fragment)
        guard result.columns.count == 1 else { throw ColumnFault(description: "a statement has not one column") }
        return result.rows.compactMap { $0.texts[0] }
    }

    /// The values of a query's only column as whole numbers.
    func numbers(_ fragment: SQLFragment) throws -> [Int] {
        try texts(fragment).map { text in
            guard let number = Int(text) else { throw ColumnFault(description: "a statement gave no whole number") }
            return number
        }
    }

    /// The numeric values of some expressions, in order.
    func numbers(ofEach expressions: [String]) throws -> [Int] {
        guard !expressions.isEmpty else { return [] }
        return try numbers("SELECT unnest(ARRAY[\(expressions.joined(separator: ", "))])")
    }

    /// The only value of a query as a number; 0 for NULL.
    func count(_ fragment: SQLFragment) throws -> Int { try numbers(fragment).first ?? 0 }

    func exists(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> Bool {
        try !execute(fragment, isRepeated: isRepeated).rows.isEmpty
    }

    private static func isAboutCatalog(_ text: String) -> Bool {
        !text.contains("pg_temp.") && (text.contains(" FROM pg_") || text.contains("\nFROM pg_"))
    }

    private func plan(_ text: String, _ values: [String?]) -> [String] {
        guard ["SELECT", "DELETE", "UPDATE", "INSERT", "WITH"].contains(where: text.hasPrefix),
            let rows = try? link.execute("EXPLAIN " + text, values).rows
        else { return [] }
        return rows.compactMap { $0.texts[0] }
    }
}
