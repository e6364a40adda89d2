import PriceStore

/// The rows of tables without a key that an undo has restored before, and that the store still has: nothing else
/// distinguishes them from equal ones.
final class RestoredRows {
    private let archive: ServerArchive
    private let connection: PostgresConnection
    private var found: [Int: Set<Int64>] = [:]

    init(_ archive: ServerArchive, _ connection: PostgresConnection) {
        self.archive = archive
        self.connection = connection
    }

    /// The numbers of the rows of a table, as they were when it was first asked for.
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
