import PriceStore

/// A real table with rows of an entity: the table itself, or a partition that has no partitions.
struct Leaf: Hashable {
    let oid: Int
    /// The table in SQL.
    let sql: String
    let name: String
    /// Whether its rows are on another server.
    var isForeign = false
    /// Whether its rows are in columnar storage, from which the server cannot delete single rows.
    var isColumnar = false
    /// The table of which it is a partition, in SQL; nil if none.
    var parent: String?
    /// Its range; nil if it is a default partition, has an open end, or otherwise proves nothing about its rows.
    var bounds: PartitionBounds?
    /// The column that divides its parent by ranges; nil if something else divides it.
    var rangeColumn: String?
}

extension PostgresConnection {
    /// The real tables of an entity, in order of creation.
    func leaves(of table: PostgresTable) throws -> [Leaf] {
        guard table.isPartitioned else {
            return [Leaf(oid: table.oid, sql: table.sql, name: table.name)]
        }
        if let known = catalog.leaves?[table.oid] { return known }
        let value = "(?:''((?:[^'']|'''')*)''|(-?[0-9.]+))"
        let found = try rows(
            SQLFragment(
                """
                SELECT c.oid, n.nspname, c.relname, c.relkind = 'f' AS is_foreign, pn.nspname AS parent_schema,
                    p.relname AS parent_name,
                    coalesce(replace(ends[1], '''''', ''''), ends[2]) AS low,
                    coalesce(replace(ends[3], '''''', ''''), ends[4]) AS high,
                    (SELECT a.attname FROM pg_partitioned_table k JOIN pg_attribute a
                        ON a.attrelid = k.partrelid AND a.attnum = k.partattrs[0]
                    JOIN pg_opclass o ON o.oid = k.partclass[0] AND o.opcdefault
                    -- The catalog prints fewer digits of a real than it has.
                    JOIN pg_type y ON y.oid = a.atttypid AND 'real'::regtype NOT IN (y.oid, y.typbasetype)
                    WHERE k.partrelid = p.oid AND k.partstrat = 'r' AND k.partnatts = 1 AND k.partattrs[0] > 0) AS range_column,
                    (SELECT amname FROM pg_am WHERE oid = c.relam) = 'columnar' AS is_columnar
                FROM pg_partition_tree(\(table.oid)) t JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_class p ON p.oid = t.parentrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
                CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid),
                    '^FOR VALUES FROM \\(\(value)\\) TO \\(\(value)\\)$') AS ends
                WHERE t.isleaf ORDER BY c.oid
                """))
        let leaves = try found.map { row in
            Leaf(
                oid: try row.int("oid"), sql: try row.relation("nspname", "relname"), name: try row.text("relname"),
                isForeign: try row.isTrue("is_foreign"), isColumnar: try row.isTrue("is_columnar"),
                parent: try row.relation("parent_schema", "parent_name"), bounds: try row.bounds(),
                rangeColumn: try row.optionalText("range_column"))
        }
        catalog.leaves?[table.oid] = leaves
        return leaves
    }
}

extension ServerRow {
    /// The bounds of a part, from `low` and `high`; nil if an end is unknown.
    func bounds() throws -> PartitionBounds? {
        guard let low = try optionalText("low"), let high = try optionalText("high") else { return nil }
        return PartitionBounds(lower: low, upper: high)
    }
}
