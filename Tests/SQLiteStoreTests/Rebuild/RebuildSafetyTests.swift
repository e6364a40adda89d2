@preconcurrency import Foundation
import GRDB
import GRDBSQLite
import PriceStore
import TestSupport
import Testing

@testable import SQLiteStore

/// What goes wrong around a rebuild by copy-back: nothing but the expired rows of the store may be lost.
struct RebuildSafetyTests {
    private func store(_ statements: String..., rows: Int = 60) throws -> TemporaryStore {
        let store = try TemporaryStore(
            "PRAGMA journal_mode = WAL", "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER)",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) "
                + "INSERT INTO t SELECT i, CASE WHEN i <= \(rows - 10) THEN 10 ELSE 5000 END FROM n")
        try store.change { db in for statement in statements { try db.execute(sql: statement) } }
        return store
    }

    private func request(_ entity: String = "t") -> SurveyRequest {
        var request = SurveyRequest.rows(of: entity)
        request.deleting.method = "rebuild"
        return request
    }

    @Test(arguments: [false, true]) func aStoreThatWasReplacedIsLeftAlone(byLink: Bool) throws {
        let (store, other) = (try store(), try store(rows: 15))
        let path = byLink ? try store.link() : store.path
        let writer = try SQLiteWriter(path: path)
        let deletion = try writer.deletion(of: request())
        if byLink {
            unlink(path)
            symlink(other.path, path)
        } else {
            rename(store.path, store.path + ".old")
            rename(other.path, store.path)
        }
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds()) }
        #expect(error?.kind == .replaced)
        let old = try DatabaseQueue(path: byLink ? store.path : store.path + ".old")
        #expect(try old.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 60)
        let new = try DatabaseQueue(path: path)
        #expect(try new.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 15)
    }

    /// The name may change after the store was looked at, and before the copy's own connection opens it.
    @Test func theConnectionThatReadsTheRowsMustHaveTheSameFile() throws {
        let (store, other) = (try store(), try store())
        let writer = try store.writer()
        let reader = try SQLiteReader(path: other.path)
        let error = #expect(throws: StoreError.self) {
            try writer.run("test") { try writer.confirmIdentity($0, and: reader) }
        }
        #expect(error?.kind == .replaced)
    }

    @Test func theRowsLeftAreNotCountedInAReplacedStore() throws {
        let (store, other) = (try store(), try store(rows: 15))
        let deletion = try store.writer().deletion(of: request())
        _ = try deletion.deleteNext(DeletionBounds())
        rename(other.path, store.path)
        #expect(throws: StoreError.self) { try deletion.remainingCount(besides: []) }
    }

    @Test(arguments: [
        "CREATE TABLE o (a TEXT); INSERT INTO o VALUES ('x'); CREATE INDEX oi ON o (f(a))",
        "CREATE TABLE o (rowid, oid, _rowid_); INSERT INTO o VALUES (1, 2, 3)",
        "CREATE TABLE o (a TEXT CHECK (f(a) <> '')); INSERT INTO o VALUES ('x')",
    ]) func aSchemaThatCannotBeCopiedIsNotRebuilt(schema: String) throws {
        let store = try store()
        try store.change { db in
            db.add(function: DatabaseFunction("f", argumentCount: 1, pure: true) { $0[0] })
            try db.execute(sql: schema)
        }
        for file in [try store.reader() as SQLiteFile, try store.writer()] {
            let error = #expect(throws: StoreError.self) { try file.findings(request()) }
            #expect(error?.message.contains("not possible") == true)
        }
        #expect(try store.rows("SELECT count(*) FROM t") == ["60"])
        #expect(!FileManager.default.fileExists(atPath: PrivateFile.path(of: store.path)))
    }

    private static let date = SurveyRequest.rows(of: "t").date

    @Test(arguments: [
        ("thin", StorePredicate.notPicked(Thinning(tiers: [], groupedBy: [], among: .all, date: date))),
        ("keep_last per group", .notKept(KeepLast(count: 1, groupedBy: ["at"], among: .all, date: date))),
    ]) func aDeleteThatACopyCannotDoIsRefused(_ key: String, _ predicate: StorePredicate) throws {
        let store = try store()
        var work = DeleteWork(
            BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "t", predicate: predicate)))
        work.method = .rebuild
        let error = #expect(throws: StoreError.self) { try store.writer().rebuild(work) }
        #expect(error?.message == "a rebuild is not possible for t: a copy cannot apply " + key)
        #expect(try store.rows("SELECT count(*) FROM t") == ["60"])
    }

    /// An extension of SQLite may have bytes of its own at the end of each page.
    @Test func pagesWithReservedBytesAreNotCopied() throws {
        let store = try TemporaryStore()
        try store.change { db in
            var reserved: Int32 = 8
            sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
            try db.execute(
                sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (at INTEGER); INSERT INTO t VALUES (1), (5000)")
        }
        let error = #expect(throws: StoreError.self) { try store.reader().outline(of: request()) }
        #expect(error?.message.contains("its pages have bytes that belong to an extension of SQLite") == true)
    }

    /// Another program may change the store between the plan and the lock, and close it again.
    @Test(arguments: [nil, 5]) func whatMustStayIsLookedForUnderTheLock(keepLast: Int?) throws {
        let store = try store()
        var request = request()
        request.deleting.mayEmpty = false
        request.keepers.keepLast = keepLast.map { KeepLast(count: $0, groupedBy: [], among: .all, date: request.date) }
        let deletion = try store.writer().deletion(of: request)
        try store.change("DELETE FROM t WHERE at > 1000")
        if keepLast == nil {
            let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds()) }
            #expect(error?.message.contains("no readable row of t") == true)
            #expect(try store.rows("SELECT count(*) FROM t") == ["50"])
        } else {
            _ = try deletion.deleteNext(DeletionBounds())
            // All have one date.
            #expect(try store.rows("SELECT count(*) FROM t") == ["50"])
        }
    }

    @Test func rowsThatArriveBeforeTheLockStay() throws {
        let store = try store()
        let deletion = try store.writer().deletion(of: request())
        try store.change("INSERT INTO t (at) VALUES (10)")
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds()) }
        #expect(error?.kind == .busy && error?.message.contains("more than the 50 that were counted") == true)
        #expect(try store.rows("SELECT count(*) FROM t") == ["61"])
    }

    @Test func aStoreThatAnotherProgramHasOpenIsNotRebuilt() throws {
        let store = try store()
        let deletion = try store.writer().deletion(of: request())
        let other = Process()
        let (output, input) = (Pipe(), Pipe())
        other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let words =
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(c.execute('SELECT count(*) FROM t').fetchone()[0], "
        other.arguments = ["python3", "-c", words + "flush=True); sys.stdin.read()", store.path]
        (other.standardOutput, other.standardInput) = (output, input)
        try other.run()
        #expect(try output.fileHandleForReading.read(upToCount: 3) == Data("60\n".utf8))
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds()) }
        #expect(error?.kind == .busy && error?.hint == "stop the other programs, or run without --rebuild")
        #expect(try store.rows("SELECT count(*) FROM t") == ["60"])
        try input.fileHandleForWriting.close()
        other.waitUntilExit()
        #expect(try deletion.deleteNext(DeletionBounds()).result.deletedCount == 50)
    }

    /// The rows of a rebuild are no changes that SQLite counts, and must not hide as many others.
    @Test func rowsThatATriggerInsertsAgainAreSeenAfterARebuild() throws {
        let store = try store(
            "CREATE TABLE u (id INTEGER PRIMARY KEY, at INTEGER)", "INSERT INTO u SELECT id, at FROM t",
            "CREATE TRIGGER again AFTER DELETE ON u BEGIN INSERT INTO u (at) VALUES (OLD.at); END")
        let writer = try store.writer()
        var again = request("u")
        again.deleting.method = "windows"
        let survey = try writer.survey(again)
        let first = try writer.deletion(of: request())
        #expect(try first.deleteNext(DeletionBounds()).result.deletedCount == 50)
        #expect(try first.remainingCount(besides: []) == 0)
        let second = try writer.deletion(of: again, after: survey)
        #expect(try second.deleteNext(DeletionBounds()).result.deletedCount == 50)
        #expect(try second.remainingCount(besides: []) == 50)
    }
}
