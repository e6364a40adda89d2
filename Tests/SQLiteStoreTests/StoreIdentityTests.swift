import Foundation
import GRDB
import PriceStore
import Testing

@testable import SQLiteStore

/// A writer notices that its file is another one, before it changes anything.
struct StoreIdentityTests {
    private static let rows =
        "CREATE TABLE t(n INTEGER PRIMARY KEY, at INTEGER); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"

    private func expectReplaced(_ store: TemporaryStore, _ writer: SQLiteWriter) throws {
        let before = try? store.bytes()
        let request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "t"))
        #expect { try writer.execute(request) } throws: { ($0 as? StoreError)?.kind == .replaced }
        #expect((try? store.bytes()) == before)
    }

    @Test(arguments: ["DELETE", "WAL"])
    func byItsName(journal: String) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = \(journal)", Self.rows)
        let other = try store.copy()
        let writer = try store.writer()
        try FileManager.default.moveItem(atPath: store.path, toPath: store.path + ".old")
        try expectReplaced(store, writer)
        try FileManager.default.copyItem(atPath: other.path, toPath: store.path)
        try expectReplaced(store, writer)
    }

    /// Without its lock another process would remove the WAL of the open connection.
    @Test(arguments: [true, false])
    func openingAnotherConnectionReleasesNoLock(readOnly: Bool) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = WAL", Self.rows)
        let writer = try store.writer()
        _ = try writer.entityNames()
        let inode = try #require(StoreFile.number(of: store.path)).inode
        func isLocked() -> Bool { KernelFile.locks(ofInode: inode).contains { $0.processID == getpid() } }
        #expect(isLocked())
        if readOnly { _ = try SQLiteReader(path: store.path) } else { _ = try SQLiteWriter(path: store.path) }
        #expect(isLocked())
        _ = try StoreFile.check(store.path, readOnly: readOnly, create: false)
        #expect(isLocked())
    }

    /// As `cp other.sqlite prices.sqlite` does it: a file of another page size, encoding or application, or of an older state.
    @Test(arguments: [
        "PRAGMA page_size = 8192;", "PRAGMA encoding = 'UTF-16';", "PRAGMA application_id = 7;", "",
    ])
    func inItsPlace(_ other: String) throws {
        let store = try TemporaryStore(Self.rows)
        let source = try TemporaryStore(other + Self.rows)
        if other.isEmpty { try store.change("INSERT INTO t VALUES (4, 4)") }
        let writer = try store.writer()
        let file = try FileHandle(forWritingTo: URL(filePath: store.path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: try source.bytes())
        try file.close()
        try expectReplaced(store, writer)
    }

    @Test(arguments: ["DELETE", "WAL"])
    func aSecondNameThatItGetsIsRefused(journal: String) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = \(journal)", Self.rows)
        let writer = try store.writer()
        let second = store.path + "-second"
        try FileManager.default.linkItem(atPath: store.path, toPath: second)
        try expectReplaced(store, writer)
        try FileManager.default.removeItem(atPath: second)
        let request = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "t"))
        #expect(try writer.execute(request).deletedCount == 3)
    }

    /// When another file takes the store's place, and whether the store is put back.
    enum Exchange: CaseIterable {
        case never, beforeOpening, afterOpening, whileOpening
    }

    @Test(arguments: Exchange.allCases)
    func aFileThatTakesTheStoresPlaceBetweenCheckAndOpeningIsRefused(_ exchange: Exchange) throws {
        let store = try TemporaryStore(Self.rows)
        let other = try store.copy()
        let checked = try #require(try StoreFile.check(store.path, readOnly: false, create: false))
        let away = store.path + ".away"
        func exchangeFiles() {
            #expect(rename(store.path, away) == 0 && rename(other.path, store.path) == 0)
        }
        if [.beforeOpening, .whileOpening].contains(exchange) { exchangeFiles() }
        let queue = try DatabaseQueue(path: store.path)
        if exchange == .afterOpening { exchangeFiles() }
        if exchange == .whileOpening { #expect(rename(away, store.path) == 0) }
        let error = Result { try queue.inDatabase { try StoreFile.confirm(checked, at: store.path, $0) } }
        switch error {
        case .success: #expect(exchange == .never)
        case .failure(let error): #expect(exchange != .never && (error as? StoreError)?.kind == .replaced)
        }
    }

    @Test(arguments: ["DELETE", "WAL"])
    func itsOwnChangesAndThoseOfOthersAreNone(journal: String) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = \(journal); PRAGMA auto_vacuum = 1", Self.rows)
        let writer = try store.writer()
        for _ in 1...3 {
            try store.change("INSERT INTO t(at) VALUES (5)")
            try writer.transaction(.full) {
                _ = try writer.insert(entity: "t", values: ["at": .integer(9)], onConflict: .fail)
            }
            try store.change("CREATE TABLE other(n); DROP TABLE other; VACUUM")
            _ = try writer.reclaim(ReclaimRequest(mode: .vacuum))
        }
        #expect(try writer.count(StoreFetchRequest(entity: "t")) == 9)
    }

    /// A file that is still empty has no header to compare.
    @Test func anEmptyFileBecomesAStore() throws {
        let store = try TemporaryStore()
        let path = store.path + ".new"
        let writer = try SQLiteWriter(path: path, create: true)
        for name in ["a", "b"] {
            try writer.createEntity(
                Entity(name: name, attributes: [Attribute(name: "n", affinity: .integer)], primaryKey: ["n"]))
        }
        #expect(try writer.entityNames().sorted() == ["a", "b"])
    }
}
