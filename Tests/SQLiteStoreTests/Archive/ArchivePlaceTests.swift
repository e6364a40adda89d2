import Foundation
@preconcurrency import Glibc
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// An archive that is moved, removed, replaced or cannot be written while its run deletes rows: the run deletes nothing more, and
/// says what is wrong with the archive.
struct ArchivePlaceTests {
    private static let changes: [(String, @Sendable (String) throws -> Void)] = [
        ("removed", { try FileManager.default.removeItem(atPath: $0) }),
        ("moved", { try FileManager.default.moveItem(atPath: $0, toPath: $0 + ".moved") }),
        (
            "replaced",
            {
                try FileManager.default.moveItem(atPath: $0, toPath: $0 + ".moved")
                try FileManager.default.copyItem(atPath: $0 + ".moved", toPath: $0)
            }
        ),
        ("without the file of its last transactions", { try FileManager.default.removeItem(atPath: $0 + "-wal") }),
        ("with a shorter file of its last transactions", { #expect(truncate($0 + "-wal", 32) == 0) }),
    ]

    private static let store =
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (9, 99)"

    @Test(arguments: changes.indices)
    func nothingMoreIsDeleted(index: Int) throws {
        let archived = try ArchivedStore(Self.store)
        let (writer, deletion) = try archived.begin("t")
        _ = try deletion.deleteNext(DeletionBounds(rows: 2))
        try Self.changes[index].1(archived.archive)
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 1)) }
        #expect(error?.kind == .replaced && error?.store == archived.archive, "\(String(describing: error))")
        #expect(error?.message.hasPrefix("the archive was") == true, "\(String(describing: error))")
        #expect(try archived.store.rows("SELECT id FROM t") == ["3", "4", "9"])
        let last = #expect(throws: StoreError.self) { try writer.completeArchive() }
        #expect(last?.message == error?.message)
    }

    @Test func withoutAnArchiveNothingIsDeleted() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 90)")
        var request = ArchivedStore.request("t")
        request.deleting.archiveRule = "rule"
        let deletion = try store.writer().deletion(of: request)
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 10)) }
        #expect(error?.message == "rows must be archived, but no archive was started")
        #expect(try store.rows("SELECT count(*) FROM t") == ["2"])
    }

    @Test func withoutItsFolderNoArchiveBegins() throws {
        let archived = try ArchivedStore(Self.store)
        try FileManager.default.removeItem(at: archived.folder)
        let error = #expect(throws: StoreError.self) { try archived.begin("t") }
        #expect(error?.kind == .cannotCreate && error?.hint == "nothing was deleted")
        #expect(error?.message == "the archive cannot be created: No such file or directory")
    }

    @Test func aFileThatTookItsPlaceIsNotRemoved() throws {
        let archived = try ArchivedStore(Self.store)
        let (writer, _) = try archived.begin("t")
        try FileManager.default.moveItem(atPath: archived.archive, toPath: archived.archive + ".moved")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: archived.archive))
        #expect(throws: StoreError.self) { try writer.completeArchive() }
        #expect(try String(contentsOfFile: archived.archive, encoding: .utf8) == "mine")
    }

    @Test func aFullDiskSaysWhereTheRowsAre() throws {
        let archived = try ArchivedStore(Self.store)
        try archived.store.change("ALTER TABLE t ADD COLUMN v; UPDATE t SET v = zeroblob(100000)")
        let (writer, deletion) = try archived.begin("t")
        _ = try deletion.deleteNext(DeletionBounds(rows: 1))
        try writer.archiver?.file.run("making it full") { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages + 1)")
        }
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 2)) }
        #expect(error?.engineCode == "SQLITE_FULL" && error?.store == archived.archive)
        #expect(
            error?.hint?.contains("rows that were deleted before are in it") == true, "\(String(describing: error))")
        #expect(try archived.store.rows("SELECT id FROM t") == ["2", "3", "4", "9"])
    }
}
