import GRDB
import GRDBSQLite
package import PriceStore

extension SQLiteFile {
    /// The bytes of the pages of a table and its indexes; nil: it has no pages, or SQLite does not know. Entities of a
    /// Core Data model that share a table have the size of the whole table.
    ///
    /// Source: sqlite.org/dbstat.html. A virtual table that a build of SQLite may lack.
    package func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try run("reading the size of \(entity)") { db in
            guard let table = try catalog.table(entity, db), table.entity.kind == .table else { return nil }
            let query = """
                SELECT sum(pgsize) FROM dbstat WHERE schema = 'main' AND aggregate = TRUE AND name IN (
                    SELECT name FROM main.sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'index'))
                """
            do {
                return try Int64.fetchOne(db, sql: query, arguments: [table.tableName])
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                return nil
            }
        }
    }
}
