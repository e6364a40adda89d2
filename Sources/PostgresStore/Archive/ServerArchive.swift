import PriceStore

/// The archive of a run, and the tables of the store to which its rows return.
struct ServerArchive {
    let place: ArchivePlace
    let run: String
    let rules: [String]
    /// The tables of the archive that the parts name.
    let tables: [RestorationTable]
    /// The tables with references of the same rows that other rules cleared: a row may have the values that another undo restored.
    private let otherReferences: [RestorationTable]
    /// The parts of these rules, in the order of the run.
    let parts: [[ArchivedRows]]
    let mayBeUndoneInPart: Bool

    /// Finds an archive, and checks that retention made it and that the store can take its rows.
    ///
    /// An archive that is not complete is accepted: each transaction of its run copied exactly the rows that it deleted.
    init(_ request: RestorationRequest, _ connection: PostgresDatabase) throws {
        let place = ArchivePlace(session: connection, schema: request.archive)
        self.place = place
        run = request.run
        mayBeUndoneInPart = request.mayBeUndoneInPart
        let reading = ArchiveReading(place: place, run: run)
        let isThisRun = " WHERE run = " + SQLFragment.bound(run, "text")
        guard try place.check(),
            let entry = try connection.row(
                "SELECT format, CASE WHEN complete THEN row_count END AS row_count FROM "
                    + "\(place.table("retention_archives"))" + isThisRun)
        else {
            throw StoreError(
                .missing, store: connection.name, message: "the schema \(place.schema) has no archive of run \(run)",
                hint: "nothing was changed; archive.keep in the policy says how long archives are kept")
        }
        let format = try entry.int("format")
        guard format == ArchivePlace.format else {
            throw StoreError(
                .unsupported, store: connection.name,
                message:
                    "the archive of run \(run) has the format \(format), and this version reads \(ArchivePlace.format)",
                hint: "nothing was changed; use the version of retention that made it, or a newer one")
        }
        let names = try connection.texts(
            "SELECT r.rule ->> 'name' FROM \(place.table("retention_archives")), "
                + "jsonb_array_elements(rules) WITH ORDINALITY AS r (rule, place)" + isThisRun + " ORDER BY r.place")
        let all = try connection.rows(
            "SELECT part, rule, table_number, first_row, last_row FROM \(place.table("retention_parts"))" + isThisRun
                + " ORDER BY part, table_number"
        ).map { row in
            let (first, last) = try (Int64(row.int("first_row")), Int64(row.int("last_row")))
            return try RequestedParts.Part(
                number: Int64(row.int("part")), rule: row.int("rule"), table: row.int("table_number"),
                rows: first...max(first, last))
        }
        let requested = RequestedParts(
            request, names: Dictionary(uniqueKeysWithValues: names.enumerated().map { ($0, $1) }), all)
        if let rule = requested.missingRule {
            throw StoreError(
                .unsupported, store: connection.name, message: "run \(run) has archived no rows of a rule '\(rule)'",
                hint: "the rules are \(names.joined(separator: ", "))")
        }
        rules = requested.rules
        let list = try connection.rows(
            "SELECT number, kind, store_schema, store_table, archive_table, key, columns FROM "
                + "\(place.table("retention_tables"))" + isThisRun + " ORDER BY number")
        func isUsed(_ row: ServerRow) throws -> Bool { try requested.tables.contains(row.int("number")) }
        func store(_ row: ServerRow) throws -> [String] { try [row.text("store_schema"), row.text("store_table")] }
        let tables = try list.filter(isUsed).map(reading.table)
        let rows = Set(try list.filter { try isUsed($0) && $0.text("kind") == ArchivedKind.rows.rawValue }.map(store))
        otherReferences = try list.filter {
            try !isUsed($0) && $0.text("kind") == ArchivedKind.references.rawValue && rows.contains(store($0))
        }.map(reading.table)
        guard let parts = requested.transactions(tables.map { ($0.number, $0) }) else {
            throw reading.damaged("a part of it belongs to a table that is not in its list")
        }
        self.parts = parts
        self.tables = tables
        if request.triggers == .skip { try requireNoTriggers(connection) }
        try reading.check(list, all, rowCount: entry.optionalInt("row_count"))
        try reading.checkRows(of: tables, parts)
    }

    /// Throws if the restoration would fire triggers. Only the owner could switch them off, and no other session might write meanwhile.
    private func requireNoTriggers(_ connection: PostgresDatabase) throws {
        let switches = Set(
            tables.flatMap { table in
                table.triggers.map { "ALTER TABLE \(table.target.sql) DISABLE TRIGGER \($0.quotedIdentifier)" }
            })
        guard !switches.isEmpty else { return }
        throw StoreError(
            .unsupported, store: connection.name,
            message: "an undo on a server leaves no triggers out (--triggers skip)",
            hint:
                "nothing was changed; switch them off (\(switches.sorted().joined(separator: "; "))), run the undo, and "
                + "switch them on again (ENABLE TRIGGER); or restore the rows and fire them (--triggers fire)")
    }

