import PriceStore

/// The rows without a key that an undo has restored earlier and that the store still has. Only this record tells them from equal rows.
final class RestoredRows {
    private let archive: ServerArchive
    private let connection: PostgresDatabase
    private var found: [Int: Set<Int64>] = [:]

    init(_ archive: ServerArchive, _ connection: PostgresDatabase) {
        self.archive = archive
        self.connection = connection
    }

    /// The numbers of the rows of a table, as of the first call.
    func rows(of table: RestorationTable) throws -> Set<Int64> {
        if let found = found[table.number] { return found }
        let done =
            "FROM \(archive.place.table("retention_restored")) AS done WHERE done.run = "
            + SQLFragment.bound(archive.run, "text")
            + " AND done.table_number = \(table.number)"
        let isRestored =
            "EXISTS (SELECT 1 " + done + " AND a.\(table.rowNumber) BETWEEN done.first_row AND done.last_row)"
        let rows = try connection.exists("SELECT 1 " + done) ? connection.numbers(table.stored(isRestored)) : []
        let numbers = Set(rows.map { Int64($0) })
        found[table.number] = numbers
        return numbers
    }
}
