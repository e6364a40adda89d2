import PriceStore

@testable import CoreDataSamples

/// Batch deletes of a Core Data store as the delete rules say them, row by row and without regard to speed: what the
/// engine is held against. It shares no code with the engine.
struct ReferenceDeletes {
    let model: ModelDescription
    let layout: CoreDataLayout
    let rows: ReferenceRows

    /// A row of the store.
    struct Object: Hashable, Comparable {
        var table: String
        var key: Int64

        static func < (a: Object, b: Object) -> Bool { (a.table, a.key) < (b.table, b.key) }
    }

    /// Why a request does nothing at all. Relationships are named by the entity that declares them.
    enum Refusal: Hashable {
        /// The model has a deny rule within reach, whether rows match or not.
        case denyRule(CoreDataLayout.Property)
        /// A row that stays must not lose its other end.
        case mandatory(CoreDataLayout.Property)
        /// A row that stays would point at nothing, by a relationship without an inverse.
        case dangling(CoreDataLayout.Property)
    }

    /// What a request does.
    struct Result {
        /// The store afterwards; as it was, if the request is refused.
        var rows: ReferenceRows
        /// The rows of the request itself.
        var matched: Set<Object> = []
        /// The rows that go by cascades.
        var cascaded: Set<Object> = []
        /// The rows that stay and of which a stored reference is cleared.
        var nullified: Set<Object> = []
        /// The rows that stay and whose `Z_OPT` grows.
        var updated: Set<Object> = []
        /// Empty: the request is carried out.
        var refusals: Set<Refusal> = []
    }

    /// Makes the reference over a store's rows. `model` has no transient relationships.
    init(model: ModelDescription, rows: ReferenceRows) {
        self.model = model
        self.layout = CoreDataLayout(model)
        self.rows = rows
    }

    /// The result of deleting the rows of an entity, and of those that inherit from it if they are meant, that have one
    /// of the keys.
    func delete(
        _ entity: String, keys: Set<Int64>, includesSubentities: Bool = true
    ) -> Result {
        var result = Result(rows: rows)
        let family = includesSubentities ? names(entity) : [entity]
        let table = table(of: entity)
        let matched = keys.map { Object(table: table, key: $0) }.filter {
            family.contains(self.entity(of: $0) ?? "")
        }
        result.matched = Set(matched)
        result.refusals = denyRules(family)

        var gone = result.matched
        var waiting = matched
        while let object = waiting.popLast() {
            for next in cascades(from: object) where gone.insert(next).inserted { waiting.append(next) }
        }
        result.cascaded = gone.subtracting(result.matched)
        for object in gone.sorted() {
            for link in links(of: object) { apply(link, to: object, gone: gone, &result) }
            for link in oneWayLinks(at: object) { applyOneWay(link, at: object, gone: gone, &result) }
        }
        for object in gone { result.rows.objects[object.table]?[object.key] = nil }
        if !result.refusals.isEmpty {
            result = Result(rows: rows, matched: result.matched, refusals: result.refusals)
        }
        return result
    }

    // MARK: Relationships

    /// A relationship as seen from a row that declares or inherits it.
    private struct Link {
        var property: CoreDataLayout.Property
        var relationship: ModelDescription.Relationship
        /// The inverse, with the entity that declares it.
        var inverse: (property: CoreDataLayout.Property, relationship: ModelDescription.Relationship)?
    }

    private func names(_ entity: String) -> Set<String> { Set(model.family(entity).map(\.name)) }

    private func table(of entity: String) -> String { CoreDataLayout.table(model.lineage(entity).first?.name ?? "") }

    /// The entity of a row that is in the store.
    func entity(of object: Object) -> String? {
        guard case .integer(let number)? = rows.objects[object.table]?[object.key]?["Z_ENT"] else { return nil }
        return layout.numbers.first { $0.value == number }?.key
    }

    private func links(of entity: String) -> [Link] {
        model.lineage(entity).flatMap { owner in
            owner.relationships.map { relationship in
                let inverse = relationship.inverse.flatMap { model.relationship($0, of: relationship.destination) }
                return Link(
                    property: .init(entity: owner.name, name: relationship.name), relationship: relationship,
                    inverse: inverse.map {
                        (.init(entity: $0.owner, name: $0.relationship.name), $0.relationship)
                    })
            }
        }
    }

    private func links(of object: Object) -> [Link] { entity(of: object).map(links) ?? [] }

