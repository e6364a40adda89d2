import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// What the server reads for a survey.
@Suite(.needsPostgres)
struct SurveyPlanTests {
    /// With an index on the date no query reads rows that are not expired, whatever the type of the date.
    @Test(arguments: [
        ("timestamptz", "to_timestamp(t)", DateEncoding.native),
        ("timestamp", "to_timestamp(t) AT TIME ZONE 'UTC'", .native),
        ("date", "to_timestamp(t)::date", .native), ("bigint", "t", .unixSeconds),
        ("bigint", "t * 1000", .unixMilliseconds),
        ("int", "t", .unixSeconds), ("float8", "t", .unixSeconds), ("numeric", "t", .unixSeconds),
    ])
    func anIndexGivesTheExpiredRows(type: String, value: String, encoding: DateEncoding) throws {
        // A row each hour for 20,000 hours, of which 240 are expired.
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int, at \(type));
            INSERT INTO q SELECT n, \(value) FROM (SELECT n, 1735689600 + n * 3600 AS t FROM generate_series(0::bigint, 19999) n) AS hours;
            CREATE INDEX ON q (at); ANALYZE q;
            """)
        let reader = try database.reader()
        var plans: [String: [String]] = [:]
        reader.trace = { plans[$0] = $1 }
        var request = SurveyRequest(entity: "q", date: .of("at", encoding), cutoff: at("2025-01-11"))
        request.counts = .init(all: false, kept: false, related: false)
        #expect(try reader.survey(request).expiredCount == 240)
        #expect(plans.values.contains { $0.contains { $0.contains("Index") } })
        // The first row, the newest one before an instant, and the number of those between.
        var rows = StoreFetchRequest(entity: "q", predicate: .date(DateRange(request.date, before: at("2027-01-01"))))
        rows.fetchLimit = 1
        for ascending in [true, false] {
            rows.sortDescriptors = [StoreSortDescriptor("at", ascending: ascending)]
            let found = try reader.fetch(rows, attributes: ["id"]).first?.first
            // A date has 24 rows.
            #expect((ascending ? 0...23 : 17496...17519).contains { found == .integer($0) })
        }
        for (statement, plan) in plans {
            #expect(!plan.contains { $0.contains("Seq Scan on q") }, "\(statement)\n\(plan.joined(separator: "\n"))")
        }
    }

    /// A BRIN index finds the blocks with expired rows, and the last days; no query reads all rows.
    @Test(arguments: [
        ("timestamptz", "to_timestamp(t)", DateEncoding.native), ("bigint", "t * 1000", .unixMilliseconds),
    ])
    func aBlockIndexGivesTheExpiredRows(type: String, value: String, encoding: DateEncoding) throws {
        let database = try TestDatabase(
            """
            CREATE TABLE q (id int, at \(type), note text);
            INSERT INTO q SELECT n, \(value), repeat('x', 200) FROM (
                SELECT n, extract(epoch FROM now())::bigint - (99999 - n) * 60 AS t FROM generate_series(0::bigint, 99999) n) AS minutes;
            CREATE INDEX brin ON q USING brin (at) WITH (pages_per_range = 8); ANALYZE q;
            """)
        let reader = try database.reader()
        var plans: [String: [String]] = [:]
        reader.trace = { plans[$0] = $1 }
        let now = Instant(unixSeconds: Int64(Date().timeIntervalSince1970))
        let cutoff = now.advanced(byMicroseconds: -95_000 * 60_000_000)
        var request = SurveyRequest(entity: "q", date: .of("at", encoding), cutoff: cutoff)
        request.counts = .init(all: false, kept: false, related: false)
        let found = try reader.findings(request)
        #expect(
            (4998...5000).contains(found.expiredCount)
                && found.dates.newest.map { $0 > now.advanced(byMicroseconds: -60_000_000) } == true)
        #expect(found.method == .windows && found.outline.index == "brin")
        for (statement, plan) in plans {
            #expect(!plan.contains { $0.contains("Seq Scan on q") }, "\(statement)\n\(plan.joined(separator: "\n"))")
        }
        let writer = try database.writer()
        let execution = try Laws.carryOut(request, batchRows: 1000, on: writer)
        #expect(execution.total.deletedCount == found.expiredCount && execution.isComplete)
        // Windows end with the last expired row.
        #expect(execution.batchCounts.count < 60)
        #expect(try writer.survey(request).expiredCount == 0)
        #expect(try writer.survey(request).dates.oldest != nil)
    }

    /// A feed that swaps its table: the rows that are there after the lock are counted.
    @Test func aTableThatIsFilledAgainIsCounted() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (id int, at timestamptz); CREATE TABLE new (LIKE q); "
                + "INSERT INTO new SELECT n, timestamptz '2026-01-01Z' + n * interval '1 hour' FROM generate_series(0, 99) n;"
        )
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute("TRUNCATE q")
        try other.execute("INSERT INTO q SELECT * FROM new")
        nonisolated(unsafe) let session = other
        Thread {
            // The survey waits for the lock of TRUNCATE.
            _ = database.hasWaiter()
            _ = try? session.execute("COMMIT")
        }.start()
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-02-01"))
        #expect(try database.reader().survey(request).expiredCount == 100)
    }

    @Test func aValueWithNULIsRefused() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (symbol text, at timestamptz); INSERT INTO q VALUES ('GOLD', '2026-01-01Z');")
        var request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-02-01"))
        request.filter = .compare("symbol", .equal, .text("GOLD\0X"))
        let error = storeError { _ = try database.reader().survey(request) }
        #expect(error?.kind == .unsupported && error?.message.contains("the character NUL (\\0)") == true)
    }

    /// Each statement that is kept prepared takes memory of the server.
    @Test func preparedStatementsAreBounded() throws {
        let connection = try TestDatabase().connection()
        for number in 0..<500 {
            #expect(try connection.execute(SQLFragment("SELECT \(number)"), isRepeated: true).rows.count == 1)
        }
        #expect(try connection.count(SQLFragment("SELECT count(*) FROM pg_prepared_statements")) <= 200)
        #expect(try connection.execute(SQLFragment("SELECT 7"), isRepeated: true).rows.count == 1)
    }
}
