import GRDB
import PriceStore
import TestSupport

@testable import CoreDataSamples
@testable import SQLiteStore

extension RandomModel {
    /// The dates are these or up to an hour later, in seconds since 2001-01-01T00:00:00Z.
    static let firstDate = 760_000_000.0

    /// Rows of one store while they are made.
    private struct Draft {
        var rows: [String: [Int64: [String: StoreValue]]] = [:]
        var keys: [String: [Int64]] = [:]
        var pairs: [String: [[String: StoreValue]]] = [:]
    }

    /// Makes a store of the model with random rows.
    mutating func write(path: String, hasHistory: Bool = false) throws {
        let layout = CoreDataLayout(model)
        var draft = Draft()
        makeRows(layout, &draft)
        for entity in model.entities {
            for relationship in entity.relationships { connect(entity.name, relationship, layout, &draft) }
        }
        try CoreDataStore(path: path, model: model, hasHistory: hasHistory, savedAtAppleSeconds: Self.firstDate)
            .write { db, _ in
                for (table, rows) in draft.rows.sorted(by: { $0.key < $1.key }) {
                    for key in rows.keys.sorted() { try Self.insert(rows[key] ?? [:], into: table, db) }
                }
                for (table, pairs) in draft.pairs.sorted(by: { $0.key < $1.key }) {
                    for pair in pairs { try Self.insert(pair, into: table, db) }
                }
            }
    }

    private static func insert(_ row: [String: StoreValue], into table: String, _ db: Database) throws {
        let names = row.keys.sorted()
        try db.execute(
            sql: """
                INSERT INTO \(table.quotedDatabaseIdentifier) \
                (\(names.map(\.quotedDatabaseIdentifier).joined(separator: ", "))) \
                VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
                """, arguments: StatementArguments(names.map { row[$0]?.databaseValue }))
    }

    // MARK: Rows

    private mutating func makeRows(_ layout: CoreDataLayout, _ draft: inout Draft) {
        for root in model.roots {
            var key: Int64 = 0
            let family = model.family(root.name).filter { !$0.isAbstract }
            var entities = family.flatMap { entity in
                Array(repeating: entity.name, count: pick([0, 1, 3, 6, 12]))
            }
            entities.shuffle(using: &random)
            for entity in entities {
                key += Int64(pick([1, 1, 1, 2, 5]))
                var row: [String: StoreValue] = [
                    "Z_PK": .integer(key), "Z_ENT": .integer(Int64(layout.numbers[entity] ?? 0)),
                    "Z_OPT": .integer(Int64(pick([1, 1, 2, 7]))),
                ]
                for attribute in model.lineage(entity).flatMap(\.attributes) {
                    row[CoreDataLayout.column(attribute.name)] = value(of: attribute)
                }
                draft.rows[CoreDataLayout.table(root.name), default: [:]][key] = row
                for name in model.lineage(entity).map(\.name) { draft.keys[name, default: []].append(key) }
            }
        }
    }

    private mutating func value(of attribute: ModelDescription.Attribute) -> StoreValue {
        if chance(8) { return .null }
        switch attribute.kind {
        case .date: return .real(Self.firstDate + Double(Int.random(in: 0..<7200, using: &random)) / 2)
        case .string: return .text(pick(["", "XAU", "é", "0"]))
        case .binary: return .blob(pick([[], [0, 1], [255]]))
        case .double, .decimal: return .real(pick([0.5, -1.25, 1e10, 3.0]))
        default: return .integer(pick([0, 1, -5, 1 << 40]))
        }
    }

    // MARK: References

