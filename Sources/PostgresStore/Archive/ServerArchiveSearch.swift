import PriceStore

/// What the store has for the rows of an archive, and which of them refer to each other.
class ServerArchiveSearch: ArchiveSearch {
    let archive: ServerArchive
    let connection: PostgresDatabase
    private var restored: [Int: Set<Int64>] = [:]

    var tables: [RestorationTable] { archive.tables }

    init(_ archive: ServerArchive, _ connection: PostgresDatabase) {
        (self.archive, self.connection) = (archive, connection)
    }

    /// The rows of a table without a key that an undo has restored earlier and that the store still has, as of the first call. Only a
    /// record of them tells them from equal rows.
    func restored(to table: RestorationTable) throws -> Set<Int64> {
        if let known = restored[table.number] { return known }
        let done =
            "FROM \(archive.place.table("retention_restored")) AS done WHERE done.run = "
            + SQLFragment.bound(archive.run, "text") + " AND done.table_number = \(table.number)"
        let isRestored =
            "EXISTS (SELECT 1 " + done + " AND a.\(table.rowNumber) BETWEEN done.first_row AND done.last_row)"
        let rows = try connection.exists("SELECT 1 " + done) ? connection.numbers(table.stored(isRestored)) : []
        let found = Set(rows.map { Int64($0) })
        restored[table.number] = found
        return found
    }

    /// Whether the store has all rows of a transaction.
    func hasRows(_ part: [ArchivedRows]) throws -> Bool {
        try part.allSatisfy { portion in
            let table = tables[portion.table]
            guard table.holdsRows else { return true }
            return table.key.isEmpty
                ? try portion.rows.allSatisfy(restored(to: table).contains)
                : try !connection.exists(table.missing(portion.rows, archive.references(of: table)))
        }
    }

    /// Finds the rows that the store has, equal in every value, and the rows whose key another row uses.
    func find(_ rows: ArchivedRows) throws -> (present: Set<Int64>, conflicts: Set<Int64>) {
        let table = archive.tables[rows.table]
        guard !table.key.isEmpty else { return (try restored(to: table).filter(rows.rows.contains), []) }
        let found = try connection.rows(
            "SELECT a.\(table.rowNumber) AS number, \(table.isEqual(archive.references(of: table))) AS is_equal FROM \(table.source) AS a "
                + "\(table.join("a")) WHERE " + table.isIn(rows.rows))
        func numbers(_ isEqual: Bool) throws -> Set<Int64> {
            Set(try found.filter { try $0.isTrue("is_equal") == isEqual }.map { Int64(try $0.int("number")) })
        }
        return (try numbers(true), try numbers(false))
    }

    func children(
        _ rows: RowsToRestore, by relationship: Relationship, of parent: Int, _ parents: Set<Int64>
    ) throws -> [Int64] {
        let table = archive.tables[rows.table]
        let references = relationship.sourceAttributes.map { "a.\($0.quotedIdentifier)" }
        return try connection.numbers(
            "SELECT a.\(table.rowNumber) FROM \(table.source) AS a WHERE "
                + .all([
                    table.isIn(rows.rows, besides: rows.leftOut.sorted()),
                    isAmong(references, relationship, parent, parents),
                ])
        ).map { Int64($0) }
    }

    /// The condition that values refer to a skipped row.
    func isAmong(
        _ values: [String], _ relationship: Relationship, _ parent: Int, _ rows: Set<Int64>
    ) -> SQLFragment {
        let table = archive.tables[parent]
        let same = zip(values, relationship.destinationAttributes).map { "\($0) = p.\($1.quotedIdentifier)" }
        return
            "EXISTS (SELECT 1 FROM \(table.source) AS p WHERE \(same.joined(separator: " AND ")) AND p.\(table.rowNumber) = ANY ("
            + .list(rows, "int8") + "))"
    }
}
