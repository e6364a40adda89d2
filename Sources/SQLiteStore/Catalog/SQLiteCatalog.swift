import GRDB
import GRDBSQLite
import PriceStore

/// What the engine must know of a table besides its ``Entity``.
struct SQLiteTable {
    var entity: Entity
    var isWithoutRowID: Bool
    /// The rowid's name in SQL: the INTEGER PRIMARY KEY, or one of `rowid`, `_rowid_`, `oid` that is not a column. Nil for a table without
    /// a rowid or whose columns hide it.
    var rowID: String?
    /// The column that is the rowid, if there is one.
    var rowIDAlias: String?
    var indexes: [SQLiteIndex]
    /// The name of the primary key's index in a table without a rowid, which is the table itself; nil if the table has a rowid.
    var keyIndex: String?
    var isStrict: Bool
    /// The statement that created the table.
    var definition: String
    /// Whether foreign keys of the table may be checked only at the end of a transaction.
    var defersKeys: Bool
    /// The collations of the columns, by lower-cased name.
    var collations: [String: String]
    /// The default values as written in the schema, by lower-cased column name.
    var defaults: [String: String]
    /// The entity of a Core Data store that the rows belong to, or nil if the table is its own entity.
    var managed: CoreDataEntity?

    var name: String { entity.name }
    /// The table's name, which differs from the entity's in a Core Data store.
    var tableName: String { managed?.table ?? entity.name }
    /// The table in SQL, never shadowed by a temporary one.
    var sql: String { "main." + tableName.quotedIdentifier }
    /// The column of an attribute.
    func column(_ attribute: Attribute) -> String { managed?.columns[attribute.name.lowercased()] ?? attribute.name }
    /// The SQL column of an attribute, without an alias.
    func columnSQL(_ attribute: Attribute) -> String { column(attribute).quotedIdentifier }
    /// Whether a column may become NULL. A rowid never does, even if its column does not say NOT NULL.
    func isNullable(_ column: String) -> Bool {
        let attribute = entity.attribute(named: column)
        return attribute?.isRequired != true && (rowIDAlias == nil || attribute?.name != rowIDAlias)
    }

    func collation(of column: String) -> String { collations[column.folded] ?? "BINARY" }

    /// The first of some columns, in lower case, that the table or a unique index compares by another collation than BINARY.
    func collationOfKey(_ names: [String]) -> (name: String, collation: String)? {
        let indexed = indexes.filter(\.isUnique).flatMap(\.columns).map { ($0.name?.folded ?? "", $0.collation) }
        let all = names.map { ($0, collation(of: $0)) } + indexed.filter { names.contains($0.0) }
        return all.first { $0.1.uppercased() != "BINARY" }
    }

    /// Whether a foreign key can refer to columns: they are the primary key, or unique by their own collations. Source:
    /// sqlite.org/foreignkeys.html, section 3.
    func isParentKey(_ columns: [String]) -> Bool {
        let wanted = Set(columns.map { $0.folded })
        if let rowIDAlias, wanted == [rowIDAlias.folded] { return true }
        return indexes.contains { index in
            index.isUnique && !index.isPartial && index.columns.count == columns.count
                && Set(index.columns.map { $0.name?.folded ?? "" }) == wanted
                && index.columns.allSatisfy { column in
                    column.name.map { collation(of: $0).uppercased() } == column.collation.uppercased()
                }
        }
    }

    /// The hint that makes SQLite read the table itself. A table without a rowid is an index, and `NOT INDEXED` would not exclude the
    /// other indexes.
    var tableHint: String { keyIndex.map { " INDEXED BY " + $0.quotedIdentifier } ?? " NOT INDEXED" }

    /// The SQL columns of the key: the rowid, or the primary key of a table without one. Empty if none can be named.
    var keySQL: [String] {
        isWithoutRowID ? entity.primaryKey.map(\.quotedIdentifier) : rowID.map { [$0.quotedIdentifier] } ?? []
    }
}

/// An index of a table.
struct SQLiteIndex: Hashable {
    var name: String
    var isUnique: Bool
    var isPartial: Bool
    /// The indexed columns in order, without the key after them.
    var columns: [Column]

