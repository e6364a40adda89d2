import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteConnection {
    /// The bytes of the pages that hold a table and its indexes; nil: it has none of its own, or SQLite cannot tell.
    /// Entities of a Core Data model that share a table have the size of the whole table.
    ///
    /// Source: sqlite.org/dbstat.html. A virtual table that a build of SQLite may lack.
    func sizeBytes(ofEntity entity: String, _ db: Database) throws -> Int64? {
        guard let table = try catalog.table(entity, db), table.entity.kind == .table else { return nil }
        do {
            return try Int64.fetchOne(
                db,
                sql: """
                    SELECT sum(pgsize) FROM dbstat WHERE schema = 'main' AND aggregate = TRUE AND name IN (
                        SELECT name FROM main.sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'index'))
                    """,
                arguments: [table.tableName])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            return nil
        }
    }
}
