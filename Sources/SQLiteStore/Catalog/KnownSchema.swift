import GRDB
import PriceStore

/// The schema before any of it was read, to notice changes by other connections.
struct KnownSchema {
    private var version: Int
    private let triggers: Set<SchemaEntry>
    /// The definitions of the tables, by name.
    private let tables: [String: String]

    /// - Parameter entries: those of this version.
    init(version: Int, _ entries: [SchemaEntry]) {
        self.version = version
        triggers = Set(entries.filter { $0.type == "trigger" })
        // Tables of statistics do not matter for a plan.
        let found = entries.filter { $0.type == "table" && !$0.name.hasPrefix("sqlite_stat") }
        tables = Dictionary(found.map { ($0.name, $0.sql ?? "") }) { first, _ in first }
    }

    /// Throws if a delete or an insert can have another effect than when the schema was read: a trigger is new or gone, a table has
    /// changed, or a new table refers to others.
    mutating func confirm(store: String, _ db: Database) throws {
        let current = try Self.version(db)
        guard current != version else { return }
        let now = KnownSchema(version: current, try SchemaEntry.all(db))
        let isSame =
            now.triggers == triggers && tables.allSatisfy { now.tables[$0] == $1 }
            && now.tables.allSatisfy { tables[$0] != nil || !$1.mentions("REFERENCES") }
        guard isSame else {
            throw StoreError(
                .unsupported, store: store,
                message: "another program has changed the tables or triggers of the store since this program read them",
                hint: "nothing of this transaction is kept; start it again")
        }
        version = now.version
    }

    static func version(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "PRAGMA main.schema_version")) ?? 0
    }
}

/// The texts of a schema at one of its versions.
struct SchemaTexts {
    let version: Int
    /// The tables and triggers, by the name of the table in lower case.
    let entries: [String: [SchemaEntry]]
    /// Whether there is a trigger, or a text that may replace rows.
    let canReach: Bool
    /// Whether a table may have a foreign key. The word may also be in a comment or a name.
    let mayRefer: Bool

    init(version: Int, _ all: [SchemaEntry]) {
        self.version = version
        entries = Dictionary(grouping: all.filter { ["table", "trigger"].contains($0.type) }, by: \.table.folded)
        canReach = all.contains { $0.type == "trigger" || $0.sql?.mentions("REPLACE") == true }
        mayRefer = all.contains { $0.sql?.mentions("REFERENCES") == true }
    }
}

/// What kinds of tables a schema has at one of its versions. SQLite goes through all tables to list one.
struct TableKinds {
    struct Table {
        var name: String
        /// `table`, `view`, `virtual` or `shadow`.
        var type: String
        var isWithoutRowID: Bool
        var isStrict: Bool
    }

    let version: Int
    /// By the name in lower case.
    let tables: [String: Table]

    init(version: Int, _ db: Database) throws {
        self.version = version
        // schema, name, type, ncol, wr, strict
        let found = try Row.fetchAll(db, sql: "PRAGMA main.table_list").map { row in
            Table(name: row[1], type: row[2], isWithoutRowID: row[4], isStrict: row[5])
        }
        tables = Dictionary(found.map { ($0.name.folded, $0) }) { first, _ in first }
    }
}
