import PostgresCluster
import PriceStore
import Testing

@testable import PostgresStore

/// What a predicate finds and what is read, for columns of each type.
@Suite(.needsPostgres)
struct PredicateTests {
    private static let schema = """
        CREATE TABLE q (id int PRIMARY KEY, f float8, n numeric, t text, b bytea, o bool, at timestamptz);
        INSERT INTO q VALUES (1, 1.5, 1.5, 'gold', '\\x00ff', true, '2026-01-01Z'), (2, 'Infinity', 7, 'GOLD 2', '\\x', false, NULL),
            (3, NULL, 12345678901234567890.5, NULL, NULL, NULL, '2026-01-03Z');
        """

    private static let predicates: [(predicate: StorePredicate, ids: [Int64])] = [
        (.begins("t", with: "go"), [1]), (.contains("t", "GOLD"), [2]), (.not(.contains("f", "1")), [1, 2]),
        (.between("f", .integer(1), .integer(2)), [1]), (.isIn("id", []), []),
        (.isIn("id", [.integer(1), .real(3)]), [1, 3]), (.isNull("t"), [3]), (.isNotNull("t"), [1, 2]),
        (.compare("id", .equal, .null), []), (.compare("id", .greater, .real(1.5)), [2, 3]),
        (.compare("id", .less, .real(.infinity)), [1, 2, 3]), (.compare("id", .equal, .text("2")), [2]),
        (.compare("f", .less, .text("2e0")), [1]), (.compare("n", .greater, .text("12345678901234567890")), [3]),
        (.compare("b", .equal, .blob([0, 255])), [1]), (.compare("o", .equal, .text("true")), [1]),
        (.compare("t", .notEqual, .integer(5)), [1, 2]), (.compare("f", .greater, .real(-.infinity)), [1, 2]),
        (.compare("f", .less, .real(.nan)), [1, 2]),
        (.key(KeyRange(after: [.integer(1)], through: [.integer(2)])), [2]),
        (.declaredDate("at", .less, at("2026-01-02")), [1]), (.objectIDs([]), []),
    ]

    @Test func predicatesFindTheirRows() throws {
        let reader = try TestDatabase(Self.schema).reader()
        for (predicate, ids) in Self.predicates {
            let request = StoreFetchRequest(
                entity: "q", predicate: predicate, sortDescriptors: [StoreSortDescriptor("id")])
            #expect(try reader.fetch(request, attributes: ["id"]) == ids.map { [.integer($0)] }, "\(predicate)")
            #expect(try reader.count(request) == ids.count)
            let rows = try reader.fetchRows(request, attributes: [])
            let same = StoreFetchRequest(entity: "q", predicate: .objectIDs(rows.map(\.objectID)))
            #expect(try reader.count(same) == ids.count)
        }
        let other = StoreFetchRequest(
            entity: "q", predicate: .objectIDs([ObjectID(entity: "o", key: [.integer(3)])]))
        #expect(storeError { _ = try reader.count(other) }?.message.contains("is not one of q in this store") == true)
    }

    /// NULL comes first.
    @Test(arguments: [(true, [3, 2, 1]), (false, [1, 2, 3])]) func rowsAreSorted(ascending: Bool, ids: [Int64]) throws {
        var request = StoreFetchRequest(
            entity: "q", predicate: .all, sortDescriptors: [StoreSortDescriptor("o", ascending: ascending)])
        let reader = try TestDatabase(Self.schema).reader()
        #expect(try reader.fetch(request, attributes: ["id"]) == ids.map { [.integer($0)] })
        request.fetchOffset = 1
        #expect(try reader.fetch(request, attributes: ["id"]) == ids.dropFirst().map { [.integer($0)] })
    }

    @Test func valuesAreReadInTheTypesOfTheirColumns() throws {
        let reader = try TestDatabase(Self.schema).reader()
        let found = try reader.fetch(
            StoreFetchRequest(entity: "q", predicate: .all, sortDescriptors: [StoreSortDescriptor("id")]),
            attributes: ["f", "n", "t", "b", "o", "at"])
        #expect(
            found == [
                [
                    .real(1.5), .real(1.5), .text("gold"), .blob([0, 255]), .text("true"),
                    .text("2026-01-01 00:00:00+00"),
                ],
                [.real(.infinity), .integer(7), .text("GOLD 2"), .blob([]), .text("false"), .null],
                [.null, .real(12345678901234567890.5), .null, .null, .null, .text("2026-01-03 00:00:00+00")],
            ])
    }

    /// A column of one type that takes the values of another.
    @Test(arguments: [
        ("integer", "bigint", true), ("bigint", "integer", false), ("bigint", "numeric", true),
        ("integer", "numeric(5,0)", false), ("text", "character varying", true),
        ("text", "character varying(5)", false),
        ("character varying(3)", "character varying(5)", true), ("character varying(9)", "character varying(5)", false),
        ("numeric(5,2)", "numeric", true), ("numeric(5,2)", "numeric(9,2)", true), ("numeric", "numeric(9,2)", false),
        ("boolean", "text", false),
    ])
    func aTypeHoldsAnother(_ old: String, _ new: String, _ holds: Bool) {
        #expect(ColumnType.name(new, holdsAllOf: old) == holds)
    }

    /// Bounds of a partition prove nothing about dates in another order, nor around a clock change.
    @Test func boundsAreProvedForOrderedDatesOnly() throws {
        let zone = try #require(CalendarZone(identifier: "Europe/Berlin"))
        let (change, latest) = (at("2026-03-29T01:30:00Z"), at("2030-01-01"))
        for (date, type) in [
            (DateAttribute.of("at", .iso8601), ColumnType.text), (.of("at", zone: zone, latest: latest), .timestamp),
        ] {
            let sql = DateSQL(date: date, column: "at", type: type)
            #expect(sql.isWhollyReadableAfter(change) == .never)
            #expect(type == .timestamp || sql.isWhollyBefore(change) == .never)
            #expect(type == .text || sql.isWhollyBefore(change).statement.values.contains("2030-01-01 01:00:00.000001"))
            #expect(type == .text || sql.bound(.less, .end(change)) != sql.bound(.greaterOrEqual, .start(change)))
        }
        for (encoding, type) in [(.native, .text), (.iso8601, .integer), (.yyyymmdd, .other)]
            as [(DateEncoding, ColumnType)]
        {
            let sql = DateSQL(date: .of("at", encoding), column: "at", type: type)
            #expect(sql.readable(.less, change) == .never && (type == .integer) == (sql.isFinite != .never))
        }
        let kept = StorePredicate.notKept(KeepLast(count: 1, groupedBy: [], among: .all, date: .of("at")))
        #expect(kept.keepers?.count == 1 && StorePredicate.not(kept).keepers == nil)
    }
}
