import GRDB
import PriceStore

/// The schema that a plan rests on, to notice that another connection has changed it.
struct KnownSchema {
    private var version: Int
    private let entries: Set<SchemaEntry>

    init(_ connection: SQLiteConnection, _ db: Database) throws {
        version = try connection.pragma("schema_version", db)
        entries = try Self.entries(db)
    }

    /// Throws if the tables, indexes and triggers are not what they were.
    mutating func confirm(_ connection: SQLiteConnection, _ db: Database) throws {
        let now = try connection.pragma("schema_version", db)
        guard now != version else { return }
        guard try Self.entries(db) == entries else {
            throw StoreError(
                .unsupported, store: connection.name,
                message:
                    "another program has changed the tables, indexes or triggers of the store since the plan was made",
                hint: "nothing of this transaction is deleted; the next run makes a new plan")
        }
        version = now
    }

    /// Statistics are no part of the plan.
    private static func entries(_ db: Database) throws -> Set<SchemaEntry> {
        Set(try SchemaEntry.all(db).filter { !$0.name.hasPrefix("sqlite_stat") })
    }
}

extension SQLiteConnection {
    /// Throws if another connection has changed the schema since the first survey, for a delete that must keep or copy rows of
    /// tables that only the schema names.
    func confirmSchema(of work: DeleteWork, _ db: Database) throws {
        guard work.archiveRule != nil || !work.fetchRequest.predicate.holds.isEmpty else { return }
        try catalog.schema?.confirm(self, db)
    }
}