    /// One column of an index.
    struct Column: Hashable {
        /// The column's name, or nil for an expression.
        var name: String?
        var isDescending: Bool
        var collation: String
    }
}

/// Reads the schema, each table once and when first needed.
struct SQLiteCatalog {
    private let store: String
    /// A model file that replaces the model in a Core Data store, or nil.
    private let modelPath: String?
    private var tables: [String: SQLiteTable] = [:]
    private var incoming: [String: [Relationship]]?
    private var coreDataSchema: CoreDataSchema??
    /// The schema before any of it was used, to notice changes by other connections.
    private var known: StoreSchema?
    /// The schema as it was last asked for.
    private var current: StoreSchema?
    /// What foreign keys do, by the kind of delete.
    var keyGraphs: [KeyGraph.Cause: KeyGraph] = [:]
    /// The store's triggers, or nil if they are not read yet.
    var triggers: [StoreTrigger]?
    /// What the store's triggers do, by the cause that fires them; nil means nothing.
    var triggerEffects: [TriggerEffects.Cause: TriggerEffects?] = [:]

    init(store: String, modelPath: String?) {
        self.store = store
        self.modelPath = modelPath
    }

    var emptied: SQLiteCatalog { SQLiteCatalog(store: store, modelPath: modelPath) }

    /// The schema of a Core Data store, or nil if it is not one.
    mutating func coreData(_ db: Database) throws -> CoreDataSchema? {
        if let coreDataSchema { return coreDataSchema }
        // This is read first, so that later changes are noticed.
        let tables = try schema(db)
        known = known ?? tables
        let schema = try CoreDataSchema.read(tables, modelPath: modelPath, store: store, db)
        if schema != nil { try CoreDataFunctions.add(tables, db) }
        coreDataSchema = .some(schema)
        return schema
    }

    /// Throws if another connection has changed the schema since it was read in a way that can change what a delete does.
    mutating func confirm(_ db: Database) throws {
        let schema = try schema(db)
        try known?.confirm(schema, store: store)
    }

    /// The names of all entities: those of a Core Data store, and all other tables, views and virtual tables except SQLite's and Core
    /// Data's own.
    mutating func names(_ db: Database) throws -> [String] {
        let model = try coreData(db)
        let names = try schema(db).entries.filter { ["table", "view"].contains($0.type) }.map(\.name)
        return (model?.names ?? [])
            + names.filter { !$0.folded.hasPrefix("sqlite_") && model?.ownTables.contains($0.folded) != true }
    }

    /// The schema as it is now.
    mutating func schema(_ db: Database) throws -> StoreSchema {
        let version = try StoreSchema.version(db)
        if let current, current.version == version { return current }
        let read = try StoreSchema(version: version, db)
        current = read
        return read
    }

    /// The table, view or virtual table with a name, ignoring case, or nil. SQLite's own tables are not entities.
    mutating func table(_ name: String, _ db: Database) throws -> SQLiteTable? {
        guard !name.folded.hasPrefix("sqlite_") else { return nil }
        if let known = tables[name.folded] { return known }
        let schema = try coreData(db)
        let managed = schema?.entity(name)
        if managed == nil, schema?.ownTables.contains(name.folded) == true { return nil }
        guard var table = try read(managed?.table ?? name, db) else { return nil }
        let (keys, spelled) = (try incoming ?? readRelationships(db), table.name)
        incoming = keys
        table.entity.relationships = keys.values.joined().filter { $0.source.folded == spelled.folded }
        table.entity.incomingRelationships = keys[spelled.folded] ?? []
        if let managed, let schema { table.become(managed, schema) }
        tables[name.folded] = table
        return table
    }

    /// The table with exactly this name, even one of Core Data or of a virtual table's module, without relationships.
    mutating func stored(_ name: String, _ db: Database) throws -> SQLiteTable? {
        try read(name, includingShadows: true, db)
    }

