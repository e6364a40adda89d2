import Dispatch
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// What is checked after each batch. Nothing of a batch stays whose check fails.
struct BatchCheckTests {
    private static let date = DateAttribute(
        name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
    private static let expired = StorePredicate.date(DateRange(date, before: Instant(unixSeconds: 51)))

    private func store() throws -> TemporaryStore {
        try TemporaryStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, kind TEXT);
            CREATE INDEX t_at ON t (at);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO t SELECT i, i, 'a' FROM n;
            """)
    }

    private func work(_ method: DeleteMethod, limit: Int?) -> DeleteWork {
        DeleteWork(
            fetchRequest: StoreFetchRequest(
                entity: "t", predicate: Self.expired, sortDescriptors: [StoreSortDescriptor("at")], fetchLimit: limit),
            resultType: .count, method: method)
    }

    @Test func aBatchSaysHowLongItWaitedForALock() throws {
        let store = try store()
        let writer = try store.writer()
        let deletion = try writer.deletion(of: .rows(of: "t", before: 51))
        #expect(try deletion.deleteNext(DeletionBounds(rows: 5)).waited == .zero)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: store.path, configuration: configuration)
        try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) {
            try? other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        }
        let part = try deletion.deleteNext(DeletionBounds(rows: 5))
        #expect(part.result.deletedCount == 5 && part.waited > .milliseconds(100), "\(part)")
    }

    /// A trigger that the schema does not have stands for anything that changes what is kept.
    @Test(arguments: [DeleteMethod.whole, .range, .windows]) func noOtherRowIsChanged(_ method: DeleteMethod) throws {
        let store = try store()
        let writer = try store.writer()
        try writer.run("making a trigger") { db in
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER other AFTER DELETE ON main.t WHEN OLD.id = 20
                    BEGIN UPDATE t SET kind = 'b' WHERE id = 90; END
                    """)
        }
        let error = #expect(throws: StoreError.self) {
            try writer.executeAll(work(method, limit: method == .whole ? nil : 10))
        }
        #expect(error?.kind == .defect && error?.message.contains("1 other row was changed") == true)
        #expect(try store.rows("SELECT count(*) FROM t WHERE kind = 'b' OR id = 20") == ["1"])
        #expect(try store.rows("SELECT kind FROM t WHERE id = 90") == ["a"])
    }

    @Test func noMoreRowsGoThanWereAskedFor() throws {
        let store = try store()
        var work = work(.whole, limit: nil)
        work.allowedRows = 49
        let error = #expect(throws: StoreError.self) { try store.writer().execute(work) }
        #expect(error?.kind == .defect && error?.message.contains("50 rows were deleted, where 49 may be") == true)
        work.allowedRows = 50
        #expect(try store.writer().execute(work).deletedCount == 50)
    }

    @Test func noRowIsAtTheCutoff() throws {
        let writer = try store().writer()
        try writer.run("looking at a batch") { db in
            let batch = try BatchDelete(work(.range, limit: 10), writer, db)
            try batch.requireExpired(.integer(50), Self.date)
            let error = #expect(throws: StoreError.self) { try batch.requireExpired(.integer(51), Self.date) }
            #expect(error?.kind == .defect && error?.message.contains("is not before the cutoff") == true)
        }
    }
}
