import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// A store that is set up with the library alone.
struct EntityCreationTests {
    private let store: TemporaryStore
    private let writer: SQLiteWriter

    init() throws {
        store = try TemporaryStore()
        writer = try SQLiteWriter(path: store.path)
    }

    private let shop = Entity(
        name: "shop",
        attributes: [
            Attribute(name: "id", affinity: .integer),
            Attribute(name: "name", affinity: .text, isRequired: true, defaultValue: "o'shop"),
            Attribute(name: "rate", affinity: .real, defaultValue: 2.5),
        ], primaryKey: ["id"])

    private func shelf(_ rule: Relationship.DeleteRule) -> Entity {
        Entity(
            name: "shelf",
            attributes: [Attribute(name: "id", affinity: .integer), Attribute(name: "shop", affinity: .integer)],
            primaryKey: ["id"],
            relationships: [Relationship(from: "shelf", "shop", to: "shop", "id", deleteRule: rule)])
    }

    @Test(arguments: [Relationship.DeleteRule.cascade, .nullify, .setDefault, .restrict, .noAction])
    func relationshipsAreCreatedWithTheirDeleteRulesAndIndexes(_ rule: Relationship.DeleteRule) throws {
        try writer.createEntity(shop)
        try writer.createEntity(shelf(rule))
        let made = try #require(try writer.entity(named: "shelf")?.relationships.first)
        // There is no default but NULL.
        #expect(made == shelf(rule == .setDefault ? .nullify : rule).relationships[0])
        // Again: nothing is changed.
        try writer.createEntity(shelf(rule))
        let context = StoreContext(writer)
        context.insert(entity: "shop", values: ["id": 1])
        context.insert(entity: "shelf", values: ["id": 1, "shop": 1])
        try context.save()
        let all = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "shop"))
        switch rule {
        case .cascade: #expect(try context.execute(all).cascadedCount == 1)
        case .nullify, .setDefault: #expect(try context.execute(all).nullifiedCount == 1)
        case .restrict, .noAction: #expect(throws: StoreError.self) { try context.execute(all) }
        }
    }

    @Test func anEntityMayReferToOneThatComesLater() throws {
        try writer.createEntity(shelf(.cascade))
        try writer.createEntity(shop)
        try writer.execute(BatchInsertRequest(entity: "shop", objects: [["id": 1]]))
        try writer.execute(BatchInsertRequest(entity: "shelf", objects: [["id": 1, "shop": 1]]))
    }

    @Test func defaultsAreCreated() throws {
        try writer.createEntity(shop)
        try writer.execute(BatchInsertRequest(entity: "shop", objects: [["id": 1]]))
        let row = try writer.fetch(StoreFetchRequest(entity: "shop"), attributes: ["name", "rate"])
        #expect(row == [["o'shop", 2.5]])
        #expect(try writer.entity(named: "shop")?.attribute(named: "name")?.isRequired == true)
    }

    @Test func whatCannotBeCreatedIsAnErrorAndNothingIsCreated() throws {
        func entity(_ attribute: Attribute) -> Entity { Entity(name: "new", attributes: [attribute]) }
        let refused: [Entity] = [
            Entity(name: "new", kind: .view, attributes: [Attribute("a")]),
            Entity(name: "new", attributes: [Attribute("a")], deleteTriggers: ["t"]),
            entity(Attribute(name: "a", affinity: .none, isGenerated: true)),
            entity(Attribute(name: "a", affinity: .none, hasDefault: true)),
            entity(Attribute(name: "a", affinity: .none, dateEncoding: .unixSeconds)),
            entity(Attribute(name: "a", affinity: .none, column: "b")),
            entity(Attribute(name: "a", affinity: .integer, declaredType: "TEXT")),
            entity(Attribute(name: "a", affinity: .text, declaredType: "TEXT); DROP TABLE t; --")),
            Entity(name: "new", attributes: [Attribute("a")], primaryKey: ["b"]),
            Entity(name: "new", attributes: [Attribute("a")], relationships: shelf(.cascade).relationships),
            Entity(
                name: "new", attributes: [Attribute("a")],
                relationships: [Relationship(from: "new", "a", to: "shop", "missing")]),
            Entity(
                name: "new", attributes: [Attribute("a")],
                relationships: [Relationship(from: "new", "a", to: "New", "missing")]),
            // Not unique, so that every change of a shop would fail.
            Entity(
                name: "new", attributes: [Attribute("a")],
                relationships: [Relationship(from: "new", "a", to: "shop", "name")]),
            entity(Attribute(name: "a", affinity: .real, defaultValue: .real(.infinity))),
            entity(Attribute(name: "a", affinity: .text, defaultValue: "a\0b")),
            entity(Attribute(name: "", affinity: .text)),
            Entity(name: "", attributes: [Attribute("a")]),
        ]
        try writer.createEntity(shop)
        for entity in refused {
            #expect(throws: StoreError.self, "\(entity)") { try writer.createEntity(entity) }
        }
        #expect(try writer.entity(named: "new") == nil)
    }

    @Test func anExistingEntityGetsAttributesButNeitherKeysNorRelationshipsAreLeftOutSilently() throws {
        try writer.createEntity(shop)
        let wider = Entity(
            name: "shop",
            attributes: shop.attributes + [
                Attribute(name: "open", affinity: .integer, isRequired: true, defaultValue: true), Attribute("note"),
            ], primaryKey: ["id"])
        try writer.createEntity(wider)
        let made = try #require(try writer.entity(named: "shop"))
        #expect(made.attribute(named: "open")?.isRequired == true && made.attribute(named: "note") != nil)
        #expect(throws: StoreError.self) {
            try writer.createEntity(Entity(name: "shop", attributes: shop.attributes, primaryKey: ["name"]))
        }
        try writer.createEntity(shelf(.cascade))
        #expect(throws: StoreError.self) { try writer.createEntity(shelf(.nullify)) }
        try writer.createIndex(on: "shop", attributes: ["rate"], isUnique: true)
        let other = Relationship(from: "shelf", "shop", to: "shop", "rate", deleteRule: .cascade)
        #expect(throws: StoreError.self) {
            try writer.createEntity(
                Entity(
                    name: "shelf", attributes: shelf(.cascade).attributes, primaryKey: ["id"], relationships: [other]))
        }
        #expect(throws: StoreError.self) {
            try writer.createEntity(
                Entity(
                    name: "shop", attributes: [shop.attributes[0], Attribute(name: "rate", affinity: .text)],
                    primaryKey: ["id"]))
        }
    }

    @Test func anExistingEntityIsAsDescribed() throws {
        func price(_ attributes: Attribute...) -> Entity { Entity(name: "price", attributes: attributes) }
        let metal = Attribute(name: "metal", affinity: .text, isRequired: true, defaultValue: "gold")
        let time = Attribute(name: "time", affinity: .integer)
        try writer.createEntity(price(metal, time))
        try writer.createEntity(price(metal, time))
        let others: [(Attribute, String)] = [
            (
                Attribute(name: "metal", affinity: .text, isRequired: true, defaultValue: "silver"),
                "price already exists, with another default of metal"
            ),
            (
                Attribute(name: "metal", affinity: .text, isRequired: true),
                "price already exists, with another default of metal"
            ),
            (
                Attribute(name: "metal", affinity: .text, defaultValue: "gold"),
                "price already exists, with metal required"
            ),
            (
                Attribute(name: "time", affinity: .integer, isRequired: true),
                "price already exists, with time not required"
            ),
            (
                Attribute(name: "time", affinity: .integer, defaultValue: 1),
                "price already exists, with another default of time"
            ),
        ]
        for (attribute, message) in others {
            let error = #expect(throws: StoreError.self) { try writer.createEntity(price(attribute)) }
            #expect(error?.message == message)
            #expect(error?.hint?.contains("CREATE TABLE main.\"price\" (\"\(attribute.name)\"") == true)
        }
        let needed = Attribute(name: "dollars", affinity: .real, isRequired: true)
        let error = #expect(throws: StoreError.self) { try writer.createEntity(price(metal, time, needed)) }
        #expect(error?.message == "price already exists, and its rows would have no dollars")
        #expect(
            error?.hint?.hasSuffix(
                "ADD COLUMN \"dollars\" REAL NOT NULL DEFAULT <the value of these rows>") == true)
        #expect(try writer.entity(named: "price")?.attributes.count == 2)
    }

    @Test func indexesAreCreatedOnce() throws {
        try writer.createEntity(shop)
        for _ in 1...2 { try writer.createIndex(on: "shop", attributes: ["name", "rate"]) }
        try writer.createIndex(on: "shop", attributes: ["name"], isUnique: true)
        let names = try store.rows("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
        #expect(names == ["ix_shop_name_rate", "ux_shop_name"])
        try writer.execute(BatchInsertRequest(entity: "shop", objects: [["name": "a"]]))
        #expect { try writer.execute(BatchInsertRequest(entity: "shop", objects: [["name": "a"]])) } throws: {
            ($0 as? StoreError)?.kind == .constraint
        }
        #expect(throws: StoreError.self) { try writer.createIndex(on: "shop", attributes: ["missing"]) }
        #expect(throws: StoreError.self) { try writer.createIndex(on: "shop", attributes: []) }
    }

    @Test func indexesWhoseNamesWouldCollideAreBothCreated() throws {
        func entity(_ name: String, _ attribute: String) -> Entity {
            Entity(name: name, attributes: [Attribute(name: attribute, affinity: .integer)])
        }
        try writer.createEntity(entity("gold", "price_time"))
        try writer.createEntity(entity("gold_price", "time"))
        for _ in 1...2 {
            try writer.createIndex(on: "gold", attributes: ["price_time"])
            try writer.createIndex(on: "gold_price", attributes: ["time"])
        }
        let tables = try store.rows("SELECT tbl_name FROM sqlite_schema WHERE type = 'index' ORDER BY 1")
        #expect(tables == ["gold", "gold_price"])
    }
}
