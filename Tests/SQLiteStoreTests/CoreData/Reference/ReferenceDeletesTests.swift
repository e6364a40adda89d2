import GRDB
import PriceStore
import Testing

@testable import CoreDataSamples

/// The reference on stores small enough to see the result.
struct ReferenceDeletesTests {
    private typealias Entity = ModelDescription.Entity
    private typealias Relationship = ModelDescription.Relationship

    /// Makes a store of two entities, `A` and `B`, and a sub-entity of each, and deletes rows of `A`.
    private func delete(
        _ keys: Set<Int64>, _ a: [Relationship], _ b: [Relationship], rows: [String]
    ) throws -> ReferenceDeletes.Result {
        let model = ModelDescription(entities: [
            Entity(name: "A", relationships: a), Entity(name: "A2", parent: "A"),
            Entity(name: "B", relationships: b), Entity(name: "B2", parent: "B"),
        ])
        let store = try TemporaryStore(inMemory: true)
        try CoreDataStore(path: store.path, model: model).write { db, _ in
            for row in rows { try db.execute(sql: "INSERT INTO \(row)") }
        }
        let reference = ReferenceDeletes(model: model, rows: try ReferenceRows(path: store.path))
        return reference.delete("A", keys: keys)
    }

    private func values(_ result: ReferenceDeletes.Result, _ table: String, _ columns: String...) -> [[StoreValue]] {
        (result.rows.objects[table] ?? [:]).sorted { $0.key < $1.key }.map { row in
            columns.map { row.value[$0] ?? .null }
        }
    }

    private static let toOne = Relationship(name: "b", destination: "B", inverse: "as", rule: .nullify)
    private static let toMany = Relationship(name: "as", destination: "A", inverse: "b", rule: .nullify, isToMany: true)
    /// Entities: A 1, A2 2, B 3, B2 4. Three rows of A point at two of B.
    private static let children = [
        "ZA (Z_PK, Z_ENT, Z_OPT, ZB, Z3_B) VALUES (1, 1, 1, 1, 3), (2, 2, 1, 1, 3), (3, 1, 1, 2, 4), (4, 1, 1, NULL, NULL)",
        "ZB (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1), (2, 4, 5)",
    ]

    @Test func aParentIsCountedUpForEachRowThatItLoses() throws {
        let result = try delete([1, 2, 4], [Self.toOne], [Self.toMany], rows: Self.children)
        #expect(values(result, "ZB", "Z_PK", "Z_OPT") == [[.integer(1), .integer(3)], [.integer(2), .integer(5)]])
        #expect(values(result, "ZA", "Z_PK") == [[.integer(3)]])
        #expect(result.matched.count == 3 && result.cascaded.isEmpty && result.nullified.isEmpty)
    }

    @Test func aMandatoryToManyOfAParentThatStaysRefusesTheRequest() throws {
        var mandatory = Self.toMany
        mandatory.isOptional = false
        let result = try delete([1], [Self.toOne], [mandatory], rows: Self.children)
        #expect(result.refusals == [.mandatory(.init(entity: "A", name: "b"))])
        #expect(values(result, "ZA", "Z_PK").count == 4)
    }

    @Test func aCascadeToTheParentTakesItsOtherChildrenToo() throws {
        var up = Self.toOne
        up.rule = .cascade
        var down = Self.toMany
        down.rule = .cascade
        let result = try delete([1], [up], [down], rows: Self.children)
        #expect(values(result, "ZA", "Z_PK") == [[.integer(3)], [.integer(4)]])
        #expect(values(result, "ZB", "Z_PK") == [[.integer(2)]])
        #expect(result.matched.count == 1 && result.cascaded.count == 2)
    }

    @Test func everyColumnOfAReferenceIsCleared() throws {
        let parents = Relationship(
            name: "bs", destination: "B", inverse: "a", rule: .nullify, isToMany: true, isOrdered: true)
        let child = Relationship(name: "a", destination: "A", inverse: "bs", rule: .nullify)
        let rows = [
            "ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1)",
            "ZB (Z_PK, Z_ENT, Z_OPT, ZA, Z1_A, Z_FOK_A) VALUES (1, 3, 1, 1, 1, 1024), (2, 4, 7, 2, 1, 2048)",
        ]
        let result = try delete([1], [parents], [child], rows: rows)
        #expect(
            values(result, "ZB", "Z_OPT", "ZA", "Z1_A", "Z_FOK_A") == [
                [.integer(2), .null, .null, .null], [.integer(7), .integer(2), .integer(1), .integer(2048)],
            ])
        #expect(result.nullified.count == 1)
    }

    @Test func noActionLeavesTheRowsAsTheyAre() throws {
        var parents = Relationship(name: "bs", destination: "B", inverse: "a", rule: .noAction, isToMany: true)
        let child = Relationship(name: "a", destination: "A", inverse: "bs", rule: .nullify, isOptional: false)
        let rows = ["ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1)", "ZB (Z_PK, Z_ENT, Z_OPT, ZA) VALUES (1, 3, 1, 1)"]
        let result = try delete([1], [parents], [child], rows: rows)
        #expect(values(result, "ZB", "Z_OPT", "ZA") == [[.integer(1), .integer(1)]] && result.refusals.isEmpty)

        parents.rule = .nullify
        let refused = try delete([1], [parents], [child], rows: rows)
        #expect(refused.refusals == [.mandatory(.init(entity: "A", name: "bs"))])
        parents.rule = .cascade
        let cascaded = try delete([1], [parents], [child], rows: rows)
        #expect(cascaded.refusals.isEmpty && cascaded.cascaded.count == 1)
    }

    @Test func joinRowsGoWithEitherEnd() throws {
        let bs = Relationship(name: "bs", destination: "B", inverse: "as", rule: .nullify, isToMany: true)
        let back = Relationship(name: "as", destination: "A", inverse: "bs", rule: .noAction, isToMany: true)
        let rows = [
            "ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1)", "ZB (Z_PK, Z_ENT, Z_OPT) VALUES (5, 3, 1)",
            "Z_1BS (Z_1AS, Z_3BS) VALUES (1, 5), (2, 5)",
        ]
        let result = try delete([1], [bs], [back], rows: rows)
        #expect(result.rows.others["Z_1BS"] == [["Z_1AS": .integer(2), "Z_3BS": .integer(5)]])
        #expect(values(result, "ZB", "Z_OPT") == [[.integer(1)]] && result.updated.isEmpty)
    }

    @Test func aDenyRuleWithinReachRefusesARequestThatMatchesNothing() throws {
        var up = Self.toOne
        up.rule = .cascade
        var down = Self.toMany
        down.rule = .deny
        let denied = try delete([], [up], [down], rows: Self.children)
        #expect(denied.refusals == [.denyRule(.init(entity: "B", name: "as"))])
        let outOfReach = try delete([], [Self.toOne], [down], rows: Self.children)
        #expect(outOfReach.refusals.isEmpty)
    }

    @Test func aRowThatAnotherPointsAtOneWayStandsInTheWay() throws {
        let oneWay = Relationship(name: "a", destination: "A", inverse: nil, rule: .nullify)
        let rows = [
            "ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1)", "ZB (Z_PK, Z_ENT, Z_OPT, ZA, Z1_A) VALUES (1, 3, 1, 1, 2)",
        ]
        #expect(try delete([1], [], [oneWay], rows: rows).refusals == [.dangling(.init(entity: "B", name: "a"))])
    }
}