    /// The rows at the other end that are in the store.
    private func others(_ link: Link, of object: Object) -> Set<Object> {
        let table = table(of: link.relationship.destination)
        let stored = rows.objects[table] ?? [:]
        if let reference = layout.references[link.property] {
            guard case .integer(let key)? = rows.objects[object.table]?[object.key]?[reference.key] else { return [] }
            return stored[key] == nil ? [] : [Object(table: table, key: key)]
        }
        if let inverse = link.inverse, let reference = layout.references[inverse.property] {
            let pointing = stored.filter { $0.value[reference.key] == .integer(object.key) }
            return Set(pointing.keys.map { Object(table: table, key: $0) })
        }
        var keys: Set<Int64> = []
        for (join, mine, other) in joins(link) {
            for row in rows.others[join.table] ?? [] where row[mine] == .integer(object.key) {
                if case .integer(let key)? = row[other], stored[key] != nil { keys.insert(key) }
            }
        }
        return Set(keys.map { Object(table: table, key: $0) })
    }

    /// The join table of a many-to-many, with the column of the own rows and that of the others; a relationship that is
    /// its own inverse has it both ways.
    private func joins(_ link: Link) -> [(CoreDataLayout.Join, mine: String, other: String)] {
        layout.joins.flatMap { join in
            (join.source == link.property ? [(join, join.sourceColumn, join.destinationColumn)] : [])
                + (join.destination == link.property ? [(join, join.destinationColumn, join.sourceColumn)] : [])
        }
    }

    /// The relationships without an inverse of which some row may point at this one.
    private func oneWayLinks(at entity: String) -> [Link] {
        model.entities.flatMap { owner in
            links(of: owner.name).filter { link in
                link.property.entity == owner.name && link.inverse == nil
                    && names(link.relationship.destination).contains(entity)
            }
        }
    }

    private func oneWayLinks(at object: Object) -> [Link] { entity(of: object).map { oneWayLinks(at: $0) } ?? [] }

    /// The rows that point at a row by a relationship without an inverse.
    private func pointing(_ link: Link, at object: Object) -> [Object] {
        guard let reference = layout.references[link.property] else { return [] }
        return (rows.objects[reference.table] ?? [:]).filter { $0.value[reference.key] == .integer(object.key) }
            .map { Object(table: reference.table, key: $0.key) }
    }

    // MARK: Rules

    /// The deny rules that the model puts within reach of the request.
    private func denyRules(_ family: Set<String>) -> Set<Refusal> {
        var refusals: Set<Refusal> = []
        var reached = family
        var waiting = Array(family)
        while let entity = waiting.popLast() {
            for link in links(of: entity) {
                switch link.relationship.rule {
                case .cascade:
                    for name in names(link.relationship.destination) where reached.insert(name).inserted {
                        waiting.append(name)
                    }
                case .deny: refusals.insert(.denyRule(link.property))
                case .nullify, .noAction: break
                }
            }
        }
        return refusals
    }

    private func cascades(from object: Object) -> Set<Object> {
        links(of: object).filter { $0.relationship.rule == .cascade }
            .reduce(into: []) { $0.formUnion(others($1, of: object)) }
    }

    /// What one relationship of a row that goes does to the rows that stay.
    private func apply(_ link: Link, to object: Object, gone: Set<Object>, _ result: inout Result) {
        let rule = link.relationship.rule
        let staying = others(link, of: object).subtracting(gone)
        guard rule != .noAction else { return }
        for (join, mine, _) in joins(link) {
            result.rows.others[join.table]?.removeAll { $0[mine] == .integer(object.key) }
        }
        guard rule != .deny else { return }
        guard let inverse = link.inverse else { return }
        if !inverse.relationship.isOptional, !staying.isEmpty { result.refusals.insert(.mandatory(link.property)) }
        if let reference = layout.references[inverse.property] {
            for other in staying { clear(reference, of: other, pointingAt: object, &result) }
        } else if layout.references[link.property] != nil {
            for other in staying { grow(other, &result) }
        }
    }

    private func applyOneWay(_ link: Link, at object: Object, gone: Set<Object>, _ result: inout Result) {
        if !pointing(link, at: object).allSatisfy(gone.contains) { result.refusals.insert(.dangling(link.property)) }
    }

    /// Clears a reference with all its columns, if it points at the object.
    private func clear(
        _ reference: CoreDataLayout.Reference, of other: Object, pointingAt object: Object, _ result: inout Result
    ) {
        guard result.rows.objects[other.table]?[other.key]?[reference.key] == .integer(object.key) else { return }
        for column in reference.columns { result.rows.objects[other.table]?[other.key]?[column] = .null }
        result.nullified.insert(other)
        grow(other, &result)
    }

    private func grow(_ object: Object, _ result: inout Result) {
        guard case .integer(let count)? = result.rows.objects[object.table]?[object.key]?["Z_OPT"] else { return }
        result.rows.objects[object.table]?[object.key]?["Z_OPT"] = .integer(count + 1)
        result.updated.insert(object)
    }
}
