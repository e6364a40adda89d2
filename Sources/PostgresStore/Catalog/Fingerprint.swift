import PriceStore

/// Batches delete only while the schema is the one of the plan: cascading keys, triggers, archived columns.
extension PostgresDatabase {
    /// The parts of the schema that affect deletes from tables, by table: its identity, its columns, the foreign keys that refer to it,
    /// triggers with their functions, rules, row security, and tables that inherit from it.
    ///
    /// A new partition or chunk is not a change, but a trigger or rule of its own is.
    func fingerprints(of tables: [String]) throws -> [String: String] {
        let isNoChunk =
            try schema(ofExtension: "timescaledb") == nil ? "" : " AND \(TimescaleSQL.isNoChunk("i.inhrelid"))"
        let query =
            "SELECT name, md5(string_agg(fact, chr(10) ORDER BY fact)) AS fingerprint FROM unnest("
            + SQLFragment.list(tables, "text")
                + """
                ) AS t (name) CROSS JOIN LATERAL (SELECT to_regclass(name)::oid AS root) AS r CROSS JOIN LATERAL (
                    WITH RECURSIVE tree (oid) AS (SELECT root
                        UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid\(isNoChunk))
                    SELECT concat_ws(' ', 'table', oid, relkind) AS fact FROM pg_class WHERE oid = root
                    UNION ALL SELECT concat_ws(' ', 'column', attnum, attname, atttypid, atttypmod, attgenerated)
                    FROM pg_attribute WHERE attrelid = root AND attnum > 0 AND NOT attisdropped
                    UNION ALL SELECT concat_ws(' ', 'security', c.oid, c.relrowsecurity, c.relforcerowsecurity)
                    FROM pg_class c JOIN tree USING (oid) WHERE c.relrowsecurity
                    UNION ALL SELECT concat_ws(' ', 'child', i.inhrelid, i.inhparent) FROM pg_inherits i JOIN tree ON tree.oid = i.inhrelid
                    JOIN pg_class c ON c.oid = i.inhrelid WHERE NOT c.relispartition AND i.inhrelid <> root
                    UNION ALL SELECT concat_ws(' ', 'key', f.oid, f.conrelid, f.confdeltype, f.confupdtype, f.conkey, f.confdelsetcols)
                    FROM pg_constraint f JOIN tree ON tree.oid = f.confrelid WHERE f.contype = 'f' AND f.conparentid = 0
                    UNION ALL SELECT concat_ws(' ', 'trigger', g.oid, g.tgenabled, g.tgtype, g.tgattr, p.oid, p.xmin)
                    FROM pg_trigger g JOIN tree ON tree.oid = g.tgrelid JOIN pg_proc p ON p.oid = g.tgfoid
                    WHERE NOT g.tgisinternal AND g.tgparentid = 0 AND g.tgtype & 28 <> 0
                    UNION ALL SELECT concat_ws(' ', 'rule', w.oid, w.ev_enabled, w.xmin)
                    FROM pg_rewrite w JOIN tree ON tree.oid = w.ev_class WHERE w.ev_type <> '1'
                ) AS facts GROUP BY name
                """
        return try Dictionary(
            uniqueKeysWithValues: execute(query, isRepeated: true).rows.map {
                try ($0.text("name"), $0.text("fingerprint"))
            })
    }

    /// Throws if one of some tables has changed since it was first read.
    ///
    /// - Parameter moment: when that was and what the error means, for its message.
    func requireSchema(
        of tables: [PostgresTable], since moment: String = "the plan was made: nothing of this batch is deleted"
    ) throws {
        let now = try fingerprints(of: Set(tables.map(\.sql)).sorted())
        for table in tables where catalog.fingerprints[table.sql] != now[table.sql] {
            throw StoreError(
                .unsupported, store: name,
                message: "the schema of \(table.name) has changed since \(moment)",
                hint: "run it again")
        }
    }
}
