public import PriceStore

/// What is known of the schema. A table is read when it is first needed.
struct PostgresCatalog {
    /// The tables by the requested name; nil if there is none.
    fileprivate var tables: [String: PostgresTable?] = [:]
    /// The partitions of a table, by its `oid`. Valid within one state of the database.
    var partitions: [Int: Partitions]?
    /// The chunks of a hypertable, by its `oid`. Valid within one state of the database.
    var chunks: [Int: [Leaf]]?
    /// The fingerprints of tables when they were first needed; see ``PostgresDatabase/fingerprints(of:)``.
    var fingerprints: [String: String] = [:]
    /// The supported extensions that are installed, with the schemas of their functions.
    fileprivate var extensions: [String: String]?

    /// - Parameter former: the catalog of a lost session, with which the plan was made.
    init(after former: PostgresCatalog? = nil) { fingerprints = former?.fingerprints ?? [:] }
}

extension PostgresDatabase {
    /// The names of all tables, views and foreign tables that are not partitions. A name includes the schema if the search path does not
    /// find it.
    public func entityNames() throws(StoreError) -> [String] {
        try run("reading the schema") {
            try texts(
                """
                SELECT \(Self.displayName) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE \(Self.isReadable) AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                    AND d.objid = c.oid AND d.deptype = 'e')
                AND NOT c.relispartition AND has_schema_privilege(n.oid, 'USAGE') ORDER BY NOT pg_table_is_visible(c.oid), 1
                """)
        }
    }

