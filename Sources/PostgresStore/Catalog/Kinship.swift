import PriceStore

/// Partitions, children and chunks are tables, and a hold or a rule may name them.
extension PostgresDatabase {
    /// The condition that a row of a table is also one of another table; nil if no row is.
    func isRow(of other: PostgresTable, among table: PostgresTable) throws -> SQLFragment? {
        if try other.oid == table.oid || descendants(of: other).contains(table.oid) { return .always }
        guard try descendants(of: table).contains(other.oid) else { return nil }
        return RowScope.isIn([other.oid] + (try descendants(of: other)))
    }

    /// Whether two tables have rows in common.
    func areRelated(_ table: PostgresTable, _ other: PostgresTable) throws -> Bool {
        try isRow(of: table, among: other) != nil
    }

    /// The tables that are parts of a table, by `oid`.
    func descendants(of table: PostgresTable) throws -> [Int] {
        guard !table.isSingle else { return [] }
        return try numbers("\(Self.tree("\(table.oid)::oid")) SELECT oid FROM tree WHERE oid <> \(table.oid)")
    }

    /// The beginning of a query of `tree`: the listed tables and all tables below them.
    static func tree(_ oids: String) -> String {
        "WITH RECURSIVE tree (oid) AS (SELECT \(oids) UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid)"
    }
}
