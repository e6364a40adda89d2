import Foundation
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// The file beside the store in which a rebuild writes the rows that stay.
struct PrivateFileTests {
    private func store() throws -> TemporaryStore {
        try TemporaryStore(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE INDEX price_at ON price (at);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO price SELECT i, i FROM n;
            """)
    }

    private var request: DeleteWork {
        let expired = SurveyRequest.rows(of: "price", before: 401).expired
        return DeleteWork(
            fetchRequest: StoreFetchRequest(entity: "price", predicate: expired), resultType: .count, method: .rebuild)
    }

    @Test func theRebuildFollowsALinkToTheStore() throws {
        let store = try store()
        let link = try store.link()
        #expect(try SQLiteWriter(path: link).execute(request).deletedCount == 400)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == store.path)
        #expect(try store.rows("SELECT count(*) FROM price") == ["100"])
    }

    @Test func aNameThatHasNoRoomForAnotherEndingIsAnError() throws {
        let store = try store()
        let path = store.folder.appending(path: String(repeating: "p", count: 245)).path(percentEncoded: false)
        try FileManager.default.copyItem(atPath: store.path, toPath: path)
        let error = #expect(throws: StoreError.self) { try SQLiteWriter(path: path).execute(request) }
        #expect(error?.kind == .inputOutput && error?.store == path, "\(String(describing: error))")
        #expect(error?.message == "\(path).retention-copy cannot be created: File name too long")
    }

    @Test func whatADeadRebuildLeftIsRemovedByTheNextWriterButNotByAReader() throws {
        let store = try store()
        let left = store.path + ".retention-copy"
        try Data("left over".utf8).write(to: URL(fileURLWithPath: left))
        _ = try store.reader()
        #expect(FileManager.default.fileExists(atPath: left))
        _ = try store.writer()
        #expect(!FileManager.default.fileExists(atPath: left))
    }

    @Test func theFileOfARebuildAtWorkIsLeftAlone() throws {
        let store = try store()
        let path = store.path + ".retention-copy"
        try Data("at work".utf8).write(to: URL(fileURLWithPath: path))
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let writer = try store.writer()
        #expect(FileManager.default.fileExists(atPath: path))
        let error = #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(error?.kind == .busy)
        #expect(error?.message.contains("another rebuild of the store is running") == true)
    }
}
