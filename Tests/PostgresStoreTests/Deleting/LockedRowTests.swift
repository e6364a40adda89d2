import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Rows that another session has locked are skipped, and all others go.
@Suite(.needsPostgres)
struct LockedRowTests {
    struct Layout: CustomTestStringConvertible {
        let testDescription: String
        let statements: String
        init(_ name: String, _ statements: String) { (testDescription, self.statements) = (name, statements) }
    }

    static let layouts = [
        Layout("an index of the date", ""),
        Layout("no index", "DROP INDEX q_at_idx"),
        Layout(
            "equal dates", "UPDATE q SET at = '2026-01-01 00:10:00+00' WHERE id < 200"),
        Layout(
            "a child",
            "CREATE TABLE child () INHERITS (q); INSERT INTO child SELECT id + 1000, at FROM q WHERE id < 100; "
                + "CREATE INDEX ON child (at); DELETE FROM ONLY q WHERE id < 100"),
        Layout(
            "partitions",
            """
            ALTER TABLE q RENAME TO old; CREATE TABLE q (id int, at timestamptz) PARTITION BY RANGE (at);
            CREATE TABLE q1 PARTITION OF q FOR VALUES FROM ('2026-01-01') TO ('2026-01-01 03:00+00');
            CREATE TABLE q2 PARTITION OF q FOR VALUES FROM ('2026-01-01 03:00+00') TO ('2027-01-01');
            CREATE INDEX ON q (at); INSERT INTO q SELECT * FROM old
            """),
    ]

    @Test(arguments: layouts) func theOthersGo(_ layout: Layout) throws {
        let database = try TestDatabase(ExpiringRows.schema + layout.statements)
        try check(database)
    }

    @Test(.needsTimescale) func theOthersGoFromAHypertable() throws {
        let database = try TestDatabase.timescale(
            ExpiringRows.schema
                + "; ALTER TABLE q DROP CONSTRAINT q_pkey; SELECT create_hypertable('q', 'at', migrate_data => true)")
        try check(database)
    }

    /// While a batch waits for a locked row, nobody waits long for the rows that it has deleted before.
    @Test func nobodyWaitsForABatchThatWaits() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let (other, third) = (try database.connection(), try database.connection())
        try other.execute("BEGIN")
        try other.execute("SELECT FROM q WHERE id = 40 FOR UPDATE")
        let writer = try PostgresWriter(database.address, lockTimeout: .seconds(4))
        nonisolated(unsafe) let deletion = try writer.deletion(of: ExpiringRows.request)
        let isOver = Flag()
        Thread {
            _ = try? deletion.deleteNext(DeletionBounds(rows: 50))
            isOver.isSet = true
        }.start()
        #expect(database.hasWaiter())
        let began = ContinuousClock.now
        try third.execute("UPDATE q SET at = now() WHERE id = 20")
        #expect(ContinuousClock.now - began < .seconds(1) && !isOver.isSet)
        #expect(eventually { isOver.isSet })
        try other.execute("ROLLBACK")
        #expect(try database.run("SELECT array_agg(id) FROM q WHERE id < 51") == ["{40,20}"])
    }

    /// Only the deletion of a rule can say what it has skipped.
    @Test func aRequestSkipsNothing() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute("SELECT FROM q WHERE id = 40 FOR UPDATE")
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(100))
        #expect(storeError { _ = try writer.execute(ExpiringRows.batch()) }?.kind == .busy)
        #expect(try database.run("SELECT count(*) FROM q") == ["500"])
    }

    /// A rule's batches.
    private func check(_ database: TestDatabase) throws {
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(200))
        let other = try database.connection()
        try other.execute("BEGIN")
        let locked = try other.rows(
            SQLFragment(
                "SELECT FROM q WHERE extract(minute FROM at) % 10 = 0 AND at < '2026-01-01 02:00' AND id % 1000 < 30 FOR UPDATE"
            )
        ).count
        var request = ExpiringRows.request
        request.deleting.method = nil
        let planned = try writer.findings(request)
        if planned.method == .partitions { request.deleting.method = "range" }
        let deletion = try writer.deletion(of: request)
        var deleted = 0
        for _ in 0..<200 {
            let part = try deletion.deleteNext(DeletionBounds(rows: 7))
            deleted += part.result.deletedCount
            if !part.hasMore { break }
        }
        #expect(locked > 1 && deleted == 299 - locked)
        #expect(try deletion.remainingCount(besides: []) == locked)
        #expect(deletion.outline.locker?.contains("server process \(other.session.process)") == true)
        try other.execute("ROLLBACK")
        #expect(
            try Laws.carryOut(request, method: request.deleting.method, batchRows: 7, on: writer).total.deletedCount
                == locked)
        let next = try writer.deletion(of: request)
        #expect(next.outline.locker == nil)
    }
}
