import PriceStore

/// A real table with rows of an entity, such as a partition or a chunk, or a partition that has partitions itself.
struct Leaf: Hashable {
    let oid: Int
    let sql: String
    let name: String
    /// Whether its rows are on another server, or it is a chunk that cannot be dropped.
    var isForeign = false
    /// Whether its rows are in columnar storage, from which the server cannot delete single rows.
    var isColumnar = false
    /// Whether its rows are in partitions of its own.
    var isPartitioned = false
    /// The `oid` of the table of which it is a partition; nil if none.
    var parent: Int?
    /// Its range; nil if it is a default partition, has an open end, or otherwise proves nothing about its rows.
    var bounds: PartitionBounds?
    /// The column that divides its parent by ranges; nil if something else divides it.
    var rangeColumn: String?
    /// The bytes of the rows of a chunk; 0 for a partition.
    var bytes = 0
    /// Whether it is a chunk that is frozen: the server changes nothing in it.
    var isFrozen = false
}

extension PostgresDatabase {
    /// The real tables of an entity, in order of creation.
    func leaves(of table: PostgresTable) throws -> [Leaf] {
        guard table.isPartitioned else {
            return [Leaf(oid: table.oid, sql: table.sql, name: table.name)]
        }
        return try partitions(of: table).all.filter { !$0.isPartitioned }
    }

    /// The partitions of a table on all levels, in order of creation.
    func partitions(of table: PostgresTable) throws -> Partitions {
        if let known = catalog.partitions?[table.oid] { return known }
        let partitions = try readPartitions(of: table)
        catalog.partitions?[table.oid] = partitions
        return partitions
    }

    /// The partitions of a table as they are now.
    func readPartitions(of table: PostgresTable) throws -> Partitions {
        let value = "(?:''((?:[^'']|'''')*)''|(-?[0-9.]+))"
        let found = try rows(
            """
            SELECT c.oid, n.nspname, c.relname, c.relkind = 'f' AS is_foreign,
                coalesce(replace(ends[1], '''''', ''''), ends[2]) AS low,
                coalesce(replace(ends[3], '''''', ''''), ends[4]) AS high,
                (SELECT a.attname FROM pg_partitioned_table k JOIN pg_attribute a
                    ON a.attrelid = k.partrelid AND a.attnum = k.partattrs[0]
                JOIN pg_opclass o ON o.oid = k.partclass[0] AND o.opcdefault
                -- The catalog prints fewer digits of a real than it has.
                JOIN pg_type y ON y.oid = a.atttypid AND 'real'::regtype NOT IN (y.oid, y.typbasetype)
                WHERE k.partrelid = t.parentrelid AND k.partstrat = 'r' AND k.partnatts = 1 AND k.partattrs[0] > 0) AS range_column,
                (SELECT amname FROM pg_am WHERE oid = c.relam) = 'columnar' AS is_columnar, NOT t.isleaf AS is_partitioned,
                t.parentrelid::oid AS parent
            FROM pg_partition_tree(\(table.oid)) t JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
            CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid),
                '^FOR VALUES FROM \\(\(value)\\) TO \\(\(value)\\)$') AS ends
            WHERE t.level > 0 ORDER BY c.oid
            """)
        let all = try found.map { row in
            Leaf(
                oid: try row.int("oid"), sql: try row.relation("nspname", "relname"), name: try row.text("relname"),
                isForeign: try row.isTrue("is_foreign"), isColumnar: try row.isTrue("is_columnar"),
                isPartitioned: try row.isTrue("is_partitioned"),
                parent: try row.int("parent"), bounds: try row.bounds(),
                rangeColumn: try row.optionalText("range_column"))
        }
        return Partitions(table, all)
    }
}

/// The partitions of a table on all levels.
struct Partitions {
    let table: PostgresTable
    let all: [Leaf]
    private let byOID: [Int: Leaf]

    init(_ table: PostgresTable, _ all: [Leaf]) {
        (self.table, self.all) = (table, all)
        byOID = Dictionary(uniqueKeysWithValues: all.map { ($0.oid, $0) })
    }

    /// A partition, the partition in which it is, and so on.
    func path(from part: Leaf) -> some Sequence<Leaf> {
        sequence(first: part) { part in part.parent.flatMap { byOID[$0] } }
    }

    /// The table of which a partition is one, in SQL.
    func parent(of part: Leaf) -> String { part.parent.flatMap { byOID[$0] }?.sql ?? table.sql }

    /// The range of a column in which all rows of a partition are; nil if none is known.
    func bounds(of part: Leaf, by column: String) -> PartitionBounds? {
        path(from: part).lazy.compactMap { $0.rangeColumn == column ? $0.bounds : nil }.first
    }

    /// The real tables in a partition.
    func leaves(in part: Leaf) -> [Leaf] {
        guard part.isPartitioned else { return [part] }
        return all.filter { leaf in !leaf.isPartitioned && path(from: leaf).contains { $0.oid == part.oid } }
    }
}

extension ServerRow {
    /// The bounds of a part, from `low` and `high`; nil if an end is unknown.
    func bounds() throws -> PartitionBounds? {
        guard let low = try optionalText("low"), let high = try optionalText("high") else { return nil }
        return PartitionBounds(lower: low, upper: high)
    }
}