    /// The tables with the old values of references, for a table with rows.
    func references(of table: RestorationTable) -> [RestorationTable] {
        (tables + otherReferences).filter { $0.kind == .references && $0.target.oid == table.target.oid }
    }
}

/// The tables of an archive, as `retention_tables` lists them.
private struct ArchiveReading {
    let place: ArchivePlace
    let run: String

    private var session: PostgresDatabase { place.session }

    /// Throws unless the archive has all rows that its parts name.
    func checkRows(of tables: [RestorationTable], _ parts: [[ArchivedRows]]) throws {
        for (number, table) in tables.enumerated() {
            for rows in parts.joinedRows(of: number) {
                let count = try session.count("SELECT count(*) FROM \(table.source) AS a WHERE " + table.isIn(rows))
                guard count == rows.count else { throw damaged("rows of \(table.source) are missing") }
            }
        }
    }

    func damaged(_ reason: String) -> StoreError {
        StoreError(
            .inputOutput, store: session.name, message: "the archive of run \(run) is damaged: \(reason)",
            hint: "nothing was changed; restore the schema from a backup")
    }

    /// Throws unless the listed tables have all rows that the parts name, and as many as the run counted.
    ///
    /// - Parameter copied: what the run counted; nil if it did not end.
    func check(_ tables: [ServerRow], _ parts: [RequestedParts.Part], rowCount copied: Int?) throws {
        var rowCount = 0
        for row in tables {
            let (name, number) = try (place.table(row.text("archive_table")), row.int("number"))
            let named = parts.filter { $0.table == number }.reduce(0) { $0 + $1.rows.count }
            guard try place.isOurs(name, ArchivePlace.mark(of: run)) == true,
                try session.count("SELECT count(*) FROM \(name)") == named
            else { throw damaged("the table \(name) does not have the rows that the run copied") }
            if try row.text("kind") == ArchivedKind.rows.rawValue { rowCount += named }
        }
        if let copied, copied != rowCount {
            throw damaged("it has \(rowCount.counted("row")), and the run copied \(copied)")
        }
    }

    /// The table that a row of `retention_tables` describes.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` if the store's table lacks what the archived rows need.
    func table(_ row: ServerRow) throws -> RestorationTable {
        func refused(_ message: String) -> StoreError {
            StoreError(
                .unsupported, store: session.name, message: message,
                hint: "nothing was changed; restore the earlier definition of the table, and run undo again")
        }
        let source = place.table(try row.text("archive_table"))
        guard let kind = ArchivedKind(rawValue: try row.text("kind")),
            try place.isOurs(source, ArchivePlace.mark(of: run)) == true
        else { throw damaged("it has no table \(source)") }
        let (schema, relation) = try (row.text("store_schema"), row.text("store_table"))
        let fullName = "\(schema).\(relation)"
        guard let target = try session.table(fullName), target.schema == schema, target.relation == relation,
            target.entity.kind == .table
        else { throw refused("the store has no table \(fullName) any more") }
        let (keyNames, restored) = try (row.names("key"), row.names("columns"))
        let found = try session.rows(
            "SELECT attname, format_type(atttypid, atttypmod) AS type, attidentity <> '' AS is_number FROM pg_attribute WHERE attnum > 0 "
                + "AND NOT attisdropped AND attrelid = to_regclass(" + .bound(source, "text") + ") ORDER BY attnum")
        let types = try Dictionary(uniqueKeysWithValues: found.map { try ($0.text("attname"), $0.text("type")) })
        let archived = ArchiveTable.names(kind, key: keyNames, columns: restored)
        guard let rowNumber = try found.first(where: { try $0.isTrue("is_number") })?.text("attname"),
            archived.allSatisfy({ types[$0] != nil })
        else {
            throw damaged("columns of \(source) are missing")
        }
        // A column that was generated then may have to be written now.
        let names = kind != .rows ? restored : try found.map { try $0.text("attname") }.filter { $0 != rowNumber }
        if let change = Self.changedColumn(of: target, restored, kind == .rows ? names : nil) { throw refused(change) }
        let isIdentified =
            kind == .candles
            ? keyNames.allSatisfy { target.entity.attribute(named: $0) != nil }
            : target.isKey(keyNames)
        guard isIdentified else {
            throw refused("the rows of \(target.name) are identified by other columns than when they were deleted")
        }
        try requirePrivileges(kind, target)
        if kind == .candles, let reason = try session.obstacle(toUndoneCandlesOf: target) {
            throw StoreError.candlesCannotBeRestored(target.name, reason, .unsupported, store: session.name)
        }
        // PostgreSQL gives pg_rewrite.ev_type as 2 for UPDATE and 3 for INSERT.
        let rule = try session.texts(
            "SELECT rulename FROM pg_rewrite WHERE ev_enabled <> 'D' AND ev_type = '\(kind == .rows ? 3 : 2)' "
                + "AND ev_class = \(target.oid) ORDER BY 1"
        ).first
        if let rule {
            throw refused("the rule \(rule) of \(target.name) changes what an undo writes")
        }
        let pairs =
            kind == .rows
            ? names.map { ($0, $0) }
            : zip(keyNames + names, archived).map { ($0, $1) }
        for (column, name) in pairs {
            guard let type = target.entity.attribute(named: column)?.declaredType, let former = types[name],
                former != type
            else { continue }
            throw refused("\(column) of \(target.name) is \(type) now, and was \(former)")
        }
        return RestorationTable(
            kind: kind, number: try row.int("number"), target: target, source: source,
            rowNumber: rowNumber.quotedIdentifier,
            key: keyNames, columns: names.filter { target.entity.attribute(named: $0) != nil },
            relationships: try relationshipsOfWholes(target),
            triggers: try session.triggersFired(by: kind, of: target, changing: names))
    }

