import GRDB
import GRDBSQLite
package import PriceStore

extension SQLiteFile {
    /// The size in bytes of the pages of a table and its indexes, or nil if it has no pages or SQLite cannot tell. Entities of a Core Data
    /// model that share a table each have the size of the whole table.
    ///
    /// Source: sqlite.org/dbstat.html. A build of SQLite may lack this virtual table.
    package func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try run("reading the size of \(entity)") { db in
            guard let table = try catalog.table(entity, db), table.entity.kind == .table else { return nil }
            let query = """
                SELECT sum(pgsize) FROM dbstat WHERE schema = 'main' AND aggregate = TRUE AND name IN (
                    SELECT name FROM main.sqlite_schema WHERE tbl_name COLLATE NOCASE IN (?, ?, ?) AND type IN ('table', 'index'))
                """
            let tables: [String?] =
                table.managed?.isHistory == true ? CoreDataHistory.tables : [table.tableName, nil, nil]
            do {
                return try Int64.fetchOne(db, sql: query, arguments: StatementArguments(tables))
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                return nil
            }
        }
    }

    /// The changes of a Core Data store's history; nil for any other entity.
    package func layout(ofEntity entity: String) throws(StoreError) -> String? {
        try run("counting the changes of \(entity)") { db in
            let managed = try catalog.table(entity, db)?.managed
            guard managed?.isHistory == true, managed?.unsupported == nil else { return nil }
            let count = try count("SELECT count(*) FROM main.ACHANGE", db)
            return "transactions with \(count.counted("change")), kept for programs that follow the store"
        }
    }
}