    /// Uses PRAGMA statements, because table functions take several times as long to prepare.
    private mutating func read(_ name: String, includingShadows: Bool = false, _ db: Database) throws -> SQLiteTable? {
        let schema = try schema(db)
        guard let found = schema.kind(of: name) else { return nil }
        let (spelled, isStrict) = (found.name, found.isStrict)
        let type = includingShadows && found.type == "shadow" ? "table" : found.type
        guard type != "shadow" else { return nil }
        var attributes: [Attribute] = []
        var key: [(position: Int, name: String, type: String)] = []
        var defaults: [String: String] = [:]
        var collations: [String: String] = [:]
        // cid, name, type, notnull, dflt_value, pk, hidden
        let columns = try Row.fetchCursor(db, sql: "PRAGMA main.table_xinfo(\(spelled.quotedIdentifier))")
        while let column = try columns.next() {
            let hidden: Int = column[6]
            guard hidden != 1 else { continue }
            let columnName: String = column[1]
            let declared: String = column[2]
            let defaultValue: String? = column[4]
            attributes.append(
                Attribute(
                    name: columnName, affinity: Attribute.Affinity(declaredType: declared, isStrict: isStrict),
                    declaredType: declared, isRequired: column[3], isGenerated: hidden >= 2,
                    hasDefault: defaultValue != nil))
            defaults[columnName.folded] = defaultValue
            collations[columnName.folded] = Self.collation(of: columnName, in: spelled, db)
            let position: Int = column[5]
            if position > 0 { key.append((position, columnName, declared)) }
        }
        key.sort { $0.position < $1.position }
        let isWithoutRowID = type == "table" && found.isWithoutRowID
        let indexes = type == "table" ? try readIndexes(of: spelled, db) : []
        let alias =
            key.count == 1 && !isWithoutRowID && key[0].type.uppercased() == "INTEGER"
                && !indexes.contains { $0.origin == "pk" } ? key[0].name : nil
        let taken = Set(attributes.map { $0.name.folded })
        let rowID =
            isWithoutRowID || type == "view" ? nil : alias ?? ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
        let triggers = schema.entries(ofTable: spelled).filter { $0.type == "trigger" }.map {
            (name: $0.name, text: TriggerText($0.sql))
        }
        var entity = Entity(
            name: spelled, kind: type == "view" ? .view : type == "virtual" ? .virtual : .table,
            attributes: attributes, primaryKey: key.map(\.name),
            deleteTriggers: triggers.filter { $0.text.fires(on: .delete) }.map(\.name),
            updateTriggers: triggers.filter { $0.text.fires(on: .update) }
                .map { UpdateTrigger(name: $0.name, attributes: $0.text.columns) },
            refusingTriggers: Set(triggers.filter(\.text.mayRaise).map(\.name)))
        entity.uniqueAttributes = indexes.map(\.index).compactMap {
            $0.isUnique && !$0.isPartial && $0.columns.count == 1 ? $0.columns[0].name : nil
        }
        let definition = schema.definition(of: spelled)
        return SQLiteTable(
            entity: entity, isWithoutRowID: isWithoutRowID, rowID: rowID, rowIDAlias: alias,
            indexes: indexes.map(\.index),
            keyIndex: isWithoutRowID ? indexes.first { $0.origin == "pk" }?.index.name : nil,
            isStrict: isStrict, definition: definition,
            // A word may also be in a comment or a name. Then a little more is checked than necessary.
            defersKeys: type == "table" && definition.mentions("DEFERRED"),
            collations: collations, defaults: defaults)
    }

    private func readIndexes(of table: String, _ db: Database) throws -> [(index: SQLiteIndex, origin: String)] {
        // seq, name, unique, origin, partial
        try Row.fetchAll(db, sql: "PRAGMA main.index_list(\(table.quotedIdentifier))").map { row in
            let name: String = row[1]
            var index = SQLiteIndex(name: name, isUnique: row[2], isPartial: row[4], columns: [])
            // seqno, cid, name, desc, coll, key
            let columns = try Row.fetchCursor(db, sql: "PRAGMA main.index_xinfo(\(name.quotedIdentifier))")
            while let column = try columns.next() {
                guard column[5] as Bool else { continue }
                index.columns.append(
                    SQLiteIndex.Column(
                        name: (column[1] as Int) >= 0 ? column[2] : nil, isDescending: column[3],
                        collation: column[4] ?? "BINARY"))
            }
            return (index, row[3])
        }
    }

