import Foundation
import GRDB
import PriceStore

/// The entities of a Core Data store and how their relationships are stored.
///
/// Source: the tables of stores written by Apple's framework; docs/core-data.md says what each name means.
struct CoreDataSchema {
    /// The entities by lower-cased name.
    private(set) var entities: [String: CoreDataEntity] = [:]
    /// The entities' names in the order of their numbers.
    private(set) var names: [String] = []
    /// Whether the model is known.
    private(set) var hasModel = false
    /// The stored relationships of each table, by its name.
    private(set) var links: [String: [ModelLink]] = [:]
    /// Columns of a store without a model that may hold references, and nothing says to what.
    private(set) var unprovenReferences: [(table: String, column: String)] = []
    /// The lower-cased names of the tables that belong to Core Data, which are no entities themselves.
    private(set) var ownTables: Set<String> = []
    /// How the store keeps a history; nil: it keeps none.
    private(set) var history: CoreDataHistory?

    /// The schema of a store, or nil if it is no Core Data store.
    ///
    /// - Parameters:
    ///   - modelPath: a `.mom` file or a `.momd` folder that takes the place of the model in the store.
    ///   - store: the store's name for messages.
    static func read(modelPath: String?, store: String, _ db: Database) throws -> CoreDataSchema? {
        let own = try Int.fetchOne(
            db,
            sql:
                "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name IN ('Z_METADATA', 'Z_PRIMARYKEY')"
        )
        guard own == 2 else {
            guard let modelPath else { return nil }
            throw StoreError(
                .unsupported, store: store,
                message: "the store is no Core Data store, so that it has no use for \(modelPath)",
                hint: "leave out `model`")
        }
        var schema = CoreDataSchema()
        let model = try Self.model(modelPath: modelPath, store: store, db)
        schema.hasModel = model != nil
        try schema.readEntities(model, db)
        if schema.hasModel { try schema.readLinks(db) } else { try schema.inferLinks(db) }
        schema.history = try CoreDataHistory.read(db)
        return schema
    }

    /// The tables of entities, sorted.
    var tables: [String] { Set(entities.values.map(\.table)).sorted() }

    /// The entity of a name, letters without case.
    func entity(_ name: String) -> CoreDataEntity? { entities[name.lowercased()] }

    /// The relationships of the rows of an entity and its sub-entities.
    func links(of entity: CoreDataEntity) -> [ModelLink] {
        (links[entity.table] ?? []).filter { !Set($0.numbers).isDisjoint(with: entity.numbers) }
    }

    /// To-one relationships of other rows that point at rows of a table and have no way back.
    func oneWayLinks(to table: String) -> [ModelLink] {
        links.values.joined().filter { $0.destinationTable == table && $0.inverse == nil }
            .sorted { ($0.table, $0.relationship.name) < ($1.table, $1.relationship.name) }
    }

    // MARK: Reading

