import PriceStore
import Testing

/// Predicates and IDs as values.
struct PredicateTests {
    private let a = StorePredicate.isNull("a")
    private let b = StorePredicate.isNull("b")
    private let c = StorePredicate.isNull("c")

    @Test func predicatesAreJoinedFlat() {
        #expect((a && b && c) == .and([a, b, c]))
        #expect((a && (b && c)) == .and([a, b, c]))
        #expect((.all && a && .all) == a)
        #expect((a || b || c) == .or([a, b, c]))
        #expect((a || (b || c)) == .or([a, b, c]))
        #expect((a || b && c) == .or([a, .and([b, c])]))
        #expect(!a == .not(a))
    }

    @Test func anObjectIDIsOfItsStoreItsEntityAndItsKey() {
        let id = ObjectID(entity: "gold", key: [.integer(1)], storeIdentifier: "/a")
        #expect(id == ObjectID(entity: "gold", key: [.integer(1)], storeIdentifier: "/a"))
        #expect(id != ObjectID(entity: "gold", key: [.integer(1)], storeIdentifier: "/b"))
        #expect(id != ObjectID(entity: "gold", key: [.integer(1)]))
        #expect(id != ObjectID(entity: "silver", key: [.integer(1)], storeIdentifier: "/a"))
        #expect(id != ObjectID(entity: "gold", key: [.integer(2)], storeIdentifier: "/a"))
        #expect(Set([id, ObjectID(entity: "gold", key: [.integer(1)], storeIdentifier: "/b"), id]).count == 2)
    }

    @Test func aDeleteOfObjectIDsNamesTheirEntityAndAnEmptyOneNone() {
        let ids = [ObjectID(entity: "gold", key: [.integer(1)])]
        #expect(
            BatchDeleteRequest(objectIDs: ids)
                == BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "gold", predicate: .objectIDs(ids))))
        #expect(BatchDeleteRequest(objectIDs: []).fetchRequest.entity.isEmpty)
    }
}
