import GRDB
public import PriceStore

/// The tables whose rows or references a delete can change.
struct ArchiveReach {
    /// Tables that can lose rows.
    var rows: [String]
    /// Those among them whose rows are not objects but pairs of related objects. No count includes them.
    var pairs: Set<String> = []
    /// Tables whose references can be cleared, with the columns that hold them.
    var references: [String: [String]]

    init(of request: BatchDeleteRequest, _ connection: SQLiteConnection, _ db: Database) throws {
        guard let table = try connection.catalog.table(request.fetchRequest.entity, db) else {
            (rows, references) = ([], [:])
            return
        }
        if table.managed != nil, let schema = try connection.catalog.coreData(db) {
            (rows, references) = (Set(schema.entities.values.map(\.table)).sorted(), [:])
            for link in schema.links.values.joined() {
                switch link.storage {
                case .own(let reference): add(reference, of: link.table)
                case .other(let reference): add(reference, of: link.destinationTable)
                case .pairs(let table, _, _): pairs.insert(table)
                }
                if let back = link.back { add(back, of: link.destinationTable) }
            }
            rows += pairs.sorted()
            return
        }
        let reach = try Reach(of: request.fetchRequest.entity, request.relationships, connection, db)
        references = reach.nullifying
        rows =
            try reach.setsOffTriggers(of: table, connection, db)
            ? connection.ordinaryTables(db) : reach.cascading.union([table.tableName]).sorted()
    }

    private mutating func add(_ reference: ModelLink.Reference, of table: String) {
        let known = references[table] ?? []
        references[table] = known + ([reference.column] + reference.companions).filter { !known.contains($0) }
    }
}

extension SQLiteStore {
    /// Why rows of a request cannot be archived: what is deleted with them cannot be seen, or could not be restored.
    public func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        try run("looking at what a delete changes") { db in
            guard let table = try catalog.table(request.entity, db) else { return nil }
            if table.managed != nil, let schema = try catalog.coreData(db) {
                if schema.history != nil {
                    return "the store keeps a persistent history, which a restoration could not continue"
                }
                if let entity = schema.entities.values.filter({ !$0.externalAttributes.isEmpty }).map(\.name).min() {
                    return "\(entity) keeps values in files beside the store, which are deleted with the rows"
                }
                return nil
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
                db,
                sql:
                    "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' OR sql LIKE '%ON CONFLICT REPLACE%'"
            ) {
                let (name, definition): (String, String) = (entry[0], entry[1])
                let words = definition.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                let pairs = zip(words, words.dropFirst())
                if pairs.contains(where: { ($0, $1) == ("OR", "REPLACE") || ($0, $1) == ("REPLACE", "INTO") })
                    || pairs.contains(where: { ($0, $1) == ("CONFLICT", "REPLACE") })
                {
                    return "\(name) uses REPLACE, which deletes rows that cannot be seen"
                }
                for table in virtual
                where pairs.contains(where: { $0 == "FROM" && $1 == table.uppercased() })
                    && words.contains("DELETE")
                {
                    return "the trigger \(name) deletes rows of the virtual table \(table), which cannot be seen"
                }
            }
            return nil
        }
    }
}
