import GRDB
import PriceStore

/// The schema of a store at one of its versions: the texts, and the kinds of the tables. Both are read at once, because SQLite goes through
/// all tables to say the kind of one.
struct StoreSchema {
    /// The kind of a table or view.
    struct Kind {
        var name: String
        /// `table`, `view`, `virtual` or `shadow`.
        var type: String
        var isWithoutRowID: Bool
        var isStrict: Bool
    }

    private(set) var version: Int
    /// All entries, in SQLite's order.
    let entries: [SchemaEntry]
    private let byTable: [String: [SchemaEntry]]
    private let kinds: [Kind]
    private let kindsByName: [String: Kind]
    /// Whether there is a trigger, or a text that may replace rows.
    let canReach: Bool
    /// Whether a table may have a foreign key. The word may also be in a comment or a name.
    let mayRefer: Bool

    init(version: Int, _ db: Database) throws {
        self.version = version
        entries = try SchemaEntry.all(db)
        byTable = Dictionary(grouping: entries, by: \.table.folded)
        // schema, name, type, ncol, wr, strict
        kinds = try Row.fetchAll(db, sql: "PRAGMA main.table_list").map { row in
            Kind(name: row[1], type: row[2], isWithoutRowID: row[4], isStrict: row[5])
        }
        kindsByName = Dictionary(firstOf: kinds.map { ($0.name.folded, $0) })
        canReach = entries.contains { $0.type == "trigger" || $0.sql.mentions("REPLACE") }
        mayRefer = entries.contains { $0.sql.mentions("REFERENCES") }
    }

    static func version(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "PRAGMA main.schema_version")) ?? 0
    }

    func entries(_ type: String) -> [SchemaEntry] { entries.filter { $0.type == type } }

    /// The table itself, its indexes and its triggers.
    func entries(ofTable table: String) -> [SchemaEntry] { byTable[table.folded] ?? [] }

    /// The statement that created a table, or an empty text if there is none.
    func definition(of table: String) -> String {
        entries(ofTable: table).first { $0.type == "table" }?.sql ?? ""
    }

    func kind(of table: String) -> Kind? { kindsByName[table.folded] }

    /// The names of the ordinary tables that are not SQLite's own.
    var ordinaryTables: [String] {
        kinds.filter { $0.type == "table" && !$0.name.folded.hasPrefix("sqlite_") }.map(\.name)
    }

    /// Throws if a delete or an insert can have another effect than with this schema: a trigger is new or gone, a table has changed, or a
    /// new table refers to others.
    mutating func confirm(_ now: StoreSchema, store: String) throws {
        guard now.version != version else { return }
        let (known, found) = (texts, now.texts)
        let isSame =
            Set(now.entries("trigger")) == Set(entries("trigger")) && known.allSatisfy { found[$0] == $1 }
            && found.allSatisfy { known[$0] != nil || !$1.mentions("REFERENCES") }
        guard isSame else {
            throw StoreError(
                .unsupported, store: store,
                message: "another program has changed the tables or triggers of the store since this program read them",
                hint: "nothing of this transaction is kept; start it again")
        }
        version = now.version
    }

    /// The definitions of the tables, by name. Tables of statistics do not matter for a plan.
    private var texts: [String: String] {
        entries("table").filter { !$0.name.hasPrefix("sqlite_stat") }.reduce(into: [:]) { $0[$1.name] = $1.sql }
    }
}
