import PriceStore
import TestSupport

@testable import CoreDataSamples

/// A random model, and rows that fit it: what no sample store has in full.
struct RandomModel: Choosing {
    var random: SeededRandom
    var model = ModelDescription(entities: [])
    /// What the model and its rows are there to try.
    var seen: Set<String> = []
    private var nameCount = 0
    private let allowsDeny: Bool
    private let allowsMandatory: Bool
    private let allowsNoAction: Bool
    /// Whether some references point at rows that are not there.
    let dangles: Bool

    static let entityNames = [
        "Price", "Symbol", "Group", "NWOrder", "NetTick", "Account", "Feed", "Note", "Zone", "index", "Z", "PriceZone",
    ]
    static let date = "at"

    init(seed: UInt64) {
        random = SeededRandom(seed &* 0x5851_F42D)
        _ = random.next()
        allowsDeny = Int.random(in: 0..<100, using: &random) < 12
        allowsMandatory = Int.random(in: 0..<100, using: &random) < 30
        allowsNoAction = Int.random(in: 0..<100, using: &random) < 40
        dangles = Int.random(in: 0..<100, using: &random) < 20
        makeEntities()
        for _ in 0..<pick([0, 1, 2, 3, 4, 6]) { makeRelationship() }
    }

    // MARK: Entities

    private mutating func makeEntities() {
        var names = Self.entityNames.shuffled(using: &random)
        for _ in 0..<pick([1, 2, 2, 3]) {
            var root = ModelDescription.Entity(
                name: names.removeLast(), attributes: [.init(name: Self.date, kind: .date)])
            let children = pick([0, 0, 1, 2])
            root.isAbstract = children > 0 && chance(25)
            model.entities.append(root)
            for _ in 0..<children {
                let child = names.removeLast()
                model.entities.append(.init(name: child, parent: root.name))
                if chance(35), !names.isEmpty {
                    model.entities.append(.init(name: names.removeLast(), parent: child))
                    seen.insert("three levels")
                }
            }
            guard names.count > 4 else { break }
        }
        for index in model.entities.indices {
            for _ in 0..<pick([0, 1, 2]) {
                model.entities[index].attributes.append(
                    .init(name: name("value"), kind: pick([.string, .double, .integer64, .binary, .boolean, .decimal])))
            }
            if chance(30), model.entities[index].parent == nil {
                model.entities[index].indexes.append(.init(name: "by_\(Self.date)", attributes: [Self.date]))
            }
        }
    }

    /// A name that no other property has, in one case or another and at any place in the alphabet.
    private mutating func name(_ stem: String) -> String {
        nameCount += 1
        return pick(["a", "m", "x", ""]) + stem + "\(nameCount)"
    }

    // MARK: Relationships

    private mutating func makeRelationship() {
        let source = Int.random(in: 0..<model.entities.count, using: &random)
        let isReflexive = chance(30)
        let destination = isReflexive ? source : Int.random(in: 0..<model.entities.count, using: &random)
        let (from, to) = (model.entities[source].name, model.entities[destination].name)
        let kind = isReflexive ? "reflexive " : ""
        if model.family(to).count > 1 { seen.insert("destination with sub-entities") }
        func relationship(_ name: String, _ destination: String, _ inverse: String?) -> ModelDescription.Relationship {
            .init(name: name, destination: destination, inverse: inverse, rule: .nullify)
        }
        var one = relationship(name("one"), to, nil)
        switch Int.random(in: 0..<(isReflexive ? 10 : 8), using: &random) {
        case 0:
            one.rule = rule()
            one.isOptional = isOptional()
            model.entities[source].relationships.append(one)
            seen.insert(kind + "one way")
            return
        case 1, 2, 3:
            let many = relationship(name("many"), from, one.name)
            one.inverse = many.name
            add(one, to: source, many, to: destination, isToMany: (false, true))
            seen.insert(kind + "to-one and to-many")
        case 4, 5:
            let back = relationship(name("back"), from, one.name)
            one.inverse = back.name
            add(one, to: source, back, to: destination, isToMany: (false, false))
            seen.insert(kind + "one-to-one")
        case 6, 7:
            let others = relationship(name("others"), from, one.name)
            one.inverse = others.name
            add(one, to: source, others, to: destination, isToMany: (true, true))
            seen.insert(kind + "many-to-many")
        case 8:
            one.inverse = one.name
            one.rule = rule()
            one.isOptional = isOptional()
            model.entities[source].relationships.append(one)
            seen.insert("one-to-one that is its own inverse")
        default:
            one.inverse = one.name
            one.rule = rule()
            one.isToMany = true
            one.isOptional = isOptional()
            model.entities[source].relationships.append(one)
            seen.insert("many-to-many that is its own inverse")
        }
    }

    private mutating func add(
        _ first: ModelDescription.Relationship, to source: Int, _ second: ModelDescription.Relationship,
        to destination: Int, isToMany: (Bool, Bool)
    ) {
        for (var relationship, place, toMany) in [(first, source, isToMany.0), (second, destination, isToMany.1)] {
            relationship.isToMany = toMany
            relationship.isOrdered = toMany && chance(30)
            relationship.rule = rule()
            relationship.isOptional = isOptional()
            if relationship.isOrdered { seen.insert(isToMany.0 ? "ordered many-to-many" : "ordered to-many") }
            model.entities[place].relationships.append(relationship)
        }
    }

    private mutating func rule() -> ModelDescription.DeleteRule {
        let rule: ModelDescription.DeleteRule
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15 where allowsDeny: rule = .deny
        case 15..<30 where allowsNoAction: rule = .noAction
        case 30..<60: rule = .cascade
        default: rule = .nullify
        }
        seen.insert("rule \(rule)")
        return rule
    }

    private mutating func isOptional() -> Bool {
        let isOptional = !(allowsMandatory && chance(35))
        if !isOptional { seen.insert("mandatory") }
        return isOptional
    }
}
