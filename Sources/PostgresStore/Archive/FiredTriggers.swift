import PriceStore

/// The triggers of the store that an undo sets off: they are left out, or what they write is counted.
final class FiredTriggers {
    private let tables: [RestorationTable]
    private let isLeftOut: Bool
    /// Whether triggers fire.
    let areFired: Bool
    private let connection: PostgresConnection
    /// The tables of the archive by the names under which their rows are counted: that of the whole for a part.
    private var names: [Int: String] = [:]
    /// What was written, by table. The owner takes back what a rollback has undone.
    var counts: [String: TriggeredRows] = [:]

    /// - Throws: ``StoreError`` if triggers are to be left out that cannot be.
    init(_ archive: ServerArchive, _ choice: TriggerChoice?, _ connection: PostgresConnection) throws {
        self.connection = connection
        tables = archive.tables
        let hasTriggers = tables.contains { !$0.firedTriggers.isEmpty }
        isLeftOut = choice == .skip
        areFired = hasTriggers && !isLeftOut
        guard hasTriggers else { return }
        for table in tables {
            if !isLeftOut {
                names[table.target.oid] = table.target.entity.containers.last ?? table.target.name
            } else if !table.firedTriggers.isEmpty {
                try requireControl(of: table)
            }
        }
    }

    private func requireControl(of table: RestorationTable) throws {
        let target = table.target
        let list = table.triggers.joined(separator: ", ")
        if target.isDistributed || target.isHypertable {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "the triggers of \(target.name) (\(list)) cannot be left out, because it is "
                    + (target.isDistributed ? "distributed" : "a hypertable"),
                hint: "nothing was changed; --triggers fire restores the rows and fires them")
        }
        let isOthers = try connection.exists(
            "SELECT 1 FROM pg_class WHERE NOT pg_has_role(relowner, 'USAGE') AND oid = ANY ("
                + .tables(table.firedTriggers.map(\.relation)) + ")")
        guard isOthers else { return }
        throw StoreError(
            .permission, store: connection.name,
            message:
                "the triggers of \(target.name) (\(list)) cannot be left out, because only its owner can switch them off",
            hint: "nothing was changed; run the undo as the owner, or with --triggers fire")
    }

    // MARK: Left out

    /// Carries out work of a transaction while the triggers are switched off. Others that write to the tables wait until it ends.
    /// If it is rolled back, or the server ends, the triggers are as they were.
    func leavingOut(_ body: () throws -> Void) throws {
        guard isLeftOut else { return try body() }
        // Parts that are new since the undo began have copies of them.
        let found = try tables.flatMap { table in
            try connection.triggersFired(by: table.kind, of: table.target, changing: table.columns)
        }
        let ordered = Set(found).sorted { ($0.relation, $0.name) < ($1.relation, $1.name) }
        for trigger in ordered {
            // Each part has its own copy, which may be in another state.
            try connection.execute("ALTER TABLE ONLY \(trigger.sql) DISABLE TRIGGER \(trigger.name.quotedIdentifier)")
        }
        try body()
        for trigger in ordered {
            try connection.execute(
                "ALTER TABLE ONLY \(trigger.sql) ENABLE \(trigger.isAlways ? "ALWAYS " : "")TRIGGER \(trigger.name.quotedIdentifier)"
            )
        }
    }

    // MARK: Counted

    /// Carries out a statement that writes rows of tables of the archive, and counts what triggers write with it.
    ///
    /// - Parameter own: the rows that the statement itself writes, by the `oid` of their table.
    func observing<T>(_ body: () throws -> T, own: (T) -> [(table: Int, rows: TriggeredRows)]) throws -> T {
        guard areFired else { return try body() }
        let before = try written()
        let value = try body()
        var found = try written()
        for (name, rows) in before { found[name, default: TriggeredRows()].subtract(rows) }
        for (table, rows) in own(value) { found[names[table] ?? "", default: TriggeredRows()].subtract(rows) }
        for (name, rows) in found where !rows.isEmpty { counts[name, default: TriggeredRows()].add(rows) }
        return value
    }

    /// The rows that this transaction has written, by the names of whole tables.
    private func written() throws -> [String: TriggeredRows] {
        let found = try connection.rows(
            SQLFragment(
                """
                WITH RECURSIVE up (top, i, u, d) AS (SELECT relid, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_user_tables
                    WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
                    UNION ALL SELECT h.inhparent, i, u, d FROM up JOIN pg_inherits h ON h.inhrelid = up.top)
                SELECT \(PostgresConnection.displayName) AS name, sum(i) AS inserted, sum(u) AS changed, sum(d) AS deleted
                FROM up JOIN pg_class c ON c.oid = up.top JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE NOT EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhrelid = up.top) GROUP BY 1
                """))
        return try Dictionary(
            uniqueKeysWithValues: found.map { row in
                let (inserted, changed) = try (row.int("inserted"), row.int("changed"))
                let rows = TriggeredRows(
                    insertedCount: inserted, changedCount: changed, deletedCount: try row.int("deleted"))
                return (try row.text("name"), rows)
            })
    }
}

extension TriggeredRows {
    fileprivate mutating func subtract(_ other: TriggeredRows) {
        insertedCount -= other.insertedCount
        changedCount -= other.changedCount
        deletedCount -= other.deletedCount
    }
}
