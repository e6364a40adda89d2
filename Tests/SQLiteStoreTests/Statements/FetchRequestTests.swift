import PriceStore
import SQLiteStore
import Testing

/// What a fetch request finds in a store, and in which order.
struct FetchRequestTests {
    static let values = [
        "1, 'gold', 10", "2, 'Gold bar', 20", "3, 'a%b_c', 30", "4, NULL, 40", "5, 12, NULL", "6, x'676F6C64', 5.5",
        "7, '', 15", "8, 'ägold', 'x'", "9, 'golf', 20",
    ]

    static let cases: [(StorePredicate, [Int64])] = [
        (.between("n", .integer(10), .integer(20)), [1, 2, 7, 9]),
        (.between("n", .real(5.5), .real(9.9)), [6]),
        (.between("n", .null, .integer(20)), []),
        (.not(.between("n", .integer(10), .integer(30))), [4, 6, 8]),
        (.isNull("t"), [4]), (.isNotNull("n"), [1, 2, 3, 4, 6, 7, 8, 9]),
        (.begins("t", with: "gold"), [1]),
        (.begins("t", with: "gol"), [1, 9]),
        (.begins("t", with: "G"), [2]),
        (.begins("t", with: "a%"), [3]),
        (.begins("t", with: "%"), []),
        (.begins("t", with: "1"), []),
        (.begins("t", with: ""), [1, 2, 3, 7, 8, 9]),
        (.begins("t", with: "\u{10FFFF}"), []), (.begins("t", with: "\u{D7FF}"), []),
        // SQLite limits the depth of an expression to 1,000.
        (.and((0..<1500).map { .compare("id", .notEqual, .integer($0 < 1499 ? 7 : 9)) }), [1, 2, 3, 4, 5, 6, 8]),
        (.not(.begins("t", with: "gol")), [2, 3, 5, 6, 7, 8]),
        (.notTrue(.begins("t", with: "gol")), [2, 3, 4, 5, 6, 7, 8]),
        (.contains("t", "old"), [1, 2, 8]),
        (.contains("t", "OLD"), []),
        (.contains("t", "%b_"), [3]),
        (.contains("t", "_"), [3]),
        (.contains("t", "2"), []),
        (.not(.contains("t", "old")), [3, 5, 6, 7, 9]),
        // 4 has no text, 5 no number: unknown, whatever the other part, unless it decides alone.
        (.contains("t", "old") || .compare("n", .equal, .integer(40)), [1, 2, 4, 8]),
        (!(.contains("t", "old") || .compare("n", .equal, .integer(30))), [6, 7, 9]),
        (!(.contains("t", "old") && .compare("n", .equal, .integer(40))), [1, 2, 3, 5, 6, 7, 8, 9]),
        (.or([]), []),
        (.and([]), [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ]

    @Test(arguments: cases) func aPredicateFindsItsRows(_ predicate: StorePredicate, _ found: [Int64]) throws {
        let values = Self.values.map { "(\($0))" }.joined(separator: ", ")
        // In one transaction: a plain table, one whose index can answer, and one whose index has another collation.
        let store = try TemporaryStore(
            """
            BEGIN;
            CREATE TABLE r0 (id INTEGER PRIMARY KEY, t, n); INSERT INTO r0 VALUES \(values);
            CREATE TABLE r1 (id INTEGER PRIMARY KEY, t BLOB, n); INSERT INTO r1 VALUES \(values);
            CREATE TABLE r2 (id INTEGER PRIMARY KEY, t COLLATE NOCASE, n); INSERT INTO r2 VALUES \(values);
            CREATE INDEX i1 ON r1 (t); CREATE INDEX i2 ON r2 (t);
            COMMIT
            """)
        let reader = try store.reader()
        for entity in ["r0", "r1", "r2"] {
            let ids = try reader.fetchObjectIDs(StoreFetchRequest(entity: entity, predicate: predicate))
            #expect(ids.map(\.key) == found.map { [.integer($0)] })
        }
    }

    @Test func aBeginningThatLooksLikeANumberIsStillAText() throws {
        for type in ["NUMERIC", "TEXT", "INTEGER", ""] {
            let store = try TemporaryStore(
                "CREATE TABLE r (id INTEGER PRIMARY KEY, t \(type))",
                "INSERT INTO r VALUES (1, '12a'), (2, '1'), (3, 'b12')")
            let found = try store.reader().fetchObjectIDs(
                StoreFetchRequest(entity: "r", predicate: .begins("t", with: "12")))
            #expect(found.map(\.key) == [[.integer(1)]])
        }
    }

    static let comparisons: [(StorePredicate.Operator, [Int64])] = [
        (.less, [1, 2]), (.lessOrEqual, [1, 2, 3]), (.equal, [3]), (.notEqual, [1, 2, 4]), (.greaterOrEqual, [3, 4]),
        (.greater, [4]),
    ]

    /// Dates one second apart around 2024-03-01T00:00:00Z, then what no date is: NULL, another kind, before `earliest`.
    struct Format: Sendable {
        let encoding: DateEncoding
        let column: String
        let values: [String]
    }

    static let formats = [
        Format(
            encoding: .unixSeconds, column: "INTEGER",
            values: ["1709164800", "1709251199", "1709251200", "1709251201", "NULL", "'x'", "5", "0"]),
        Format(
            encoding: .unixMilliseconds, column: "",
            values: [
                "1709164800000", "1709251199999.999", "1709251200000", "1709251200000.001", "NULL", "'x'", "5", "0",
            ]),
        Format(
            encoding: .appleSeconds, column: "REAL",
            values: [
                "730857600", "730943999.999999", "730944000.0", "730944000.000001", "NULL", "'x'", "-900000000",
                "63113904000",
            ]),
        Format(
            encoding: .iso8601, column: "TEXT",
            values: [
                "'2024-02-29'", "'2024-02-29T23:59:59.999999Z'", "'2024-03-01T01:00:00+01:00'",
                "'2024-03-01T00:00:01Z'",
                "NULL", "'gold'", "'1850-01-01'", "''",
            ]),
        Format(
            encoding: .yyyymmdd, column: "",
            values: ["20240228", "'20240229'", "20240301", "20240302", "NULL", "'x'", "18500101", "0"]),
        Format(
            encoding: .unixDays, column: "INTEGER",
            values: ["19781", "19782", "19783", "19784", "NULL", "'x'", "-40000", "0"]),
    ]

    @Test(arguments: formats, comparisons)
    func datesCompareAsInstantsAndUnreadableOnesNeverMatch(
        _ format: Format, _ comparison: (StorePredicate.Operator, [Int64])
    ) throws {
        let (comparison, ids) = comparison
        let rows = format.values.enumerated().map { "(\($0.offset + 1), \($0.element))" }.joined(separator: ", ")
        let store = try TemporaryStore(
            "CREATE TABLE r (id INTEGER PRIMARY KEY, at \(format.column))", "CREATE INDEX i ON r (at)",
            "INSERT INTO r VALUES \(rows)")
        let date = DateAttribute(
            name: "at", encoding: format.encoding, earliest: try #require(Instant(iso8601: "1980-01-01")))
        let instant = try #require(Instant(iso8601: "2024-03-01"))
        let reader = try store.reader()
        func found(_ predicate: StorePredicate) throws -> [Int64] {
            try reader.fetch(StoreFetchRequest(entity: "r", predicate: predicate), attributes: ["id"]).compactMap {
                if case .integer(let id) = $0[0] { id } else { nil }
            }
        }
        let predicate = StorePredicate.dateCompare(date, comparison, instant)
        #expect(try found(predicate) == ids)
        // True or false, never unknown: NOT finds all the others.
        #expect(try found(.not(predicate)) == (1...8).filter { !ids.contains($0) })
    }

    @Test func limitAndOffsetFollowTheSortDescriptors() throws {
        let store = try TemporaryStore(
            "CREATE TABLE r (n INTEGER, k TEXT, v, PRIMARY KEY (k, n)) WITHOUT ROWID",
            "INSERT INTO r VALUES (1, 'a', 5), (2, 'a', 4), (3, 'a', 4), (4, 'b', 1), (5, 'b', 9)")
        let reader = try store.reader()
        var fetch = StoreFetchRequest(
            entity: "r", sortDescriptors: [StoreSortDescriptor("v", ascending: false)], fetchLimit: 2, fetchOffset: 1)
        #expect(try reader.fetch(fetch, attributes: ["n"]) == [[.integer(1)], [.integer(2)]])
        #expect(try reader.count(fetch) == 2)
        fetch.fetchLimit = nil
        fetch.fetchOffset = 3
        #expect(try reader.fetch(fetch, attributes: ["n"]) == [[.integer(3)], [.integer(4)]])
        #expect(try reader.count(fetch) == 2)
        #expect(
            try reader.fetchObjectIDs(fetch)
                == [[.text("a"), .integer(3)], [.text("b"), .integer(4)]].map {
                    ObjectID(entity: "r", key: $0, storeIdentifier: reader.storeIdentifier)
                })
        fetch.fetchLimit = 0
        #expect(try reader.count(fetch) == 0)
        fetch.fetchLimit = -1
        #expect(try reader.fetch(fetch, attributes: ["n"]).isEmpty)
        fetch.fetchLimit = 3
        fetch.fetchOffset = 100
        #expect(try reader.count(fetch) == 0)
    }

    @Test func aViewIsFetchedInTheOrderOfItsSortDescriptors() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (v)", "INSERT INTO t VALUES (2), (1), (3)", "CREATE VIEW w AS SELECT v FROM t")
        let reader = try store.reader()
        var fetch = StoreFetchRequest(entity: "w", sortDescriptors: [StoreSortDescriptor("v")], fetchLimit: 2)
        #expect(try reader.fetch(fetch, attributes: ["v"]) == [[.integer(1)], [.integer(2)]])
        fetch.sortDescriptors = []
        #expect(try reader.fetch(fetch, attributes: ["v"]).count == 2)
        #expect {
            try reader.fetchObjectIDs(fetch)
        } throws: { ($0 as? StoreError)?.kind == .unsupported && "\($0)".contains("have no key") }
    }
}
