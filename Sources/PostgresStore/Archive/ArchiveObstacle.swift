package import PriceStore

extension PostgresDatabase {
    /// Why the rows of a request cannot be archived: something deleted with them cannot be known, or could not be restored.
    package func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        try run("looking at what a delete changes") {
            guard let table = try table(request.entity) else { return nil }
            if let rollup = request.deleting.rollup, let target = try self.table(rollup.target),
                let reason = try obstacle(toUndoneCandlesOf: target)
            {
                return reason
            }
            if table.aggregate != nil {
                return "\(table.name) is a continuous aggregate, into which no rows can be inserted"
            }
            return try ArchiveObstacle(
                session: self, reach: ReachOfDelete(of: table, request.relationships.followed, self)
            ).text()
        }
    }
}

/// What prevents the rows of a delete from being archived.
struct ArchiveObstacle {
    let session: PostgresConnection
    let reach: ReachOfDelete

    /// The most columns of a table. Source: PostgreSQL manual, "PostgreSQL Limits".
    private static let mostColumns = 1600

    /// Why the rows cannot be archived, as a clause; nil if they can.
    func text() throws -> String? {
        for table in reach.losing {
            if table.hasChildren, !table.isHypertable {
                return "other tables inherit from \(table.name), and their rows could not be distinguished"
            }
            if table.entity.attributes.count >= Self.mostColumns {
                return "\(table.name) has \(Self.mostColumns) columns, and a table of the archive needs one more"
            }
        }
        if let reason = try rule() ?? reach.changeBehind() ?? reach.overlap() { return reason }
        for cleared in try reach.cleared() {
            let (name, key) = (cleared.table.name, cleared.table.entity.primaryKey)
            if key.isEmpty { return "rows of \(name), which has no primary key, lose a reference" }
            if let column = key.first(where: cleared.columns.contains) {
                return "\(column) of \(name) is a reference that is cleared, and a part of its primary key"
            }
        }
        return try trigger()
    }

    private func rule() throws -> String? {
        let cleared = try reach.cleared().map(\.table)
        return try session.row(
            "SELECT rulename, ev_class::regclass::text AS relation, CASE ev_type WHEN '4' THEN 'a delete' ELSE 'a change' END AS act FROM pg_rewrite WHERE ev_type = '4' AND ev_class = ANY ("
                + .tables(reach.losing.map(\.oid)) + ") OR ev_type = '2' AND ev_class = ANY ("
                + .tables(cleared.map(\.oid))
                + ") ORDER BY 1"
        ).map { try "the rule \($0.text("rulename")) of \($0.text("relation")) changes what \($0.text("act")) does" }
    }

    /// Triggers that, by the words of their functions, may delete rows, change rows before they are archived, or change references other
    /// than by clearing them. What they do in other ways, each batch finds by the server's own counts.
    private func trigger() throws -> String? {
        guard try reach.firesTriggers() else { return nil }
        // The server does not count changes of rows on other servers.
        if try session.schema(ofExtension: "citus") != nil,
            try session.exists(SQLFragment("SELECT 1 FROM pg_dist_partition LIMIT 1"))
        {
            return "its triggers may delete rows of distributed or reference tables, which cannot be seen"
        }
        let compressed = try reach.losing.first {
            try $0.isHypertable && !session.rows(TimescaleSQL.compressedChunks($0)).isEmpty
        }
        if let compressed {
            return
                "\(compressed.name) has compressed chunks, and what its triggers delete cannot be distinguished from what the server does"
        }
        let cleared = try reach.cleared().map(\.table)
        let deletes = "\\mdelete\\s+from\\M|\\m(truncate|execute|perform|call|merge)\\M"
        let names = (reach.losing + cleared).map { $0.relation.replacing(/\W/) { "\\\($0.output)" } }.joined(
            separator: "|")
        let changed = "(\\m\\w+\\.|\"[^\"]*\"\\.)?\"?(\(names))\"?"
        let changes = "\\mupdate\\s+(only\\s+)?\(changed)\\s|\\minto\\s+\(changed)[\\s(][^;]*\\mdo\\s+update\\M"
        let column = "\\mnew(\\s*\\.\\s*(\\w+|\"[^\"]*\"))?\\s*"
        let assigns =
            "\(column):=|(;|\\m(begin|then|else|loop)\\M)\\s*\(column)=|\\minto\\s+(strict\\s+)?new\\M"
        let found = try session.row(
            "WITH RECURSIVE tree (oid, event) AS (SELECT unnest(" + .tables(reach.losing.map(\.oid))
                + "), 8 UNION SELECT unnest("
                + .tables(cleared.map(\.oid))
                    + """
                    ), 16 UNION SELECT i.inhrelid, event FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid)
                    SELECT t.tgname, t.tgrelid::regclass::text AS relation, l.lanname <> 'plpgsql' OR p.prosrc ~*
                    """
                + " " + .bound(deletes, "text")
                    + """
                     AS deletes FROM pg_trigger t JOIN tree ON tree.oid = t.tgrelid
                    JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
                    WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & event <> 0
                    AND (event = 8 OR t.tgattr = '' OR EXISTS (SELECT 1 FROM pg_constraint f
                        WHERE f.conrelid = t.tgrelid AND f.contype = 'f' AND f.conkey && t.tgattr::int2[])
                        OR EXISTS (SELECT 1 FROM pg_attribute a
                        WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr::int2[]) AND a.attgenerated <> ''))
                    AND p.pronamespace <> 'pg_catalog'::regnamespace AND \(TimescaleSQL.isNotItsOwn("t.tgfoid"))
                    AND (l.lanname <> 'plpgsql' OR p.prosrc ~*
                    """
                + " " + .bound("\(deletes)|\(changes)", "text")
                + " OR event = 16 AND t.tgtype & 2 <> 0 AND p.prosrc ~* "
                + .bound(assigns, "text") + ") ORDER BY 1")
        guard let found else {
            // A row could be changed twice, and the server's counts would not show by which key.
            let losing = Set(reach.losing.map(\.name))
            return try reach.cleared().first { losing.contains($0.table.name) || $0.keys.count > 1 }.map {
                "triggers fire, and rows of \($0.table.name) may lose several references, or one before they are deleted: what triggers "
                    + "change there cannot be detected"
            }
        }
        return try "the trigger \(found.text("tgname")) of \(found.text("relation")) "
            + (found.isTrue("deletes")
                ? "may delete other rows, which cannot be seen"
                : "changes rows that are archived, so that they could not be restored as they were")
    }
}

extension PostgresConnection {
    /// Why an undo of candles of a table would make changes that an archive does not have; nil if it would not.
    func obstacle(toUndoneCandlesOf table: PostgresTable) throws -> String? {
        if let key = try ReachOfDelete(of: table, .asDeclared, self).keys.first {
            return "rows of \(key.source) refer to candles of \(table.name), and an undo could not delete these candles"
        }
        return try row(
            SQLFragment(
                """
                \(Self.tree("\(table.oid)::oid"))
                SELECT 'trigger' AS kind, tgname AS name FROM pg_trigger JOIN tree ON tree.oid = tgrelid WHERE NOT tgisinternal AND tgenabled <> 'D'
                AND \(TimescaleSQL.isNotItsOwn("tgfoid"))
                UNION ALL SELECT 'rule', rulename FROM pg_rewrite JOIN tree ON tree.oid = ev_class WHERE ev_enabled <> 'D'
                ORDER BY 1, 2
                """)
        ).map {
            try "the \($0.text("kind")) \($0.text("name")) of \(table.name) changes how candles are written and deleted"
        }
    }
}