    private mutating func connect(
        _ entity: String, _ relationship: ModelDescription.Relationship, _ layout: CoreDataLayout,
        _ draft: inout Draft
    ) {
        let property = CoreDataLayout.Property(entity: entity, name: relationship.name)
        let sources = draft.keys[entity] ?? []
        let destinations = draft.keys[relationship.destination] ?? []
        if let join = layout.joins.first(where: { $0.source == property }) {
            draft.pairs[join.table] = pairs(join, sources, destinations)
        }
        guard let reference = layout.references[property] else { return }
        let found = relationship.inverse.flatMap { model.relationship($0, of: relationship.destination) }
        guard let found, !found.relationship.isToMany else {
            let isChain = entity == relationship.destination && chance(40)
            for (place, source) in sources.enumerated() {
                guard !destinations.isEmpty, !(relationship.isOptional && chance(20)) else { continue }
                if dangles, chance(8) {
                    point(source, reference, at: 9000 + source, relationship, layout, &draft)
                } else {
                    let next = isChain ? destinations[(place + 1) % destinations.count] : pick(destinations)
                    point(source, reference, at: next, relationship, layout, &draft)
                }
            }
            return
        }
        connectOneToOne(property, relationship, found, layout, &draft)
    }

    /// Both sides of a one-to-one hold the key of the other.
    private mutating func connectOneToOne(
        _ property: CoreDataLayout.Property, _ relationship: ModelDescription.Relationship,
        _ inverse: (owner: String, relationship: ModelDescription.Relationship), _ layout: CoreDataLayout,
        _ draft: inout Draft
    ) {
        let back = CoreDataLayout.Property(entity: inverse.owner, name: inverse.relationship.name)
        guard let reference = layout.references[property], let backward = layout.references[back] else { return }
        let sources = (draft.keys[property.entity] ?? []).shuffled(using: &random)
        if property == back {
            for pair in stride(from: 0, to: sources.count - 1, by: 2) where chance(80) {
                point(sources[pair], reference, at: sources[pair + 1], relationship, layout, &draft)
                point(sources[pair + 1], reference, at: sources[pair], relationship, layout, &draft)
            }
            return
        }
        // The pair is made once, from the side that comes first.
        guard (property.entity, property.name) < (back.entity, back.name) else { return }
        let destinations = (draft.keys[relationship.destination] ?? []).shuffled(using: &random)
        for (source, destination) in zip(sources, destinations) where chance(85) {
            if dangles, chance(8) {
                point(source, reference, at: 9000 + source, relationship, layout, &draft)
            } else {
                point(source, reference, at: destination, relationship, layout, &draft)
                point(destination, backward, at: source, inverse.relationship, layout, &draft)
            }
        }
    }

    private mutating func point(
        _ source: Int64, _ reference: CoreDataLayout.Reference, at key: Int64,
        _ relationship: ModelDescription.Relationship, _ layout: CoreDataLayout, _ draft: inout Draft
    ) {
        let table = CoreDataLayout.table(model.lineage(relationship.destination).first?.name ?? "")
        draft.rows[reference.table]?[source]?[reference.key] = .integer(key)
        if let entity = reference.entity {
            let actual = draft.rows[table]?[key]?["Z_ENT"]
            draft.rows[reference.table]?[source]?[entity] =
                actual ?? .integer(Int64(layout.numbers[relationship.destination] ?? 0))
        }
        if let order = reference.order {
            draft.rows[reference.table]?[source]?[order] = .integer(Int64(pick([0, 1024, 2048, 3072])))
        }
    }

    /// Pairs of a many-to-many; a relationship that is its own inverse has each pair both ways.
    private mutating func pairs(_ join: CoreDataLayout.Join, _ sources: [Int64], _ destinations: [Int64])
        -> [[String: StoreValue]]
    {
        var chosen: [[Int64]] = []
        for source in sources where !destinations.isEmpty {
            for _ in 0..<pick([0, 1, 1, 3]) { chosen.append([source, pick(destinations)]) }
        }
        if join.source == join.destination { chosen += chosen.map { [$0[1], $0[0]] } }
        if dangles, let source = sources.first { chosen.append([source, 9000]) }
        var made: Set<[Int64]> = []
        return chosen.filter { made.insert($0).inserted }.map { pair in
            var row: [String: StoreValue] = [
                join.sourceColumn: .integer(pair[0]), join.destinationColumn: .integer(pair[1]),
            ]
            for column in join.orderColumns { row[column] = .integer(Int64(pick([0, 1024, 2048]))) }
            return row
        }
    }
}
