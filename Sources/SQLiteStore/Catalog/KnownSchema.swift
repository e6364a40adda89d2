import GRDB
import PriceStore

/// The schema that a plan rests on, to notice that another connection has changed it.
struct KnownSchema {
    private var version: Int
    private let triggers: Set<SchemaEntry>
    /// The definitions of the tables, by name.
    private let tables: [String: String]

    init(_ connection: SQLiteFileConnection, _ db: Database) throws {
        version = try connection.pragma("schema_version", db)
        let entries = try SchemaEntry.all(db)
        triggers = Set(entries.filter { $0.type == "trigger" })
        // Statistics are no part of the plan.
        let found = entries.filter { $0.type == "table" && !$0.name.hasPrefix("sqlite_stat") }
        tables = Dictionary(found.map { ($0.name, $0.sql ?? "") }) { first, _ in first }
    }

    /// Throws if a delete can have another effect than when the schema was read: a trigger is new or gone, a table has changed, or
    /// a new one refers to others.
    mutating func confirm(_ connection: SQLiteFileConnection, _ db: Database) throws {
        guard try connection.pragma("schema_version", db) != version else { return }
        let now = try KnownSchema(connection, db)
        let isSame =
            now.triggers == triggers && tables.allSatisfy { now.tables[$0] == $1 }
            && now.tables.allSatisfy { tables[$0] != nil || !$1.uppercased().contains("REFERENCES") }
        guard isSame else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "another program has changed the tables or triggers of the store since the plan was made",
                hint: "nothing of this transaction is deleted; the next run makes a new plan")
        }
        version = now.version
    }
}
