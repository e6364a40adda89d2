import PriceStore

/// What one transaction copies to an archive.
final class ArchivePart {
    private let archiver: RowArchiver
    private let rule: Int
    let number: Int
    private let reach: ReachOfDelete
    private let connection: PostgresDatabase
    /// The numbers of the copied rows, by the number of the archive's table.
    private(set) var portions: [Int: ClosedRange<Int64>] = [:]

    init(archiver: RowArchiver, rule: Int, number: Int, reach: ReachOfDelete, connection: PostgresDatabase) {
        self.archiver = archiver
        self.rule = rule
        self.number = number
        self.reach = reach
        self.connection = connection
    }

    private var takesOthers: Bool { !reach.cascading.isEmpty || !reach.nullifying.isEmpty }

    var rowCount: Int {
        archiver.tables.filter { $0.kind == .rows }.reduce(0) { $0 + (portions[$1.number]?.count ?? 0) }
    }

    /// Deletes rows of the rule's table. It copies them, and all that is deleted or changed with them, to the archive.
    func delete(
        _ condition: SQLFragment, of scope: RowScope, from source: String, isRepeated: Bool
    ) throws -> Int {
        if takesOthers { try copyOthers(condition, of: scope, from: source) }
        let table = try archiver.table(.rows, of: scope.table)
        let names = table.columns.map(\.quotedIdentifier).joined(separator: ", ")
        let number = table.rowNumber
        let values = table.columns.map(scope.column).joined(separator: ", ")
        let statement =
            "WITH gone AS (DELETE FROM \(source) AS \(RowScope.alias)" + condition.whereClause
            + " RETURNING \(values)), kept AS (INSERT INTO \(table.sql) (\(names)) "
            + "SELECT \(names) FROM gone RETURNING \(number)) \(Self.span(number)) FROM kept"
        return try add(connection.onlyRow(statement, isRepeated: isRepeated), to: table)
    }

    /// Deletes rows of the rule's table and copies them to the archive. Returns the end of a query for the copies.
    func delete(_ condition: SQLFragment, of scope: RowScope, isRepeated: Bool) throws -> SQLFragment {
        let table = try archiver.table(.rows, of: scope.table)
        let count = try delete(condition, of: scope, from: scope.source, isRepeated: isRepeated)
        // The copies of a part have consecutive numbers, and these are the last ones.
        let last = portions[table.number]?.upperBound ?? 0
        return " FROM \(table.sql) AS \(RowScope.alias) WHERE \(RowScope.alias).\(table.rowNumber) BETWEEN "
            + .bound("\(last - Int64(count) + 1)", "int8") + " AND " + .bound("\(last)", "int8")
    }

    /// Runs a statement that writes candles, and archives their old and new values.
    ///
    /// - Parameters:
    ///   - statement: an INSERT that returns the keys and fields of the candles, or an UPDATE that returns their places first.
    ///   - before: for an UPDATE, a query for the places, keys and fields of the same candles.
    /// - Returns: the number of candles.
    func write(_ statement: SQLFragment, before: SQLFragment? = nil, of candles: CandleTable) throws -> Int {
        let table = try archiver.table(.candles, of: candles.table, key: candles.key, candles.fields)
        func list(_ parts: (prefix: String, columns: [String])...) -> String {
            parts.flatMap { part in part.columns.indices.map { "\(part.prefix)_\($0 + 1)" } }.joined(separator: ", ")
        }
        let (key, new) = (("key", table.key), ("new", table.columns))
        let returned = list(key, new)
        let place = before == nil ? "" : "place, "
        var copy = "WITH written (\(place)\(returned)) AS (" + statement + "), "
        var (values, source) = (returned, "written")
        if let before {
            let old = list(("old", table.columns))
            copy += "former (place, \(old)) AS (" + before + "), "
            (values, source) = ("\(returned), \(old)", "written JOIN former USING (place)")
        }
        copy +=
            "kept (n) AS (INSERT INTO \(table.sql) (\(values)) SELECT \(values) FROM \(source) RETURNING \(table.rowNumber)) "
            + "\(Self.span("n")) FROM kept"
        return try add(connection.onlyRow(copy), to: table)
    }

    /// The number of rows, and their first and last number.
    private static func span(_ number: String) -> String {
        "SELECT count(*) AS retention_rows, min(\(number)) AS retention_first, max(\(number)) AS retention_last"
    }

    /// Adds rows that a statement has copied; ``span(_:)`` describes them.
    private func add(_ row: ServerRow, to table: ArchiveTable) throws -> Int {
        let count = try row.int("retention_rows")
        guard count > 0 else { return 0 }
        let (first, last) = (Int64(try row.int("retention_first")), Int64(try row.int("retention_last")))
        let before = portions[table.number] ?? first...last
        guard last - first + 1 == count, portions[table.number] == nil || before.upperBound == first - 1 else {
            throw StoreError(
                .constraint, store: connection.name,
                message: "another session writes to the archive: nothing of this batch is deleted")
        }
        portions[table.number] = before.lowerBound...last
        return count
    }

    // MARK: Rows of others

