import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// `limits.max_rows` is the most rows that a run deletes, whatever others do meanwhile.
@Suite(.needsPostgres)
struct RowLimitTests {
    /// Rows that are committed between the search for the end of a batch and its delete.
    @Test(arguments: [true, false])
    func rowsThatArriveWithinABatchAreWithinTheLimit(hasIndex: Bool) throws {
        let database = try TestDatabase(ExpiringRows.schema + (hasIndex ? "" : "DROP INDEX q_at_idx"))
        let writer = try database.writer()
        var request = ExpiringRows.request
        request.deleting.maxRows = 290
        var hasArrived = false
        writer.trace = { statement, _ in
            guard statement.contains("DELETE FROM"), !hasArrived else { return }
            hasArrived = true
            _ = try? database.run(
                "INSERT INTO q SELECT n, timestamptz '2026-01-01 00:00:00+00' FROM generate_series(1000, 1049) n")
        }
        let deletion = try writer.deletion(of: request)
        // The bounds of a batch say nothing of that limit.
        let part = try deletion.deleteNext(DeletionBounds(rows: 1000))
        #expect(hasArrived && part.result.deletedCount == 290)
        #expect(try database.run("SELECT count(*) FROM q") == ["260"])
    }

    /// Rows that expire for the rule after its plan, such as those that another rule no longer takes.
    @Test(arguments: [true, false])
    func aPlanIsNotExceeded(hasIndex: Bool) throws {
        let database = try TestDatabase(ExpiringRows.schema + (hasIndex ? "" : "DROP INDEX q_at_idx"))
        let writer = try database.writer()
        let survey = try writer.survey(ExpiringRows.request)
        let planned = survey.expiredCount
        let deletion = try writer.deletion(of: ExpiringRows.request, after: survey)
        #expect(deletion.outline.method == (hasIndex ? DeleteMethod.range : .windows).phrase)
        try database.run(
            "INSERT INTO q SELECT n, timestamptz '2024-01-01 00:00:00+00' FROM generate_series(100000, 100999) n")
        var deleted = 0
        while deleted < planned {
            let part = try deletion.deleteNext(DeletionBounds(rows: 1000))
            deleted += part.result.deletedCount
            guard part.hasMore else { break }
        }
        #expect(deleted == planned)
        #expect(try writer.survey(ExpiringRows.request).expiredCount == 1000)
    }

    /// A sample is enough to divide many rows.
    @Test func manyRowsWithoutAnIndexGoInSlices() throws {
        let database = try TestDatabase(
            "CREATE TABLE q AS SELECT n AS id, timestamptz '2026-01-01Z' + n * interval '1 second' AS at FROM generate_series(0, 299999) n"
        )
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-03T21:26:40Z"))
        let execution = try Laws.carryOut(
            request, method: "range", batchRows: 50_000, stopAfter: 2, on: database.writer())
        #expect(execution.batchCounts.allSatisfy { (10_000...100_000).contains($0) }, "\(execution.batchCounts)")
        #expect(try database.run("SELECT min(id) + count(*) FROM q") == ["300000"])
    }
}
