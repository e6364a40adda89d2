import GRDB
import PriceStore

/// The tables whose rows or references a delete can change.
struct ArchiveReach {
    /// Tables that can lose rows.
    var rows: [String]
    /// Those of ``rows`` that hold pairs of related objects. No count includes their rows.
    var pairs: Set<String> = []
    /// Tables whose references can be cleared, with the columns that hold them.
    var references: [String: [String]]
    /// Whether only the rows that the delete names are deleted, by a statement that names them.
    var isOnlyNamedRows = false

    init(of request: BatchDeleteRequest, _ connection: SQLiteFile, _ db: Database) throws {
        let table = try connection.scope(request.fetchRequest.entity, db).table
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
        let keys = try connection.keyGraph(of: table.name, request.relationships, db)
        references = keys.clearing
        let setsOffTriggers = try keys.firesTriggers(connection, db)
        rows = try setsOffTriggers ? connection.catalog.schema(db).ordinaryTables : keys.losing.sorted()
        // Rows that triggers delete can clear references, too.
        for name in setsOffTriggers ? rows : [] {
            for key in try connection.scope(name, db).table.entity.relationships where key.clears {
                references[name, default: []].addMissing(key.sourceAttributes)
            }
        }
        isOnlyNamedRows =
            try !setsOffTriggers && rows.count == 1 && references.isEmpty
            && !connection.choosesRows(request, db)
    }

    private mutating func add(_ reference: ModelLink.Reference, of table: String) {
        references[table, default: []].addMissing([reference.column] + reference.companions)
    }
}