    /// Copies the rows that are deleted together with the rows of a condition, and the references that are cleared.
    ///
    /// The transaction sees one state of the database. The server refuses to delete or change a row that is not in that state, and the
    /// batch is repeated. So the copied rows are the deleted rows.
    ///
    /// - Parameter includingOwn: whether the rows of the condition are copied too.
    func copyOthers(
        _ condition: SQLFragment, of scope: RowScope, from source: String, includingOwn: Bool = false
    ) throws {
        var removed = RemovedRows(connection)
        try removed.add(condition, from: "\(source) AS \(RowScope.alias)", reach, isBatch: !includingOwn)
        var copies: [(table: ArchiveTable, query: String)] = []
        for table in reach.losing where includingOwn || table.oid != scope.table.oid {
            let archive = try archiver.table(.rows, of: table)
            let rows = "SELECT t, c FROM gone_0" + (includingOwn ? "" : " EXCEPT SELECT t, c FROM named_0")
            let names = archive.columns.map(\.quotedIdentifier)
            copies.append((archive, copy(rows, of: table, names, to: archive, names)))
        }
        for cleared in try reach.cleared() {
            let archive = try archiver.table(.references, of: cleared.table, cleared.columns)
            let rows = try cleared.keys.map { key in
                let parents = RemovedRows.rows(of: RowScope(try connection.requireTable(key.destination)), as: "parent")
                return
                    "SELECT child.tableoid AS t, child.ctid AS c FROM gone_0 AS found CROSS JOIN LATERAL \(parents) "
                    + "JOIN \(cleared.table.sql) AS child ON \(RemovedRows.refers(key))"
            }
            let names = ArchiveTable.names(.references, key: archive.key, columns: archive.columns)
                .prefix(archive.key.count + archive.columns.count)
            copies.append(
                (
                    archive,
                    copy(
                        "(\(rows.joined(separator: " UNION "))) EXCEPT SELECT t, c FROM gone_0", of: cleared.table,
                        (archive.key + archive.columns).map(\.quotedIdentifier), to: archive, Array(names))
                ))
        }
        var statement = removed.tables
        for (index, copy) in copies.enumerated() { statement += ", kept_\(index) (n) AS (\(copy.query))" }
        let ordered = copies.indices.map {
            "SELECT \($0) AS place, k.* FROM (\(Self.span("n")) FROM kept_\($0)) AS k"
        }
        let result = try connection.rows(
            statement + " SELECT * FROM (\(ordered.joined(separator: " UNION ALL "))) AS counts ORDER BY place")
        for (copy, row) in zip(copies, result) { _ = try add(row, to: copy.table) }
    }

    private func copy(
        _ places: String, of table: PostgresTable, _ columns: [String], to archive: ArchiveTable, _ names: [String]
    ) -> String {
        "INSERT INTO \(archive.sql) (\(names.joined(separator: ", "))) SELECT "
            + columns.map { "child.\($0)" }.joined(separator: ", ") + " FROM (\(places)) AS found CROSS JOIN LATERAL "
            + RemovedRows.rows(of: RowScope(table), as: "child") + " RETURNING \(archive.rowNumber)"
    }

    // MARK: After the delete

    /// Records what was copied, after the rows are deleted and the references cleared.
    func finish() throws {
        for table in archiver.tables where table.kind == .references {
            guard let rows = portions[table.number] else { continue }
            let values = table.columns.enumerated().map { "new_\($0 + 1) = child.\($1.quotedIdentifier)" }
            let keys = table.key.enumerated().map { "child.\($1.quotedIdentifier) = archived.key_\($0 + 1)" }
            let changed = try connection.execute(
                "UPDATE \(table.sql) AS archived SET \(values.joined(separator: ", ")) FROM \(table.table.sql) AS child "
                    + "WHERE \(keys.joined(separator: " AND ")) AND archived.\(table.rowNumber) BETWEEN \(rows.lowerBound) AND \(rows.upperBound)"
            ).changedCount
            guard changed == rows.count else { throw mismatch }
        }
        for (number, rows) in portions.sorted(by: { $0.key < $1.key }) {
            try connection.execute(
                "INSERT INTO \(archiver.place.table("retention_parts")) VALUES (" + .bound(archiver.run, "text")
                    + ", \(self.number), \(rule), \(number), \(rows.lowerBound), \(rows.upperBound))")
        }
    }

    /// The number of deleted rows of each table that cascades reach, as the server counts them for this transaction.
    func changes() throws -> [Int] {
        try connection.numbers(ofEach: reach.losing.dropFirst().map { connection.changeCount("deleted", [$0]) })
    }

    /// Throws unless the rows that the server counts are the copied rows. The caller then undoes the batch.
    func check(_ changes: [Int], ownCount: Int) throws {
        let copied = try reach.losing.dropFirst().map { portions[try archiver.table(.rows, of: $0).number]?.count ?? 0 }
        guard changes == copied, rowCount == copied.reduce(ownCount, +) else { throw mismatch }
    }

    /// Throws unless the result has as many deleted rows as were copied.
    func checkAll(_ result: BatchDeleteResult) throws {
        guard result.deletedCount + result.cascadedCount == rowCount else { throw mismatch }
    }

    private var mismatch: StoreError {
        StoreError(
            .constraint, store: connection.name,
            message:
                "what relationships of the store delete or change is not what was archived: nothing of this batch is deleted",
            hint: "write archive: none in the rule to delete its rows without a copy")
    }
}
