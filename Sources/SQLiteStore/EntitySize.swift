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

    /// The size in bytes of a table and its indexes if no page had a gap, as after a VACUUM; nil if SQLite cannot tell, or for an entity
    /// of a Core Data model, which may share its table.
    ///
    /// A page of rows holds as many as fit if they have one size, and otherwise loses half a row. What a row has on further pages is counted
    /// as it is. Fixed are the root and the last page of each tree.
    package func compactBytes(ofEntity entity: String) throws(StoreError) -> (fixed: Int, rows: Int)? {
        try run("reading the size of \(entity)") { db in
            guard let table = try catalog.table(entity, db), table.entity.kind == .table, table.entity.model == nil
            else {
                return nil
            }
            let query = """
                SELECT pagetype = 'leaf', count(*), sum(pgsize), sum(unused), sum(ncell), max(mx_payload) FROM dbstat
                WHERE schema = 'main' AND name IN (
                    SELECT name FROM main.sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'index'))
                GROUP BY name, pagetype
                """
            do {
                return try Row.fetchAll(db, sql: query, arguments: [table.tableName]).reduce(into: (0, 0)) {
                    sum, pages in
                    let (count, size, unused, cells): (Int, Int, Int, Int) = (pages[1], pages[2], pages[3], pages[4])
                    guard pages[0], cells > 0 else {
                        sum.1 += size
                        return
                    }
                    // A page has a header of 8 bytes.
                    let (page, room) = (size / count, size / count - 8)
                    let cell = Double(size - unused - 8 * count) / Double(cells)
                    let isUniform = Double(pages[5] as Int) < 1.1 * cell
                    let cellsOfPage =
                        isUniform ? max(1, (Double(room) / cell).rounded(.down)) : max(1, Double(room) / cell - 0.5)
                    sum.0 += 2 * page
                    sum.1 += max(0, min(size, Int(Double(cells) / cellsOfPage) * page) - 2 * page)
                }
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
            let count = try count(SQLFragment("SELECT count(*) FROM main.ACHANGE"), db)
            return "transactions with \(count.counted("change")), kept for programs that follow the store"
        }
    }
}
