import Foundation
import GRDB
import PriceStore

/// The entities of a Core Data store and how their relationships are stored.
///
/// Source: the tables of stores written by Apple's framework; docs/core-data.md says what each name means.
struct CoreDataSchema {
    /// The entities by lower-cased name.
    var entities: [String: CoreDataEntity] = [:]
    /// The entities' names in the order of their numbers.
    private(set) var names: [String] = []
    /// Whether the store has a model or one was given.
    private(set) var hasModel = false
    /// The stored relationships of each table, by its name.
    var links: [String: [ModelLink]] = [:]
    /// The lower-cased names of the tables that belong to Core Data and are not entities themselves.
    private(set) var ownTables: Set<String> = []
    private(set) var history: CoreDataHistory?

    /// The schema of a store, or nil if it is not a Core Data store.
    static func read(
        _ stored: StoreSchema, modelPath: String?, store: String, _ db: Database
    ) throws -> CoreDataSchema? {
        let tables = stored.entries("table").map(\.name)
        guard tables.contains("Z_METADATA"), tables.contains("Z_PRIMARYKEY") else {
            guard let modelPath else { return nil }
            throw StoreError(
                .unsupported, store: store,
                message: "the store is not a Core Data store, so the model \(modelPath) cannot be used",
                hint: "open it without a model")
        }
        var schema = CoreDataSchema()
        let model = try Self.model(
            modelPath: modelPath, isStored: tables.contains("Z_MODELCACHE"), store: store, db)
        schema.hasModel = model != nil
        let columns = try Self.columnNames(db)
        try schema.readEntities(model, tables, columns, db)
        schema.readLinks(columns)
        schema.history = try CoreDataHistory.read(columns, db)
        if let history = schema.history, schema.entities[Entity.persistentHistory] == nil {
            schema.entities[Entity.persistentHistory] = history.entity
            schema.links[CoreDataHistory.transactions] = [history.changes]
        }
        return schema
    }

    /// The tables of the entities and of the history, sorted.
    var tables: [String] {
        Set(entities.values.map(\.table) + (history == nil ? [] : CoreDataHistory.tables)).sorted()
    }

    func entity(_ name: String) -> CoreDataEntity? { entities[name.folded] }

    var allLinks: [ModelLink] { tables.flatMap { links[$0] ?? [] } }

    /// The relationships of the rows of an entity and its sub-entities.
    func links(of entity: CoreDataEntity) -> [ModelLink] {
        (links[entity.table] ?? []).filter { !Set($0.numbers).isDisjoint(with: entity.numbers) }
    }

    /// To-one relationships of other rows that refer to rows of a table and have no inverse.
    func oneWayLinks(to table: String) -> [ModelLink] {
        links.values.joined().filter { $0.destinationTable == table && $0.inverse == nil }
            .sorted { ($0.table, $0.relationship.name) < ($1.table, $1.relationship.name) }
    }

    // MARK: Reading

    private static func model(
        modelPath: String?, isStored: Bool, store: String, _ db: Database
    ) throws -> ManagedObjectModel? {
        do {
            if let modelPath {
                let metadata = try Data.fetchOne(db, sql: "SELECT Z_PLIST FROM main.Z_METADATA LIMIT 1")
                return try ManagedObjectModel.read(path: modelPath, storeMetadata: metadata.map { [UInt8]($0) })
            }
            guard isStored,
                let content = try Data.fetchOne(db, sql: "SELECT Z_CONTENT FROM main.Z_MODELCACHE LIMIT 1"),
                !content.isEmpty
            else { return nil }
            return try ManagedObjectModel.read(cache: [UInt8](content))
        } catch let error as ModelArchiveError {
            throw StoreError(
                .inputOutput, store: store, message: "the model cannot be read: \(error)",
                hint: modelPath == nil ? "give the model's .mom file as `store: { path:, model: }`" : nil)
        }
    }

