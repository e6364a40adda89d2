import PriceStore

/// A real table that holds rows of an entity: the table itself, or a partition that has none of its own.
struct Leaf: Hashable {
    let number: Int
    /// The table in SQL.
    let sql: String
    let name: String
    /// Whether its rows are on another server.
    var isForeign = false
    /// Whether its rows are stored by columns, so that the server cannot delete single ones.
    var isColumnar = false
    /// The table that it is a partition of, in SQL; nil: of none.
    var parent: String?
    /// The number of that table; 0: none.
    var parentNumber = 0
    /// What the catalog says of its bounds, as `FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')`; empty: nothing.
    var bounds = ""
    /// The column by whose ranges the table is divided that it is a partition of; nil: by anything else.
    var rangeColumn: String?
}

extension PostgresConnection {
    /// The real tables of an entity in the order of their numbers.
    func leaves(of table: PostgresTable) throws -> [Leaf] {
        guard table.isPartitioned else {
            return [Leaf(number: table.number, sql: table.sql, name: table.name)]
        }
        if let known = catalog.leaves?[table.number] { return known }
        let query =
            SQLFragment(
                """
                SELECT c.oid::int8, n.nspname, c.relname, c.relkind = 'f', pn.nspname, p.relname, p.oid::int8,
                    coalesce(pg_get_expr(c.relpartbound, c.oid), ''),
                    (SELECT a.attname FROM pg_partitioned_table k JOIN pg_attribute a
                        ON a.attrelid = k.partrelid AND a.attnum = k.partattrs[0]
                    JOIN pg_opclass o ON o.oid = k.partclass[0] AND o.opcdefault
                    -- The catalog prints fewer digits of a real than it has.
                    JOIN pg_type y ON y.oid = a.atttypid AND 'real'::regtype NOT IN (y.oid, y.typbasetype)
                    WHERE k.partrelid = p.oid AND k.partstrat = 'r' AND k.partnatts = 1 AND k.partattrs[0] > 0),
                    (SELECT amname FROM pg_am WHERE oid = c.relam) = 'columnar'
                FROM pg_partition_tree(
                """) + .bound("\(table.number)", "regclass")
                + """
                ) t JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_class p ON p.oid = t.parentrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
                WHERE t.isleaf ORDER BY c.oid
                """
        let leaves = try rows(query).map { row in
            Leaf(
                number: row[0].flatMap { Int($0) } ?? 0,
                sql: "\((row[1] ?? "").quotedIdentifier).\((row[2] ?? "").quotedIdentifier)", name: row[2] ?? "",
                isForeign: row[3] == "t", isColumnar: row[9] == "t",
                parent: "\((row[4] ?? "").quotedIdentifier).\((row[5] ?? "").quotedIdentifier)",
                parentNumber: row[6].flatMap { Int($0) } ?? 0, bounds: row[7] ?? "", rangeColumn: row[8])
        }
        catalog.leaves?[table.number] = leaves
        return leaves
    }
}
