import PriceStore

/// How the rows of a table are those of another one.
enum Kinship {
    case none
    case same
    /// It has all rows of the other one.
    case ancestor
    /// The other one has all of its rows: the tables that hold them, by `oid`.
    case descendant([Int])
}

extension PostgresConnection {
    /// Partitions, children and chunks are tables of their own, which a hold or a rule may name.
    func kinship(of table: PostgresTable, to other: PostgresTable) throws -> Kinship {
        if table.oid == other.oid { return .same }
        if try descendants(of: table).contains(other.oid) { return .ancestor }
        guard try descendants(of: other).contains(table.oid) else { return .none }
        return .descendant([table.oid] + (try descendants(of: table)))
    }

    /// The tables that are parts of a table, by `oid`.
    func descendants(of table: PostgresTable) throws -> [Int] {
        guard !table.isSingle else { return [] }
        return try numbers(
            SQLFragment(Self.tree("\(table.oid)::oid") + " SELECT oid FROM tree WHERE oid <> \(table.oid)"))
    }

    /// What stands before a query of `tree`: tables, as a list of values, and all that is below them.
    static func tree(_ oids: String) -> String {
        "WITH RECURSIVE tree (oid) AS (SELECT \(oids) UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid)"
    }
}