    private static func collation(of column: String, in table: String, _ db: Database) -> String? {
        var name: UnsafePointer<CChar>?
        guard
            sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &name, nil, nil, nil)
                == SQLITE_OK
        else { return nil }
        return name.map { String(cString: $0) }
    }

    /// Every foreign key of the schema, by the lower-cased name of the table that it refers to.
    private mutating func readRelationships(_ db: Database) throws -> [String: [Relationship]] {
        guard try schema(db).mayRefer else { return [:] }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name AS source, f.id AS id, f."table" AS destination, f."from" AS source_column,
                       f."to" AS destination_column, f.on_delete AS on_delete
                FROM main.sqlite_schema AS m, pragma_foreign_key_list(m.name, 'main') AS f
                WHERE m.type = 'table' ORDER BY m.rowid, f.id, f.seq
                """)
        var keys: [(source: String, id: Int, destination: String, rule: String, pairs: [(String, String?)])] = []
        for row in rows {
            let pair: (String, String?) = (row["source_column"], row["destination_column"])
            if let last = keys.last, last.source == row["source"], last.id == row["id"] {
                keys[keys.count - 1].pairs.append(pair)
            } else {
                keys.append((row["source"], row["id"], row["destination"], row["on_delete"], [pair]))
            }
        }
        var result: [String: [Relationship]] = [:]
        for key in keys {
            let columns = key.pairs.map(\.0)
            var destination = key.pairs.compactMap(\.1)
            var destinationName = key.destination
            if let parent = try read(key.destination, db) {
                destinationName = parent.name
                // A foreign key that names no columns refers to the primary key.
                if destination.isEmpty { destination = parent.entity.primaryKey }
            }
            let child = try read(key.source, db)
            var rule = Relationship.DeleteRule(sql: key.rule)
            if rule == .setDefault,
                columns.allSatisfy({ (child?.defaults[$0.folded] ?? "NULL").uppercased() == "NULL" })
            {
                rule = .nullify
            }
            result[key.destination.folded, default: []].append(
                Relationship(
                    source: key.source, sourceAttributes: columns, destination: destinationName,
                    destinationAttributes: destination, deleteRule: rule,
                    isIndexed: child.map { Self.isIndexed($0, columns) } ?? false))
        }
        return result
    }

    private static func isIndexed(_ table: SQLiteTable, _ columns: [String]) -> Bool {
        let wanted = Set(columns.map { $0.folded })
        if let alias = table.rowIDAlias, wanted == [alias.folded] { return true }
        let keys = table.indexes.filter { !$0.isPartial }.map { $0.columns.map(\.name) }
        return keys.contains { Set($0.prefix(wanted.count).map { $0?.folded ?? "" }) == wanted }
    }
}

extension Attribute.Affinity {
    /// The affinity that SQLite gives a declared type. Source: sqlite.org/datatype3.html, section 3.1.
    init(declaredType: String, isStrict: Bool) {
        // Bytes are compared, because searching by characters takes longer than everything else at the start of a run.
        let type = Array(declaredType.uppercased().utf8)
        func names(_ word: String) -> Bool {
            let word = Array(word.utf8)
            return type.indices.contains { type[$0...].starts(with: word) }
        }
        self =
            if isStrict && type == Array("ANY".utf8) { .none } else if names("INT") {
                .integer
            } else if names("CHAR") || names("CLOB") || names("TEXT") {
                .text
            } else if type.isEmpty || names("BLOB") {
                .none
            } else if names("REAL") || names("FLOA") || names("DOUB") {
                .real
            } else {
                .numeric
            }
    }
}

extension Relationship.DeleteRule {
    /// A delete rule as `PRAGMA foreign_key_list` spells it.
    init(sql: String) {
        self =
            switch sql.uppercased() {
            case "CASCADE": .cascade
            case "SET NULL": .nullify
            case "SET DEFAULT": .setDefault
            case "RESTRICT": .restrict
            default: .noAction
            }
    }
}
