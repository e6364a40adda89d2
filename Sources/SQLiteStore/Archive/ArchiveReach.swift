import GRDB
public import PriceStore

/// The tables whose rows or references a delete can change.
struct ArchiveReach {
    /// Tables that can lose rows.
    var rows: [String]
    /// Tables whose references can be cleared, with the columns that hold them.
    var references: [String: [String]]

    init(of request: BatchDeleteRequest, _ connection: SQLiteConnection, _ db: Database) throws {
        guard let table = try connection.catalog.table(request.fetchRequest.entity, db) else {
            (rows, references) = ([], [:])
            return
        }
        let reach = try Reach(of: request.fetchRequest.entity, request.relationships, connection, db)
        references = reach.nullifying
        rows =
            try reach.setsOffTriggers(of: table, connection, db)
            ? connection.ordinaryTables(db) : reach.cascading.union([table.tableName]).sorted()
    }
}

extension SQLiteStore {
    /// Why rows of a request cannot be archived: what is deleted with them cannot be seen, or could not be restored.
    public func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        try run("looking at what a delete changes") { db in
            guard let table = try catalog.table(request.entity, db) else { return nil }
            guard table.managed == nil else {
                return "the rows are objects of a Core Data store, whose restoration is not possible yet"
            }
            let reach = try Reach(of: request.entity, request.relationships, self, db)
            for name in reach.cascading.union([table.tableName]).sorted() where try StoredShape(of: name, db) == nil {
                return "rows of \(name) cannot be identified"
            }
            guard try reach.setsOffTriggers(of: table, self, db) else { return nil }
            // A row that REPLACE deletes sets no trigger off, and rows of virtual tables have none.
            let virtual = try String.fetchAll(
                db, sql: "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0")
            for entry in try Row.fetchAll(
                db, sql: "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' OR sql LIKE '%ON CONFLICT REPLACE%'")
            {
                let (name, definition): (String, String) = (entry[0], entry[1])
                let words = definition.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                let pairs = zip(words, words.dropFirst())
                if pairs.contains(where: { ($0, $1) == ("OR", "REPLACE") || ($0, $1) == ("REPLACE", "INTO") })
                    || pairs.contains(where: { ($0, $1) == ("CONFLICT", "REPLACE") })
                {
                    return "\(name) uses REPLACE, which deletes rows that cannot be seen"
                }
                for table in virtual where pairs.contains(where: { $0 == "FROM" && $1 == table.uppercased() })
                    && words.contains("DELETE")
                {
                    return "the trigger \(name) deletes rows of the virtual table \(table), which cannot be seen"
                }
            }
            return nil
        }
    }
}