    private static func model(modelPath: String?, store: String, _ db: Database) throws -> ManagedObjectModel? {
        do {
            if let modelPath {
                let metadata = try Data.fetchOne(db, sql: "SELECT Z_PLIST FROM main.Z_METADATA LIMIT 1")
                return try ManagedObjectModel.read(path: modelPath, storeMetadata: metadata.map { [UInt8]($0) })
            }
            guard
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = 'Z_MODELCACHE'")
                    == 1,
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

    private mutating func readEntities(_ model: ManagedObjectModel?, _ db: Database) throws {
        let rows = try Row.fetchAll(
            db, sql: "SELECT Z_ENT, Z_NAME, Z_SUPER FROM main.Z_PRIMARYKEY WHERE Z_NAME IS NOT NULL ORDER BY Z_ENT")
        let tables = Dictionary(
            try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type = 'table'")
                .map { ($0.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        ownTables = Set(
            tables.keys.filter {
                ["z_metadata", "z_primarykey", "z_modelcache", "achange", "atransaction", "atransactionstring"]
                    .contains($0) || $0.hasPrefix("z_")
            })
        var parents: [Int64: Int64] = [:]
        // A migration leaves the name that an entity had when its number was given.
        var stored: [Int64: String] = [:]
        var named: [Int64: String] = [:]
        for row in rows {
            guard let number = row["Z_ENT"] as Int64?, let name = row["Z_NAME"] as String? else { continue }
            stored[number] = name
            named[number] = model?.entity(formerlyNamed: name)?.name ?? name
            if let parent = row["Z_SUPER"] as Int64?, parent != 0, parent != number { parents[number] = parent }
        }
        func chain(_ number: Int64) -> [Int64] {
            var chain = [number]
            while let next = parents[chain[chain.count - 1]], !chain.contains(next) { chain.append(next) }
            return chain
        }
        // The history's own entities have no table of their own name.
        let chains = named.keys.sorted().filter { !CoreDataHistory.isOwn($0) }.map { ($0, chain($0)) }
        for (number, chain) in chains {
            let root = chain[chain.count - 1]
            guard let name = named[number],
                let table = [named[root], stored[root]].compactMap({ $0.flatMap { tables["z" + $0.lowercased()] } })
                    .first
            else { continue }
            let family = chains.filter { $0.1.last == chain.last }
            let members = family.filter { $0.1.contains(number) }.map(\.0).sorted()
            var entity = CoreDataEntity(
                name: name, number: number, table: table, parent: chain.count > 1 ? named[chain[1]] : nil,
                numbers: members, sharesTable: members.count < family.count,
                subentities: members.filter { $0 != number }.compactMap { named[$0] }.sorted(),
                memberNames: Dictionary(
                    members.compactMap { member in named[member].map { (member, $0) } },
                    uniquingKeysWith: { first, _ in first }), managed: model?.entities[name])
            if model != nil, entity.managed == nil {
                entity.unsupported = "the model of the store does not know the entity \(name)"
            }
            entities[name.lowercased()] = entity
            names.append(name)
            ownTables.insert(table.lowercased())
        }
        for key in entities.keys { try readColumns(of: key, db) }
    }

    /// Finds the columns of an entity's properties: `Z` and the name in capitals.
    private mutating func readColumns(of key: String, _ db: Database) throws {
        guard var entity = entities[key] else { return }
        let columns = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main')", arguments: [entity.table])
        guard let managed = entity.managed else {
            // Without a model a property is known by its column alone.
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

    /// Finds where each relationship is stored, and groups what sub-entities inherit.
    private mutating func readLinks(_ db: Database) throws {
        let columns = try columnNames(db)
        let chains = entities.mapValues { chainNumbers($0) }
        for key in entities.keys.sorted() {
            guard let entity = entities[key], let managed = entity.managed else { continue }
            for relationship in managed.relationships.values.sorted(by: { $0.name < $1.name })
            where !relationship.isTransient {
                guard let destination = self.entity(relationship.destination), let target = destination.managed else {
                    entities[key]?.unsupported =
                        "its relationship \(relationship.name) leads to \(relationship.destination), which is not there"
                    continue
                }
                let inverse = relationship.inverse.flatMap { target.relationships[$0] }
                if inverse?.isTransient == true { continue }
                let resolver = LinkResolver(
                    entity: entity, relationship: relationship, destination: destination, inverse: inverse,
                    chains: chains, columns: columns)
                guard let link = resolver.link() else {
                    entities[key]?.unsupported =
                        "it cannot be told where its relationship \(relationship.name) is stored"
                    continue
                }
                if entity.ambiguous[relationship.name.lowercased()] != nil
                    || inverse.map({ destination.ambiguous[$0.name.lowercased()] != nil }) ?? false
                {
                    entities[key]?.unsupported =
                        "several columns could hold its relationship \(relationship.name)"
                    continue
                }
                add(link)
            }
        }
        for (table, found) in links {
            let all = Set(entities.values.filter { $0.table == table }.map(\.number))
            links[table] = found.map { link in
                var link = link
                link.numbers.sort()
                link.coversTable = Set(link.numbers) == all
                return link
            }
        }
    }

    /// The columns of every table.
    private func columnNames(_ db: Database) throws -> [String: Set<String>] {
        var columns: [String: Set<String>] = [:]
        let query = """
            SELECT m.name AS owner, c.name AS name FROM main.sqlite_schema AS m, pragma_table_xinfo(m.name, 'main') AS c
            WHERE m.type = 'table'
            """
        for row in try Row.fetchAll(db, sql: query) { columns[row["owner"], default: []].insert(row["name"]) }
        return columns
    }

    /// Finds what the tables of a store without a model prove: a reference whose column names the number of its entity,
    /// and tables of pairs. An indexed column of whole numbers may be a reference, too, and is only noted.
    private mutating func inferLinks(_ db: Database) throws {
        let columns = try columnNames(db)
        let byNumber = Dictionary(entities.values.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        func link(_ table: String, _ name: String, to number: Int64, _ storage: ModelLink.Storage) -> ModelLink? {
            guard let destination = byNumber[number] else { return nil }
            let owners = entities.values.filter { $0.table == table }.sorted { $0.number < $1.number }
            return ModelLink(
                relationship: ManagedRelationship(
                    name: name, destination: destination.name, inverse: nil, deleteRule: .noAction, isOptional: true,
                    minCount: 0, maxCount: 1, hasOrder: false, isTransient: false),
                inverse: nil, table: table, numbers: owners.map(\.number), coversTable: true,
                owner: owners.first?.name ?? table, destinationTable: destination.table, storage: storage)
        }
        func number(of column: String, prefix: String, suffix: String) -> Int64? {
            guard column.hasPrefix(prefix), column.hasSuffix(suffix) else { return nil }
            return Int64(column.dropFirst(prefix.count).dropLast(suffix.count))
        }
        for table in Set(entities.values.map(\.table)).sorted() {
            let own = columns[table] ?? []
            for column in own.sorted() where column.hasPrefix("Z") && !column.hasPrefix("Z_") {
                let name = String(column.dropFirst())
                if let number = own.compactMap({ number(of: $0, prefix: "Z", suffix: "_" + name) }).first,
                    let companion = own.first(where: { $0 == "Z\(number)_\(name)" }),
                    let found = link(
                        table, name.lowercased(), to: number,
                        .own(ModelLink.Reference(column: column, companions: [companion])))
                {
                    links[table, default: []].append(found)
                } else if try isIndexed(column, of: table, db) {
                    unprovenReferences.append((table, column))
                }
            }
        }
        for (table, own) in columns.sorted(by: { $0.key < $1.key }) where table.hasPrefix("Z_") {
            let ends = own.filter { $0.hasPrefix("Z_") && !$0.hasPrefix("Z_FOK") }.sorted()
            for end in ends {
                guard let number = Int64(end.dropFirst(2).prefix { $0.isNumber }),
                    let found = link(table, end, to: number, .pairs(table: table, own: [], other: [end]))
                else { continue }
                links[table, default: []].append(found)
            }
        }
    }

    private func isIndexed(_ column: String, of table: String, _ db: Database) throws -> Bool {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM pragma_table_xinfo(?1, 'main') AS c, pragma_index_list(?1, 'main') AS l,
                    pragma_index_info(l.name, 'main') AS i
                WHERE c.name = ?2 AND upper(c.type) = 'INTEGER' AND i.name = c.name AND i.seqno = 0
                """, arguments: [table, column]) ?? 0 > 0
    }

    private mutating func add(_ link: ModelLink) {
        let known = links[link.table, default: []].firstIndex {
            $0.relationship == link.relationship && $0.inverse == link.inverse && $0.storage == link.storage
                && $0.destinationTable == link.destinationTable && $0.back == link.back
        }
        if let known {
            links[link.table]?[known].numbers += link.numbers
        } else {
            links[link.table, default: []].append(link)
        }
    }

    /// The numbers of an entity and of those that it inherits from, nearest first: a column may carry any of them.
    private func chainNumbers(_ entity: CoreDataEntity) -> [Int64] {
        var numbers = [entity.number]
        var next = entity.parent
        while let name = next, let parent = self.entity(name), !numbers.contains(parent.number) {
            numbers.append(parent.number)
            next = parent.parent
        }
        return numbers
    }
}

extension ManagedEntity {
    /// The names of the properties that may have a column, sorted.
    fileprivate var propertyNames: [String] {
        (attributes.values.filter { !$0.isTransient }.map(\.name)
            + relationships.values.filter { !$0.isTransient && !$0.isToMany }.map(\.name)).sorted()
    }
}

/// Finds the columns or the table of one relationship.
private struct LinkResolver {
    let entity: CoreDataEntity
    let relationship: ManagedRelationship
    let destination: CoreDataEntity
    let inverse: ManagedRelationship?
    /// The numbers that a column may carry for an entity, by its lower-cased name.
    let chains: [String: [Int64]]
    /// The columns of every table.
    let columns: [String: Set<String>]

    /// The link, or nil if nothing that could hold it is there.
    func link() -> ModelLink? {
        var link = ModelLink(
            relationship: relationship, inverse: inverse, table: entity.table, numbers: [entity.number],
            coversTable: false, owner: entity.name, destinationTable: destination.table,
            storage: .pairs(table: "", own: [], other: []))
        if !relationship.isToMany {
            guard let own = reference(in: entity.table, relationship.name, pointingAt: destination) else { return nil }
            link.storage = .own(own)
            if let inverse, !inverse.isToMany {
                guard let back = reference(in: destination.table, inverse.name, pointingAt: entity) else { return nil }
                link.back = back
            }
            return link
        }
        if let inverse, !inverse.isToMany {
            guard let other = reference(in: destination.table, inverse.name, pointingAt: entity) else { return nil }
            link.storage = .other(other)
            return link
        }
        if let pairs {
            link.storage = pairs
            return link
        }
        // A to-many relationship without a way back is kept in a hidden column of the other end.
        for number in numbersOf(entity) {
            let column = "Z\(number)\(relationship.name.uppercased())"
            guard inverse == nil, has(destination.table, column) else { continue }
            let order = "Z_FOK_\(number)\(relationship.name.uppercased())"
            link.storage = .other(
                ModelLink.Reference(column: column, companions: has(destination.table, order) ? [order] : []))
            return link
        }
        return nil
    }

    private func numbersOf(_ entity: CoreDataEntity) -> [Int64] { chains[entity.name.lowercased()] ?? [] }

    private func has(_ table: String, _ column: String) -> Bool { columns[table]?.contains(column) ?? false }

    private func reference(
        in table: String, _ name: String, pointingAt other: CoreDataEntity
    ) -> ModelLink.Reference? {
        let capital = name.uppercased()
        guard has(table, "Z\(capital)") else { return nil }
        let companions = numbersOf(other).map { "Z\($0)_\(capital)" } + ["Z_FOK_\(capital)"]
        return ModelLink.Reference(column: "Z\(capital)", companions: companions.filter { has(table, $0) })
    }

    /// The table of pairs: named after the number and the relationship of either side, its columns after the entity
    /// that they point at and the relationship that leads there.
    private var pairs: ModelLink.Storage? {
        let name = relationship.name.uppercased()
        let back = inverse?.name.uppercased()
        for own in numbersOf(entity) {
            for other in numbersOf(destination) {
                let tables = ["Z_\(own)\(name)"] + (back.map { ["Z_\(other)\($0)"] } ?? [])
                for table in tables {
                    let toOther = "Z_\(other)\(name)"
                    if let back {
                        let toOwn = "Z_\(own)\(back)"
                        if toOwn != toOther, has(table, toOwn), has(table, toOther) {
                            return .pairs(table: table, own: [toOwn], other: [toOther])
                        }
                    }
                    // A relationship that is its own way back has one column of its name and one called reflexive.
                    if has(table, toOther), has(table, "REFLEXIVE") {
                        return .pairs(table: table, own: [toOther, "REFLEXIVE"], other: ["REFLEXIVE", toOther])
                    }
                    let toOwn = "Z_\(own)\(name)"
                    if toOwn != toOther, has(table, toOwn), has(table, toOther) {
                        return .pairs(table: table, own: [toOwn], other: [toOther])
                    }
                    if own == other, has(table, toOther), has(table, toOther + "1") {
                        return .pairs(
                            table: table, own: [toOther, toOther + "1"], other: [toOther + "1", toOther])
                    }
                }
            }
        }
        return nil
    }
}

extension ManagedObjectModel {
    /// The entity of a name, or the one that had it before it was given another.
    fileprivate func entity(formerlyNamed name: String) -> ManagedEntity? {
        entities[name] ?? entities.values.filter { $0.formerName == name }.min { $0.name < $1.name }
    }
}
