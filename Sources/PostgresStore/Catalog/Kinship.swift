import PriceStore

/// How the rows of a table relate to those of another one.
enum Kinship {
    case none
    case same
    /// The table has all rows of the other one.
    case ancestor
    /// The other table has all of its rows, in the tables with these values of `oid`.
    case descendant([Int])
}

extension PostgresDatabase {
    /// Partitions, children and chunks are tables, and a hold or a rule may name them.
    func kinship(of table: PostgresTable, to other: PostgresTable) throws -> Kinship {
        if table.oid == other.oid { return .same }
        if try descendants(of: table).contains(other.oid) { return .ancestor }
        guard try descendants(of: other).contains(table.oid) else { return .none }
        return .descendant([table.oid] + (try descendants(of: table)))
    }

    /// Whether two tables have rows in common.
    func areRelated(_ table: PostgresTable, _ other: PostgresTable) throws -> Bool {
        if case .none = try kinship(of: table, to: other) { false } else { true }
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
