import PostgresCluster
import PriceStore
import Testing

@testable import PostgresStore

@Suite(.needsPostgres)
struct SurveyTests {
    /// The day of both is not before the cutoff as a whole, and it begins before `earliest`.
    @Test func daysOfTheCutoffAndOfEarliestAreCounted() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (at date); CREATE INDEX ON q (at); "
                + "INSERT INTO q SELECT date '2026-10-02' + n FROM generate_series(-3, 3) n")
        let date = DateAttribute(
            name: "at", encoding: .native, zone: .utc, earliest: at("2026-10-02T05:00:00Z"), latest: nil)
        var request = SurveyRequest(entity: "q", date: date, cutoff: at("2026-10-02T12:00:00Z"))
        #expect(try database.reader().survey(request).unreadableCount == 4)
        request.counts.all = false
        #expect(try database.reader().survey(request).unreadableCount == 4)
    }

    /// At 2:00 clocks are set to 3:00. 2:30 is the instant of 3:30, though it comes before 3:10 in the column.
    @Test(arguments: ["", "CREATE INDEX ON q (at);"])
    func skippedLocalTimesAreInTheOrderOfTheirInstants(_ index: String) throws {
        let database = try TestDatabase("CREATE TABLE q (at timestamp); \(index)")
        let zone = try #require(CalendarZone(identifier: "Europe/Berlin"))
        func survey(_ rows: String) throws -> Survey {
            try database.run("TRUNCATE q")
            try database.run("INSERT INTO q VALUES \(rows)")
            return try database.reader(zone: zone).survey(
                SurveyRequest(entity: "q", date: .of("at", zone: zone), cutoff: at("2026-04-01")))
        }
        let newest = try survey("('2026-03-01'), ('2026-03-29 02:30'), ('2026-03-29 03:10')")
        #expect(newest.expiredCount == 3 && newest.dates.newestExpired == at("2026-03-29T01:30:00Z"))
        #expect(
            newest.dates.newest == newest.dates.newestExpired
                && newest.dates.newestOfEntity == newest.dates.newestExpired)
        #expect(
            try survey("('2026-03-30'), ('2026-03-29 02:30'), ('2026-03-29 03:10')").dates.oldest
                == at("2026-03-29T01:10:00Z"))
    }

    /// With an index and nothing expired only the rows that could matter are looked at; unreadable ones are counted all
    /// the same, also those between the cutoff and a later `earliest`.
    @Test func aPartialCountIsExactAboutWhatItTells() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (at bigint); CREATE INDEX ON q (at);
            INSERT INTO q VALUES (NULL), (0), (-5), (1700000000), (1790000000), (4000000000);
            """)
        var request = SurveyRequest(
            entity: "q",
            date: DateAttribute(
                name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1_750_000_000),
                latest: Instant(unixSeconds: 1_800_000_000)), cutoff: Instant(unixSeconds: 1_650_000_000))
        let whole = try database.reader().survey(request)
        request.counts.all = false
        var partial = try database.reader().survey(request)
        #expect(partial.rowCount == nil && partial.readableCount == nil)
        partial.rowCount = whole.rowCount
        partial.readableCount = whole.readableCount
        #expect(partial == whole)
        #expect(
            Dictionary(uniqueKeysWithValues: whole.unreadable.map { ($0.reason, $0.rowCount) })
                == [.null: 1, .sentinel: 1, .beforeEarliest: 2, .afterLatest: 1])
    }

    @Test func aWhereThatTheColumnCannotHoldIsToldAndNoError() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (at timestamptz, volume int); INSERT INTO q VALUES ('2026-01-01', 5);")
        let reader = try database.reader()
        func survey(_ value: StoreValue) throws -> Survey {
            try reader.survey(
                SurveyRequest(
                    entity: "q", date: .of("at"), cutoff: at("2026-02-01"), filter: .compare("volume", .less, value)))
        }
        #expect(try survey(.real(5.5)).expiredCount == 1)
        #expect(try survey(.text("6")).expiredCount == 1)
        #expect(throws: StoreError.self) { try survey(.text("many")) }
        // The transaction around it goes on.
        try reader.transaction(.normal) {
            _ = try? survey(.text("many"))
            let count = try survey(.integer(6)).expiredCount
            #expect(count == 1)
        }
    }

    @Test func viewsAndForeignFormatsAreNotSupported() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int PRIMARY KEY, at timestamptz, n bigint); CREATE VIEW v AS SELECT * FROM q;
            CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;
            CREATE FOREIGN TABLE f (at timestamptz) SERVER far;
            """)
        let reader = try database.reader()
        func reason(_ entity: String, _ date: DateAttribute) throws -> String? {
            try reader.survey(SurveyRequest(entity: entity, date: date, cutoff: at("2026-01-01"))).unsupported
        }
        #expect(try reason("f", .of("at")) == "f is a foreign table: its rows are on another server")
        #expect(try reason("v", .of("at")) == "v is a view: name the table that holds its rows")
        #expect(
            try reason("q", .of("at", .unixSeconds))
                == "q.at is a date of the server's own (native), not unix_seconds")
        #expect(try reason("q", .of("n")) == "q.n is not a date type of the server; native needs one")
        #expect(try reason("q", .of("at")) == nil)
    }

    /// A dry run's transaction is read-only on the server itself.
    @Test func aReaderCannotWrite() throws {
        let database = try TestDatabase("CREATE TABLE q (at timestamptz);")
        let reader = try database.reader()
        let error = #expect(throws: ServerFault.self) { try reader.execute("INSERT INTO q VALUES (now())") }
        #expect(error?.code == "25006")
    }
}
