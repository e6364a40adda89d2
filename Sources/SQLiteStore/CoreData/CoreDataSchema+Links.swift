import GRDB
import PriceStore

/// Where the relationships of a model are stored.
extension CoreDataSchema {
    /// Finds where each relationship is stored, and merges what sub-entities inherit.
    mutating func readLinks(_ columns: [String: Set<String>]) {
        for key in entities.keys.sorted() {
            guard let entity = entities[key], let managed = entity.managed else { continue }
            for relationship in managed.relationships.values.sorted(by: { $0.name < $1.name })
            where !relationship.isTransient {
                guard let destination = self.entity(relationship.destination), let target = destination.managed else {
                    entities[key]?.unsupported =
                        "its relationship \(relationship.name) leads to \(relationship.destination), which does not exist"
                    continue
                }
                let inverse = relationship.inverse.flatMap { target.relationships[$0] }
                if inverse?.isTransient == true { continue }
                let resolver = LinkResolver(
                    entity: entity, relationship: relationship, destination: destination, inverse: inverse,
                    columns: columns)
                guard let link = resolver.link() else {
                    entities[key]?.unsupported =
                        "it is unknown where its relationship \(relationship.name) is stored"
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
}

/// Finds the columns or the table of one relationship.
private struct LinkResolver {
    let entity: CoreDataEntity
    let relationship: ManagedRelationship
    let destination: CoreDataEntity
    let inverse: ManagedRelationship?
    /// The columns of every table.
    let columns: [String: Set<String>]

    /// The link, or nil if no column or table can hold the relationship.
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
        // A to-many relationship without an inverse is stored in a hidden column of the other end.
        for number in entity.chain {
            let column = "Z\(number)\(relationship.name.uppercased())"
            guard inverse == nil, has(destination.table, column) else { continue }
            let order = "Z_FOK_\(number)\(relationship.name.uppercased())"
            link.storage = .other(
                ModelLink.Reference(column: column, companions: has(destination.table, order) ? [order] : []))
            return link
        }
        return nil
    }

    private func has(_ table: String, _ column: String) -> Bool { columns[table]?.contains(column) ?? false }

    private func reference(
        in table: String, _ name: String, pointingAt other: CoreDataEntity
    ) -> ModelLink.Reference? {
        let capital = name.uppercased()
        guard has(table, "Z\(capital)") else { return nil }
        let companions = other.chain.map { "Z\($0)_\(capital)" } + ["Z_FOK_\(capital)"]
        return ModelLink.Reference(column: "Z\(capital)", companions: companions.filter { has(table, $0) })
    }

    /// The join table. Its name consists of an entity number and the relationship of either side, and each column's name of the number of
    /// the entity that it refers to and the relationship.
    private var pairs: ModelLink.Storage? {
        let name = relationship.name.uppercased()
        let back = inverse?.name.uppercased()
        for own in entity.chain {
            for other in destination.chain {
                let tables = ["Z_\(own)\(name)"] + (back.map { ["Z_\(other)\($0)"] } ?? [])
                for table in tables {
                    let toOther = "Z_\(other)\(name)"
                    // A relationship that is its own inverse has one column with its name and one named REFLEXIVE, or its name with a 1.
                    let candidates: [(toOwn: String, isMutual: Bool)] =
                        (back.map { [("Z_\(own)\($0)", false)] } ?? [])
                        + [("REFLEXIVE", true), ("Z_\(own)\(name)", false)]
                        + (own == other ? [(toOther + "1", true)] : [])
                    for (toOwn, isMutual) in candidates
                    where toOwn != toOther && has(table, toOwn) && has(table, toOther) {
                        return isMutual
                            ? .pairs(table: table, own: [toOther, toOwn], other: [toOwn, toOther])
                            : .pairs(table: table, own: [toOwn], other: [toOther])
                    }
                }
            }
        }
        return numberedPairs
    }

    /// The join table if Core Data appended digits to a column's name because another property has that name.
    ///
    /// It is certain only if the table has exactly two reference columns and they fit this relationship and its inverse in only one way.
    private var numberedPairs: ModelLink.Storage? {
        guard let back = inverse?.name.uppercased() else { return nil }
        let name = relationship.name.uppercased()
        var found: Set<ModelLink.Storage> = []
        for own in entity.chain {
            for other in destination.chain {
                for table in ["Z_\(own)\(name)", "Z_\(other)\(back)"] {
                    let pair = (columns[table] ?? []).filter { !$0.hasPrefix("Z_FOK_") }.sorted()
                    guard pair.count == 2 else { continue }
                    for (toOwn, toOther) in [(pair[0], pair[1]), (pair[1], pair[0])]
                    where Self.is(toOwn, "Z_\(own)\(back)") && Self.is(toOther, "Z_\(other)\(name)") {
                        found.insert(.pairs(table: table, own: [toOwn], other: [toOther]))
                    }
                }
            }
        }
        return found.count == 1 ? found.first : nil
    }

    /// Whether a column's name is the given name, with or without digits after it.
    private static func `is`(_ column: String, _ name: String) -> Bool {
        column.hasPrefix(name) && column.dropFirst(name.count).allSatisfy { $0.isASCII && $0.isNumber }
    }
}