    /// Why archived values do not fit the columns of a table, as a clause; nil: they do.
    private static func changedColumn(
        of table: PostgresTable, _ columns: [String], _ inserted: [String]?
    ) -> String? {
        for column in columns {
            guard let attribute = table.entity.attribute(named: column) else {
                return "the table \(table.name) has no column \(column) any more, and the archive has values for it"
            }
            if attribute.isGenerated {
                return "\(column) of \(table.name) is computed by the store now, and the archive has values for it"
            }
        }
        guard let inserted else { return nil }
        let new = table.entity.attributes.first {
            $0.isRequired && !$0.hasDefault && !$0.isGenerated && !inserted.contains($0.name)
        }
        return new.map { "the table \(table.name) has a new column \($0.name), which needs a value and has no default" }
    }

    /// Throws if this user may not restore rows, references or candles of a table.
    private func requirePrivileges(_ kind: ArchivedKind, _ target: PostgresTable) throws {
        let privileges =
            switch kind {
            case .rows: ["INSERT"]
            case .references: ["UPDATE"]
            case .candles: ["SELECT", "UPDATE", "DELETE"]
            }
        for privilege in privileges
        where try !session.exists("SELECT 1 WHERE has_table_privilege(\(target.oid)::oid, '\(privilege)')") {
            throw StoreError(
                .permission, store: session.name, message: "this user may not restore rows of \(target.name)",
                engineCode: "SQLSTATE 42501", hint: "GRANT \(privilege) ON \(target.sql) TO the user of the job")
        }
    }

    /// The relationships of a table. Those that refer to a part of a table also refer to the whole table, with which its rows were deleted.
    private func relationshipsOfWholes(_ table: PostgresTable) throws -> [Relationship] {
        try table.entity.relationships.flatMap { key in
            guard let part = try session.table(key.destination), part.isPartition else { return [key] }
            let wholes = try session.texts(
                "SELECT \(PostgresDatabase.displayName) FROM pg_partition_ancestors(\(part.oid)) AS a "
                    + "JOIN pg_class c ON c.oid = a.relid JOIN pg_namespace n ON n.oid = c.relnamespace")
            return wholes.map { key.with(destination: $0) }
        }
    }
}

extension PostgresDatabase {
    /// The names of the triggers of a table and its parts that a restoration fires, without those of foreign keys and of TimescaleDB.
    /// Source of the bits: PostgreSQL manual, "System Catalogs", `pg_trigger.tgtype`: 4 INSERT, 8 DELETE, 16 UPDATE.
    func triggersFired(
        by kind: ArchivedKind, of table: PostgresTable, changing columns: [String]
    ) throws -> [String] {
        let events =
            switch kind {
            case .rows: 4
            case .references: 16
            case .candles: 24
            }
        return try texts(
            """
            \(Self.tree("\(table.oid)::oid"))
            SELECT DISTINCT t.tgname FROM pg_trigger t JOIN tree ON tree.oid = t.tgrelid
            WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & \(events) <> 0
            AND (t.tgtype & \(events) <> 16 OR t.tgattr = '' OR EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = t.tgrelid
                AND a.attnum = ANY (t.tgattr::int2[]) AND (a.attgenerated <> '' OR a.attname = ANY (
            """
                + .list(columns, "text")
                + ")))) AND \(TimescaleSQL.isNotItsOwn("t.tgfoid")) ORDER BY 1")
    }
}