    private mutating func readEntities(
        _ model: ManagedObjectModel?, _ tableNames: [String], _ columns: [String: Set<String>], _ db: Database
    ) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT Z_ENT, Z_NAME, CASE typeof(Z_SUPER) WHEN 'integer' THEN Z_SUPER END AS Z_SUPER
                FROM main.Z_PRIMARYKEY WHERE typeof(Z_ENT) = 'integer' AND typeof(Z_NAME) = 'text' ORDER BY Z_ENT
                """)
        let tables: [String: String] = tableNames.reduce(into: [:]) { $0[$1.lowercased()] = $1 }
        ownTables = Set(
            tables.keys.filter {
                ["z_metadata", "z_primarykey", "z_modelcache", "achange", "atransaction", "atransactionstring"]
                    .contains($0) || $0.hasPrefix("z_")
            })
        var parents: [Int64: Int64] = [:]
        // After a migration, an entity keeps the name under which its number was assigned.
        var stored: [Int64: String] = [:]
        var named: [Int64: String] = [:]
        for row in rows {
            let (number, name): (Int64, String) = (row["Z_ENT"], row["Z_NAME"])
            stored[number] = name
            named[number] = model?.name(ofEntityOnceNamed: name) ?? name
            if let parent = row["Z_SUPER"] as Int64?, parent != 0, parent != number { parents[number] = parent }
        }
        func chain(_ number: Int64) -> [Int64] {
            var chain = [number]
            while let next = parents[chain[chain.count - 1]], !chain.contains(next) { chain.append(next) }
            return chain
        }
        // The history's entities have no table of their own name.
        let chains = named.keys.sorted().filter { !CoreDataHistory.isOwn($0) }.map { ($0, chain($0)) }
        for (number, chain) in chains {
            let root = chain[chain.count - 1]
            guard let name = named[number],
                let table = [named[root], stored[root]].compactMap({ $0.flatMap { tables["z" + $0.lowercased()] } })
                    .first
            else { continue }
            let family = chains.filter { $0.1.last == chain.last }
            let members = family.filter { $0.1.contains(number) }.map(\.0)
            var entity = CoreDataEntity(
                name: name, number: number, chain: chain, table: table,
                parent: chain.count > 1 ? named[chain[1]] : nil, sharesTable: members.count < family.count,
                memberNames: members.reduce(into: [:]) { $0[$1] = named[$1] }, managed: model?.entities[name])
            if model != nil, entity.managed == nil {
                entity.unsupported = "the model of the store does not contain the entity \(name)"
            }
            entities[name.folded] = entity
            names.append(name)
            ownTables.insert(table.folded)
        }
        for entity in entities.values {
            if let columns = columns[entity.table] { findColumns(of: entity, columns) }
        }
    }

    /// Finds the columns of an entity's properties: `Z` and the name in upper case.
    private mutating func findColumns(of entity: CoreDataEntity, _ columns: Set<String>) {
        var entity = entity
        let key = entity.name.folded
        guard let managed = entity.managed else {
            // Without a model, a property is known only by its column.
            for column in columns where column.hasPrefix("Z") && !column.hasPrefix("Z_") {
                entity.columns[column.dropFirst().lowercased()] = column
            }
            entities[key] = entity
            return
        }
        let family = entities.values.filter { $0.table == entity.table }.compactMap(\.managed)
        let taken = Set(family.flatMap { $0.propertyNames }.map { "Z" + $0.uppercased() })
        for name in managed.propertyNames {
            let column = "Z" + name.uppercased()
            guard columns.contains(column) else { continue }
            let twins = columns.filter { twin in
                twin.hasPrefix(column) && twin.count > column.count && !taken.contains(twin)
                    && twin.dropFirst(column.count).allSatisfy { $0.isASCII && $0.isNumber }
            }
            entity.columns[name.lowercased()] = column
            if !twins.isEmpty { entity.ambiguous[name.lowercased()] = [column] + twins.sorted() }
        }
        entities[key] = entity
    }

    private static func columnNames(_ db: Database) throws -> [String: Set<String>] {
        var columns: [String: Set<String>] = [:]
        let query = """
            SELECT m.name AS owner, c.name AS name FROM main.sqlite_schema AS m, pragma_table_xinfo(m.name, 'main') AS c
            WHERE m.type = 'table'
            """
        for row in try Row.fetchAll(db, sql: query) { columns[row["owner"], default: []].insert(row["name"]) }
        return columns
    }
}

extension ManagedEntity {
    /// The names of the properties that can have a column, sorted.
    fileprivate var propertyNames: [String] {
        (attributes.values.filter { !$0.isTransient }.map(\.name)
            + relationships.values.filter { !$0.isTransient && !$0.isToMany }.map(\.name)).sorted()
    }
}

extension ManagedObjectModel {
    /// The name of the entity that has a name, or had it before it was renamed; nil: there is none.
    fileprivate func name(ofEntityOnceNamed name: String) -> String? {
        entities[name]?.name ?? entities.values.filter { $0.formerName == name }.map(\.name).min()
    }
}