    /// The table, view or foreign table with a name. `schema.table` names one that is not in the search path.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try run("reading the schema") { try table(name)?.entity }
    }

    /// The name of an entity for a relation `c` in schema `n`.
    static let displayName =
        "CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END"

    /// Any table to which a foreign key can lead, also one of an extension.
    private static let isReadable = """
        c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
        AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
        AND n.nspname NOT LIKE '\\_timescaledb\\_%' AND n.nspname NOT LIKE 'timescaledb\\_%'
        AND coalesce(obj_description(c.oid, 'pg_class'), '')
            !~ '^retention (archives, format [0-9]+|archive of run [0-9A-Z]{26})$'
        """

    /// The table, view or foreign table with a name. An exact match has precedence over one that ignores case.
    func table(_ name: String) throws -> PostgresTable? {
        if let known = catalog.tables[name] { return known }
        let found = try readTable(name)
        catalog.tables[name] = .some(found)
        return found
    }

    /// The table with a name, or an error.
    func requireTable(_ name: String) throws -> PostgresTable {
        guard let table = try table(name) else {
            throw StoreError(.unknownName, store: self.name, message: "the store has no entity '\(name)'")
        }
        return table
    }

    /// The triggers and rules of a table and its parts for a delete (8) or an update (16) of rows: the columns whose change fires them, and
    /// whether they may keep a row or refuse. Those of foreign keys and of TimescaleDB are left out.
    ///
    /// An update can move a row to another partition, which is a delete and an insert there. A generated column changes with others.
    /// Source: PostgreSQL manual, "System Catalogs": bits 2, 3 and 4 of a trigger's type mean INSERT, DELETE and UPDATE; bits 0 and 1 mean
    /// that it fires for each row, and before it. The events 2 and 4 of a rule are UPDATE and DELETE.
    private func triggers(
        _ oid: Int, on event: Int, isPartitioned: Bool
    ) throws -> [(name: String, mayRefuse: Bool, columns: [String])] {
        let events = isPartitioned && event == 16 ? 28 : event
        return try rows(
            """
            \(Self.tree("\(oid)::oid"))
            SELECT t.tgname AS name, bool_or(t.tgtype & 3 = 3 OR p.prosrc ~* '\\mraise\\M') AS may_refuse,
                CASE WHEN bool_and(t.tgattr <> '' AND t.tgtype & \(events) = 16 AND a.attgenerated IS NOT DISTINCT FROM '')
                    THEN array_agg(lower(a.attname)) FILTER (WHERE a.attname IS NOT NULL) END AS columns
            FROM pg_trigger t JOIN tree ON tree.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
            LEFT JOIN pg_attribute a ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr)
            WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & \(events) <> 0
            AND \(TimescaleSQL.isNotItsOwn("t.tgfoid")) GROUP BY 1
            UNION ALL SELECT w.rulename, bool_or(w.is_instead), NULL FROM pg_rewrite w JOIN tree ON tree.oid = w.ev_class
            WHERE w.ev_type = '\(event == 8 ? 4 : 2)' AND w.ev_enabled IN ('O', 'A') GROUP BY 1 ORDER BY 1
            """
        ).map { try ($0.text("name"), $0.isTrue("may_refuse"), $0.names("columns")) }
    }

    /// The names of the tables that contain a table, the root last.
    private func containers(_ oid: Int) throws -> [String] {
        try texts(
            """
            WITH RECURSIVE up (oid, depth) AS (SELECT inhparent, 1 FROM pg_inherits WHERE inhrelid = \(oid)
                UNION SELECT i.inhparent, up.depth + 1 FROM pg_inherits i JOIN up ON i.inhrelid = up.oid)
            SELECT \(Self.displayName) FROM up JOIN pg_class c ON c.oid = up.oid JOIN pg_namespace n ON n.oid = c.relnamespace
            ORDER BY up.depth
            """)
    }

    private func readTable(_ name: String) throws -> PostgresTable? {
        let query: SQLFragment =
            """
            SELECT c.oid, n.nspname, c.relname, \(Self.displayName) AS name, c.relkind, c.relhassubclass, c.relispartition,
                (SELECT amname FROM pg_am WHERE oid = c.relam) = 'columnar' AS is_columnar,
                pg_table_is_visible(c.oid) AS is_visible,
                EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = c.oid) AS is_part,
                CASE WHEN has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') THEN 'ROW EXCLUSIVE'
                    WHEN has_table_privilege(c.oid, 'SELECT') THEN 'ACCESS SHARE' END AS lock_mode
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE \(Self.isReadable) AND (pg_table_is_visible(c.oid) AND lower(c.relname) = lower(
            """ + .bound(name, "text") + ") OR lower(n.nspname || '.' || c.relname) = lower("
            + .bound(name, "text") + ")) ORDER BY NOT (c.relname = " + .bound(name, "text")
            + " OR n.nspname || '.' || c.relname = " + .bound(name, "text")
            + "), NOT pg_table_is_visible(c.oid), c.oid LIMIT 2"
        guard case let found = try rows(query), let row = found.first else { return nil }
        // A foreign key leads to one of them, and its rows must not be read from the other.
        if found.count == 2, try found.allSatisfy({ try $0.text("name") == name }) {
            throw StoreError(
                .unsupported, store: self.name, message: "two tables are called \(name)", hint: "rename one of them")
        }
        var (kind, source, aggregate): (String, ServerRow, String?) = (try row.text("relkind"), row, nil)
        if kind == "v", try hasExtension("timescaledb"),
            let hypertable = try self.row(
                TimescaleSQL.materialized(schema: row.text("nspname"), view: row.text("relname")))
        {
            // The rows of an aggregate are in a hypertable, and are deleted there.
            (kind, source, aggregate) = ("r", hypertable, try row.relation("nspname", "relname"))
        }
        let (oid, schema, relation) = try (source.int("oid"), source.text("nspname"), source.text("relname"))
        // The fingerprint is read first, so that the first batch notices any change during the reading. An older one stays.
        let now = try fingerprints(of: [source.relation("nspname", "relname")])
        catalog.fingerprints.merge(now) { older, _ in older }
        let (columns, isPartition, isPartitioned) = try (readColumns(oid), row.isTrue("relispartition"), kind == "p")
        let kinds: [String: Entity.Kind] = ["r": .table, "p": .table, "v": .view, "m": .view, "f": .virtual]
        // A table that never had a trigger, rule or part has no foreign key at either end, because these are made of triggers.
        let isBare = columns.first?.isOfBareTable ?? false
        let triggers = try isBare ? [] : triggers(oid, on: 8, isPartitioned: isPartitioned)
        let updateTriggers = try isBare ? [] : self.triggers(oid, on: 16, isPartitioned: isPartitioned)
        let indexes = try indexes(oid)
        var entity = Entity(
            name: try row.text("name"), kind: kinds[kind] ?? .view, attributes: columns.map(\.attribute),
            primaryKey: indexes.first { $0.isPrimary }?.columns.compactMap(\.self) ?? [],
            relationships: try isBare ? [] : relationships("conrelid", oid, isPartition: isPartition),
            incomingRelationships: try isBare ? [] : relationships("confrelid", oid, isPartition: isPartition),
            deleteTriggers: triggers.map(\.name),
            updateTriggers: updateTriggers.map { UpdateTrigger(name: $0.name, attributes: $0.columns) },
            refusingTriggers: Set((triggers + updateTriggers).filter(\.mayRefuse).map(\.name)),
            schema: try row.isTrue("is_visible") ? nil : row.text("nspname"))
        if try row.isTrue("is_part") { entity.containers = try containers(oid) }
        entity.uniqueAttributes = indexes.compactMap(\.uniqueAttribute)
        let hypertable =
            try hasExtension("timescaledb")
            ? self.row(TimescaleSQL.hypertable(schema: schema, relation: relation)) : nil
        var table = PostgresTable(
            store: self.name, oid: oid, schema: schema, relation: relation, entity: entity,
            types: Dictionary(uniqueKeysWithValues: columns.map { ($0.attribute.name, $0.type) }),
            enumTypes: Dictionary(
                uniqueKeysWithValues: columns.compactMap { column in
                    column.enumType.map { (column.attribute.name, $0) }
                }),
            indexes: indexes, isPartitioned: isPartitioned,
            hasChildren: try !isPartitioned && (aggregate != nil || row.isTrue("relhassubclass")),
            isDistributed: try hasExtension("citus") && exists(CitusSQL.isDistributed(oid)),
            isHypertable: hypertable != nil, chunkColumn: try hypertable?.optionalText("chunk_column"),
            aggregate: aggregate, isColumnar: try row.isTrue("is_columnar"), isPartition: isPartition,
            lockMode: try row.optionalText("lock_mode"))
        table.localRows = try localRows(of: table)
        return table
    }

    /// The rows of a table without those of its foreign partitions; nil if it has none. A statement on the whole table would use their
    /// servers.
    private func localRows(of table: PostgresTable) throws -> String? {
        guard table.isPartitioned, case let leaves = try leaves(of: table), leaves.contains(where: \.isForeign) else {
            return nil
        }
        let columns = table.entity.attributes.map(\.name.quotedIdentifier) + ["tableoid", "ctid"]
        let list = columns.joined(separator: ", ")
        let parts = leaves.filter { !$0.isForeign }.map { "SELECT \(list) FROM ONLY \($0.sql)" }
        return parts.isEmpty
            ? "(SELECT \(list) FROM ONLY \(table.sql))" : "(\(parts.joined(separator: " UNION ALL ")))"
    }

    private func readColumns(
        _ oid: Int
    ) throws -> [(attribute: Attribute, type: ColumnType, enumType: String?, isOfBareTable: Bool)] {
        // A domain counts as its base type.
        let found = try rows(
            """
            SELECT a.attname, format_type(a.atttypid, a.atttypmod) AS type_name, b.oid AS type,
                a.attnotnull, a.attgenerated <> '' AS is_generated, a.atthasdef OR a.attidentity <> '' AS has_default,
                e.labels, CASE WHEN e.labels IS NOT NULL THEN format_type(e.oid, NULL) END AS enum_type,
                NOT (c.relhastriggers OR c.relhasrules OR c.relhassubclass) AS is_of_bare_table
            FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
            CROSS JOIN LATERAL (
                -- A domain may be over another one.
                WITH RECURSIVE way (oid, base) AS (SELECT t.oid, t.typbasetype
                    UNION ALL SELECT u.oid, u.typbasetype FROM way JOIN pg_type u ON u.oid = way.base)
                SELECT oid FROM way WHERE base = 0) AS b
            LEFT JOIN (SELECT enumtypid, array_agg(enumlabel::text ORDER BY enumsortorder) FROM pg_enum GROUP BY enumtypid)
                AS e (oid, labels) ON e.oid = b.oid
            WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = \(oid) ORDER BY a.attnum
            """)
        guard try !found.isEmpty || exists("SELECT 1 FROM pg_class WHERE oid = \(oid)") else {
            throw StoreError(
                .busy, store: name, message: "another session drops or replaces a table while its schema is read",
                engineCode: "SQLSTATE 40001", hint: "run it again")
        }
        return try found.map { row in
            let (typeOID, isGenerated) = try (row.int("type"), row.isTrue("is_generated"))
            let type = ColumnType(oid: typeOID)
            var attribute = Attribute(
                name: try row.text("attname"), affinity: type.affinity, declaredType: try row.text("type_name"),
                isRequired: try row.isTrue("attnotnull"), isGenerated: isGenerated,
                hasDefault: try !isGenerated && row.isTrue("has_default"), dateEncoding: type.isDate ? .native : nil)
            attribute.precision = type == .numeric ? .decimal : typeOID == 700 ? .single : .double
            attribute.labels = try row.names("labels")
            return (attribute, type, try row.optionalText("enum_type"), try row.isTrue("is_of_bare_table"))
        }
    }

    private func indexes(_ oid: Int) throws -> [PostgresTable.Index] {
        try rows(
            """
            SELECT c.relname, i.indisunique AND NOT EXISTS (
                    SELECT 1 FROM unnest(i.indkey::int2[], i.indcollation::oid[]) AS k (attnum, collated)
                    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.collated <> a.attcollation
                    JOIN pg_collation s ON s.oid = a.attcollation AND NOT s.collisdeterministic) AS is_unique,
                i.indisprimary, i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree' AS is_ordered,
                i.indisvalid AND i.indpred IS NULL AND m.amname = 'brin' AS is_of_blocks,
                (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY
                    AS k (attnum, place)
                LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum > 0
                WHERE k.place <= i.indnkeyatts) AS columns, i.indnullsnotdistinct AS nulls_are_equal
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
            WHERE i.indrelid = \(oid) ORDER BY c.relname
            """
        ).map { row in
            PostgresTable.Index(
                name: try row.text("relname"), columns: try row.list("columns"),
                isPrimary: try row.isTrue("indisprimary"), isUnique: try row.isTrue("is_unique"),
                isOrdered: try row.isTrue("is_ordered"), isOfBlocks: try row.isTrue("is_of_blocks"),
                nullsAreEqual: try row.isTrue("nulls_are_equal"))
        }
    }

    /// The foreign keys at one of their ends. For a partitioned table or a hypertable these are the keys of the whole table, without the
    /// copies on its parts. Keys that refer only to a part count as keys of the whole table.
    private func relationships(
        _ end: String, _ oid: Int, isPartition: Bool
    ) throws -> [Relationship] {
        func names(_ key: String, _ table: String) -> String {
            "(SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(\(key)) WITH ORDINALITY AS k (attnum, place) "
                + "JOIN pg_attribute a ON a.attrelid = \(table) AND a.attnum = k.attnum)"
        }
        func entity(_ table: String) -> String {
            "(SELECT \(Self.displayName) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = \(table))"
        }
        let select = """
            SELECT \(entity("f.conrelid")) AS source, \(names("f.conkey", "f.conrelid")) AS source_columns,
                \(entity("f.confrelid")) AS destination, \(names("f.confkey", "f.confrelid")) AS destination_columns, CASE WHEN f.confdeltype = 'd' AND NOT EXISTS (SELECT 1 FROM pg_attribute a
                    WHERE a.attrelid = f.conrelid AND a.attnum = ANY (f.conkey) AND (a.atthasdef OR a.attidentity <> ''))
                    THEN 'n' ELSE f.confdeltype END AS action,
                EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = f.conrelid AND i.indisvalid AND i.indpred IS NULL
                    AND (i.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey) AS is_indexed
            FROM pg_constraint f WHERE f.contype = 'f' AND
            """
        let parts = "\(Self.tree("\(oid)::oid")) SELECT oid FROM tree WHERE oid <> \(oid)"
        var conditions = ["f.\(end) = \(oid)" + (isPartition ? "" : " AND f.conparentid = 0")]
        if end == "confrelid" { conditions.append("f.conparentid = 0 AND f.confrelid IN (\(parts))") }
        var query: SQLFragment = "\(select) (\(conditions.joined(separator: " OR ")))"
        if try hasExtension("timescaledb") { query += " AND \(TimescaleSQL.isNoChunk("f.conrelid"))" }
        query += " ORDER BY f.conname, f.oid"
        let rules: [String: Relationship.DeleteRule] = [
            "a": .noAction, "r": .restrict, "c": .cascade, "n": .nullify, "d": .setDefault,
        ]
        return try rows(query).map { row in
            Relationship(
                source: try row.text("source"), sourceAttributes: try row.names("source_columns"),
                destination: try row.text("destination"), destinationAttributes: try row.names("destination_columns"),
                deleteRule: rules[try row.text("action")] ?? .noAction, isIndexed: try row.isTrue("is_indexed"))
        }
    }

    // MARK: Extensions

    private func hasExtension(_ name: String) throws -> Bool { try schema(ofExtension: name) != nil }

    /// The schema of an extension's functions, in SQL; nil if the extension is not installed.
    func schema(ofExtension name: String) throws -> String? {
        if catalog.extensions == nil {
            let rows = try rows(
                "SELECT e.extname, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
                    + "WHERE e.extname IN ('timescaledb', 'citus')")
            catalog.extensions = Dictionary(
                uniqueKeysWithValues: try rows.map { try ($0.text("extname"), $0.text("nspname").quotedIdentifier) })
        }
        return catalog.extensions?[name]
    }
}
