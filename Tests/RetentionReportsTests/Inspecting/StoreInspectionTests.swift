import PriceStore
import RetentionJob
import RetentionReports
import TestSupport
import Testing

/// Inspections of real files.
@Suite struct StoreInspectionTests {
    private func inspect(_ file: PriceFile) throws -> StoreInspection {
        try StoreInspection.read(file.reader(), clock: PriceFile.now)
    }

    @Test func countsRowsAndFindsTheDatesWithTheirEnds() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<120)
        try file.execute("INSERT INTO price (at, symbol) VALUES (NULL, 'XAU'), (0, 'XAU')")
        let inspection = try inspect(file)
        #expect(inspection.engine == "sqlite" && inspection.sizeBytes > 0)
        try #require(inspection.entities.count == 1)
        let price = inspection.entities[0]
        #expect(price.entity.name == "price" && price.rowCount == 122 && price.trouble == nil)
        // The table and its index, at least a page each.
        #expect((price.sizeBytes ?? 0) >= 8192)
        try #require(price.dates.map(\.attribute.name) == ["at"])
        let date = price.dates[0]
        #expect(date.recognition.encoding == .unixSeconds)
        #expect(date.newest == PriceFile.now)
        #expect(date.oldest == PriceFile.now.advanced(byMicroseconds: -119 * 86_400_000_000))
        #expect(date.readableCount == 120 && date.index == "price_at")
        #expect(date.unreadable.map(\.reason) == [.null, .sentinel] && date.unreadable.map(\.rowCount) == [1, 1])
    }

    @Test func aDateWithoutAnIndexHasNone() throws {
        let file = try PriceFile(indexed: false)
        try file.addPrices(daysOld: [0, 1])
        #expect(try inspect(file).entities[0].dates.map(\.index) == [nil])
    }

    @Test(arguments: [("'Z'", true), ("CASE WHEN i % 2 THEN '+05:00' ELSE '-03:00' END", false)])
    func anIndexThatDoesNotOrderItsTextsIsAnObstacle(end: String, serves: Bool) throws {
        let file = try PriceFile("CREATE TABLE note (at TEXT); CREATE INDEX note_at ON note (at)")
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
            INSERT INTO note SELECT strftime('%Y-%m-%dT%H:%M:%S', 1795000000 - i * 3600, 'unixepoch') || \(end) FROM n;
            """)
        let date = try #require(try inspect(file).entities.last?.dates.first)
        #expect((date.index == "note_at") == serves && (date.indexObstacle == nil) == serves, "\(date)")
    }

    /// A sample may have no value that fits both orders of day and month.
    @Test(arguments: [0, 1])
    func oneValueThatFitsBothOrdersIsADoubt(count: Int) throws {
        let file = try PriceFile("CREATE TABLE note (at TEXT)")
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999)
            INSERT INTO note SELECT (13 + i % 16) || '/' || printf('%02d', 1 + i % 11) || '/' || (2020 + i % 6) FROM n;
            UPDATE note SET at = '05/06/2024' WHERE \(count) AND rowid = 1234;
            """)
        let found = try #require(try inspect(file).entities.last?.dates.first).recognition
        #expect(found.encoding?.rawValue == "%d/%m/%Y" && found.certainty == (count == 0 ? .sure : .unsure), "\(found)")
        #expect(found.reason.hasSuffix("1 value is a date in %m/%d/%Y") == (count == 1), "\(found)")
    }

    @Test func anEmptyEntityHasNoEnds() throws {
        let price = try inspect(try PriceFile()).entities[0]
        #expect(price.rowCount == 0 && price.dates.map(\.recognition.encoding) == [nil])
        #expect(price.dates.allSatisfy { $0.oldest == nil && $0.newest == nil })
    }

    @Test func viewsAndVirtualTablesAreCountedAndNotLookedInto() throws {
        let file = try PriceFile(
            """
            CREATE VIEW newest AS SELECT max(at) AS at FROM price;
            CREATE VIRTUAL TABLE words USING fts5(body, at);
            """)
        try file.addPrices(daysOld: [0, 1])
        let entities = try inspect(file).entities
        #expect(entities.map(\.entity.kind) == [.table, .view, .virtual])
        #expect(entities.map(\.rowCount) == [2, 1, 0])
        #expect(entities.dropFirst().allSatisfy { $0.dates.isEmpty && $0.sizeBytes == nil })
    }

    @Test func aBrokenViewDoesNotHideTheRest() throws {
        let file = try PriceFile("CREATE TABLE gone (at); CREATE VIEW broken AS SELECT at FROM gone; DROP TABLE gone;")
        try file.addPrices(daysOld: [0])
        let entities = try inspect(file).entities
        #expect(entities.map(\.rowCount) == [1, nil])
        #expect(entities[1].trouble != nil && entities[0].dates.count == 1)
    }

    @Test func theRowsWithInvalidDatesAreReported() throws {
        let file = try PriceFile("CREATE TABLE gold (month TEXT, price REAL)")
        try file.execute(
            "INSERT INTO gold VALUES ('1833-01', 18.93), ('1970-12', 35), ('1971-01', 37), ('2026-06', 4000)")
        let gold = try #require(try inspect(file).entities.first { $0.entity.name == "gold" })
        try #require(gold.dates.count == 1)
        #expect(gold.dates[0].recognition.encoding == .iso8601)
        #expect(gold.dates[0].unreadable.map(\.reason) == [.beforeEarliest])
        #expect(gold.dates[0].unreadable.map(\.rowCount) == [2] && gold.dates[0].readableCount == 2)
        #expect(
            gold.dates[0].oldest == Instant(iso8601: "1971-01") && gold.dates[0].newest == Instant(iso8601: "2026-06"))
    }

    /// Doubles round the largest rowids to a number that no Int64 holds.
    @Test func theLargestRowIDsAreSampledAndSurveyed() throws {
        let file = try PriceFile()
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999)
            INSERT INTO price (id, at) SELECT 9223372036854775807 - i, 1795219200 - i * 600 FROM n
            """)
        #expect(try inspect(file).entities[0].dates.first?.recognition.certainty == .sure)
        let plan = try Planner(
            policy: file.policy(.prices()), asOf: PriceFile.now, clock: PriceFile.now, countsAllRows: false
        ).plan(reader: try file.reader())
        #expect(plan.steps[0].survey.expiredCount > 50_000)
        try file.execute("DELETE FROM price; INSERT INTO price (id, at) VALUES (-9223372036854775807 - 1, 1795219200)")
        try file.execute("INSERT INTO price (id, at) VALUES (9223372036854775807, 1795219100)")
        #expect(try inspect(file).entities[0].rowCount == 2)
    }
}
