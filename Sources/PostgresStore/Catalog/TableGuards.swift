package import PriceStore

/// Why the rows of a partitioned table must be deleted by a DELETE on the whole table.
///
/// A drop skips the server's work for each row. A statement on a single partition skips what is declared on the whole table.
struct TableGuards {
    private let reasons: [String: String]

    init(_ rows: [ServerRow]) throws {
        reasons = try Dictionary(uniqueKeysWithValues: rows.map { try ($0.text("kind"), $0.text("reason")) })
    }

    private func first(_ kinds: String...) -> String? { kinds.lazy.compactMap { reasons[$0] }.first }

    /// Why partitions or chunks cannot be dropped, as a phrase; nil if they can.
    var dropObstacle: String? {
        first(
            "statement trigger", "row trigger", "rule", "row security", "key", "publication", "owner", "access",
            "dependent")
    }
    /// Why rows cannot be deleted from partitions by their own names; nil if they can.
    var leafObstacle: String? { first("statement trigger", "rule", "access") }
    /// Why rows cannot be counted in partitions by their own names; nil if they can.
    var countObstacle: String? { first("access") }

    /// Finds the guards of a table and of all tables below it: the kind, and the reason.
    ///
    /// Source: PostgreSQL manual, "System Catalogs": bit 0 of a trigger's type means that it fires for each row, bit 3 means DELETE. The
    /// event 4 of a rule is DELETE. TimescaleDB's own triggers log changes, and TimescaleDB logs a drop itself. A drop of a partition drops
    /// the sequences of its columns, which the defaults of other tables may use.
    static func query(_ table: Int) -> SQLFragment {
        """
        \(PostgresDatabase.tree("\(table)::oid"))
        SELECT kind, (array_agg(reason ORDER BY place, reason))[1] AS reason FROM (
            SELECT CASE t.tgtype & 1 WHEN 0 THEN 'statement trigger' ELSE 'row trigger' END AS kind, tree.oid AS place,
                'the trigger ' || t.tgname || ' of ' || tree.oid::regclass || ' would not fire' AS reason
            FROM pg_trigger t JOIN tree ON t.tgrelid = tree.oid WHERE NOT t.tgisinternal AND t.tgtype & 8 <> 0
            AND \(TimescaleSQL.isNotItsOwn("t.tgfoid"))
            UNION ALL SELECT 'rule', tree.oid, 'the rule ' || r.rulename || ' of ' || tree.oid::regclass || ' would not be followed'
            FROM pg_rewrite r JOIN tree ON r.ev_class = tree.oid WHERE r.ev_type = '4'
            UNION ALL SELECT 'row security', oid, 'row security of ' || oid::regclass || ' applies to ' || current_user
            FROM tree WHERE row_security_active(oid)
            UNION ALL SELECT 'key', tree.oid, 'a foreign key of ' || f.conrelid::regclass || ' points at ' || f.confrelid::regclass
            FROM pg_constraint f JOIN tree ON f.confrelid = tree.oid WHERE f.contype = 'f'
            UNION ALL SELECT 'owner', tree.oid, current_user || ' does not own ' || c.oid::regclass
            FROM pg_class c JOIN tree ON c.oid = tree.oid WHERE NOT pg_has_role(c.relowner, 'USAGE')
            UNION ALL SELECT 'access', tree.oid, current_user || ' may not use ' || c.oid::regclass || ' by its own name'
            FROM pg_class c JOIN tree ON c.oid = tree.oid WHERE NOT (has_schema_privilege(c.relnamespace, 'USAGE')
                AND has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'DELETE'))
            UNION ALL SELECT 'dependent', tree.oid, pg_describe_object(d.classid, d.objid, 0) || ' depends on ' || c.oid::regclass
            FROM pg_class c JOIN tree ON c.oid = tree.oid JOIN pg_type t ON t.oid = c.reltype
            JOIN pg_depend d ON d.deptype = 'n' AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
                OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray))
            WHERE c.relkind IN ('r', 'p') AND d.classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass, 'pg_class'::regclass)
            AND d.objid <> c.oid AND NOT EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.oid = d.objid AND r.ev_class = c.oid)
            AND c.oid <> \(table)
            UNION ALL SELECT 'dependent', tree.oid, pg_describe_object(d.classid, d.objid, d.objsubid) || ' depends on '
                || q.oid::regclass || ', a sequence of ' || tree.oid::regclass
            FROM tree JOIN pg_depend s ON s.refclassid = 'pg_class'::regclass AND s.refobjid = tree.oid AND s.refobjsubid > 0
                AND s.classid = 'pg_class'::regclass AND s.deptype IN ('a', 'i')
            JOIN pg_class q ON q.oid = s.objid AND q.relkind = 'S'
            JOIN pg_depend d ON d.deptype = 'n' AND d.refclassid = 'pg_class'::regclass AND d.refobjid = q.oid
            WHERE tree.oid <> \(table) AND NOT EXISTS (SELECT 1 FROM pg_depend own WHERE own.classid = d.classid AND own.objid = d.objid
                AND own.deptype IN ('a', 'i') AND own.refclassid = 'pg_class'::regclass AND (own.refobjid = tree.oid
                    OR own.refobjid IN (SELECT relid FROM pg_partition_tree(tree.oid))))
            UNION ALL SELECT 'publication', oid, 'the publication ' || publication || ' tells subscribers of deletes and not of a drop'
            FROM (\(publications("SELECT oid FROM tree"))) AS published) AS found GROUP BY kind
        """
    }

