import GRDB
import GRDBSQLite
package import PriceStore

extension SQLiteFile {
    /// Throws if pages of an entity's table or indexes are damaged, or if an index does not match the table.
    ///
    /// `quick_check` is cheaper but does not compare an index with its table, and rows are deleted by the dates in an index.
    package func verify(entity: String) throws(StoreError) {
        try run("looking for damage in \(entity)") { db in
            guard let table = try catalog.table(entity, db), table.entity.kind == .table else { return }
            // Each page is read twice: for its structure and for its rows.
            let pageCount = try pragma("page_count", db) - pragma("freelist_count", db)
            let connection = db.sqliteConnection
            let found: [String]
            do {
                found = try showing(
                    "checking the store", on: db,
                    share: {
                        var (read, highest): (Int32, Int32) = (0, 0)
                        sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_MISS, &read, &highest, 0)
                        return (Int64(read), 2 * Int64(pageCount))
                    }
                ) { _ in
                    try String.fetchAll(db, sql: "PRAGMA main.integrity_check(\(table.tableName.quotedIdentifier))")
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                // The schema uses a collation or function of another program, so its contents cannot be compared.
                return
            }
            guard let damage = found.first(where: { $0 != "ok" && !Self.isMatterOfContents($0) }) else { return }
            throw failure(
                .inputOutput, "\(entity) is damaged: \(damage)", engineCode: "SQLITE_CORRUPT",
                hint:
                    "nothing is deleted from a damaged store; if only an index is damaged, REINDEX repairs it; otherwise "
                    + "restore the store from a backup")
        }
    }

    /// Whether a finding is a row that breaks a constraint, which is not damage to the file.
    private static func isMatterOfContents(_ finding: String) -> Bool {
        finding.hasPrefix("NULL value in ") || finding.hasPrefix("CHECK constraint failed in ")
            || finding.contains(" value in ")
    }
}
