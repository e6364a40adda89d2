import Foundation
import GRDB
import PriceStore
import Testing

@testable import SQLiteStore
@testable import goldprices

/// Objects of a Core Data store in an archive, with what is deleted and cleared with them.
struct CoreDataArchiveTests {
    private func run(_ store: TemporaryStore) throws -> ArchiveResult? {
        let writer = try store.writer()
        var request = CoreDataStoreTests.survey("Point")
        request.archiveRule = "points"
        try writer.beginArchive(
            ArchiveRequest(
                place: store.folder.path, run: "RUN",
                rules: [.init(name: "points", entity: "Point", cutoff: CoreDataStoreTests.cutoff)]))
        let deletion = try writer.deletion(of: request)
        while try deletion.deleteNext(DeletionBounds(rows: 3)).hasMore {}
        return try writer.completeArchive()
    }

    private func archived(_ store: TemporaryStore, _ query: String) throws -> [String] {
        try store.change { db in
            try db.execute(sql: "ATTACH ? AS archive", arguments: [store.folder.path + "/RUN.sqlite"])
            return try Row.fetchAll(db, sql: query).map { row in
                row.databaseValues.map { $0.isNull ? "NULL" : "\($0.storage.value ?? "NULL")" }.joined(separator: "|")
            }
        }
    }

    @Test func objectsThatACascadeDeletesAreArchived() throws {
        let store = try CoreDataStoreTests.store(rule: .cascade)
        let archive = try run(store)
        #expect(archive?.rowCount == 8)
        #expect(try archived(store, "SELECT Z_PK, ZAT FROM archive.ZPOINT ORDER BY 1").count == 4)
        #expect(
            try archived(store, "SELECT Z_PK, ZTEXT, ZPOINT FROM archive.ZNOTE ORDER BY 1") == [
                "1|n|1", "2|n|2", "3|n|3", "4|n|4",
            ])
    }

    @Test func referencesThatAreClearedAreArchived() throws {
        let store = try CoreDataStoreTests.store(rule: .nullify)
        let archive = try run(store)
        #expect(archive?.rowCount == 4)
        #expect(archive?.referenceCount == 4)
        let table = try archived(store, "SELECT archive_table FROM archive.retention_tables WHERE kind = 'references'")
        #expect(
            try archived(store, "SELECT Z_PK, old_ZPOINT, new_ZPOINT FROM archive.\(table[0]) ORDER BY 1")
                == ["1|1|NULL", "2|2|NULL", "3|3|NULL", "4|4|NULL"])
    }

    @Test func aHistoryOrFilesBesideTheStoreAreObstacles() throws {
        var request = CoreDataStoreTests.survey("Point")
        request.archiveRule = "points"
        #expect(
            try CoreDataStoreTests.store(history: true).reader().archiveObstacle(of: request)?.contains("history")
                == true)
        let files = try CoreDataStoreTests.store { point in
            for index in point.attributes.indices where point.attributes[index].name == "photo" {
                point.attributes[index].isExternal = true
            }
        }
        #expect(try files.reader().archiveObstacle(of: request)?.contains("files") == true)
        #expect(try CoreDataStoreTests.store().reader().archiveObstacle(of: request) == nil)
    }
}