    /// The publications that publish deletes of the tables of a query: `oid` and `publication`. A publication may contain a table above the
    /// table.
    static func publications(_ tables: String) -> String {
        """
        SELECT t.oid, p.pubname AS publication FROM (\(tables)) AS t
        CROSS JOIN LATERAL (SELECT t.oid UNION SELECT relid FROM pg_partition_ancestors(t.oid)) AS whole (oid)
        JOIN pg_class pc ON pc.oid = whole.oid JOIN pg_namespace pn ON pn.oid = pc.relnamespace
        JOIN pg_publication_tables v ON v.schemaname = pn.nspname AND v.tablename = pc.relname
        JOIN pg_publication p ON p.pubname = v.pubname WHERE p.pubdelete
        """
    }
}

extension PostgresDatabase {
    /// The guards of a divided table; nil for any other table.
    func guards(of table: PostgresTable) throws -> TableGuards? {
        guard table.isPartitioned || table.isHypertable else { return nil }
        return try TableGuards(rows(TableGuards.query(table.oid)))
    }

    /// Why the server refuses every delete from a table, as a sentence; nil if it does not. A published delete must identify its row.
    /// Source: PostgreSQL manual, "Publication", on replica identity.
    func identityObstacle(_ table: PostgresTable) throws -> String? {
        // The server plans the view of published tables for some milliseconds.
        guard try exists("SELECT 1 FROM pg_publication WHERE pubdelete LIMIT 1") else { return nil }
        let published = TableGuards.publications(
            "SELECT \(table.oid)::oid AS oid UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = \(table.oid) "
                + "UNION SELECT relid FROM pg_partition_tree(\(table.oid)) WHERE isleaf")
        let row = try row(
            """
            SELECT publication, c.relname FROM (\(published)) AS published JOIN pg_class c ON c.oid = published.oid
            WHERE c.relkind = 'r' AND c.relreplident <> 'f' AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid
                AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END)
            ORDER BY c.oid, 1 LIMIT 1
            """)
        return try row.map { row in
            "the publication \(try row.text("publication")) publishes deletes, and \(try row.text("relname")) has no replica identity, which identifies "
                + "the rows: set one (ALTER TABLE … REPLICA IDENTITY), or stop publishing deletes"
        }
    }

    /// Which of some tables, or of their parts, hides rows from this user by row security, as a sentence; nil if none does.
    func rowSecurityObstacle(_ tables: [PostgresTable]) throws -> String? {
        let oids = tables.map { "\($0.oid)" }.joined(separator: ", ")
        let tree = Self.tree("unnest(ARRAY[\(oids)]::oid[])")
        return try texts(
            "\(tree) SELECT oid::regclass::text FROM tree WHERE row_security_active(oid) ORDER BY oid LIMIT 1"
        ).first.map {
            "row security of \($0) applies to this user, and rows that it hides would be left: use a role with BYPASSRLS, or "
                + "turn row security off for the role that owns the table (NO FORCE ROW LEVEL SECURITY)"
        }
    }

    package func hidingObstacle(of entity: String) throws(StoreError) -> String? {
        try run("reading the row security of \(entity)") { try rowSecurityObstacle([requireTable(entity)]) }
    }
}
