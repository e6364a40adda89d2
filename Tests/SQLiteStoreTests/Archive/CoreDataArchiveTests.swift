import Foundation
import GRDB
import PriceStore
import TestSupport
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// Objects of a Core Data store in an archive, with what is deleted and cleared with them.
struct CoreDataArchiveTests {
    private func run(_ store: TemporaryStore) throws -> ArchiveResult? {
        let writer = try store.writer()
        var request = CoreDataStoreTests.survey("Point")
        request.deleting.archiveRule = "points"
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

    @Test func aHistoryIsAnObstacle() throws {
        var request = CoreDataStoreTests.survey("Point")
        request.deleting.archiveRule = "points"
        #expect(
            try CoreDataStoreTests.store(history: true).reader().archiveObstacle(of: request)
                == "the store keeps a persistent history, which a restoration could not continue")
        #expect(try CoreDataStoreTests.store().reader().archiveObstacle(of: request) == nil)
    }

    @Test(arguments: [ModelDescription.DeleteRule.cascade, .nullify])
    func objectsAreRestoredWithTheirKeysAndReferences(_ rule: ModelDescription.DeleteRule) throws {
        let store = try CoreDataStoreTests.store(rule: rule)
        let tables = [
            "SELECT * FROM ZPOINT ORDER BY 1", "SELECT Z_PK, Z_ENT, ZTEXT, ZPOINT FROM ZNOTE ORDER BY 1",
            "SELECT * FROM Z_PRIMARYKEY",
        ]
        let before = try tables.map(store.rows)
        _ = try run(store)
        let versions = try store.rows("SELECT Z_OPT FROM ZNOTE ORDER BY Z_PK")
        let request = RestorationRequest(archive: store.folder.path + "/RUN.sqlite", run: "RUN")
        let restoration = try store.writer().restoration(of: request)
        while try restoration.restoreNext(rows: 3).hasMore {}
        #expect(try tables.map(store.rows) == before)
        if rule == .nullify {
            // Whoever has a note in memory notices that it has changed.
            #expect(try store.rows("SELECT Z_OPT FROM ZNOTE ORDER BY Z_PK LIMIT 4") != Array(versions.prefix(4)))
        }
        #expect(try store.reader().restorable(request).allSatisfy { $0.restorableCount == 0 && $0.conflictCount == 0 })
    }

    /// Points and notes that refer to each other, one to one by two columns or many to many by pairs.
    @Test(arguments: [false, true]) func bothEndsOfARelationshipAreRestored(isMany: Bool) throws {
        let (own, back) = isMany ? ("notes", "points") : ("note", "point")
        let store = try CoreDataStoreTests.store(of: [
            .init(
                name: "Point", attributes: [.init(name: "at", kind: .date)],
                relationships: [.init(name: own, destination: "Note", inverse: back, rule: .nullify, isToMany: isMany)]),
            .init(
                name: "Note",
                relationships: [.init(name: back, destination: "Point", inverse: own, rule: .nullify, isToMany: isMany)]
            ),
        ]) { db, layout in
            for key in 1...6 {
                try db.execute(
                    sql: """
                        INSERT INTO ZPOINT (Z_PK, Z_ENT, Z_OPT, ZAT) VALUES (\(key), \(layout.numbers["Point"] ?? 0), 1,
                            \(key < 5 ? 700_000_000 + key : 810_000_000));
                        INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT) VALUES (\(key), \(layout.numbers["Note"] ?? 0), 1);
                        """)
            }
            try db.execute(
                sql: isMany
                    ? "INSERT INTO Z_1POINTS (Z_1NOTES, Z_2POINTS) SELECT Z_PK, 7 - Z_PK FROM ZNOTE"
                    : "UPDATE ZPOINT SET ZNOTE = Z_PK; UPDATE ZNOTE SET ZPOINT = Z_PK")
        }
        let queries = [
            "SELECT Z_PK, ZAT FROM ZPOINT",
            isMany ? "SELECT * FROM Z_1POINTS ORDER BY 1" : "SELECT Z_PK, ZPOINT FROM ZNOTE",
        ]
        let before = try queries.map(store.rows)
        let archive = try run(store)
        #expect(archive?.rowCount == 4 && archive?.referenceCount == (isMany ? 0 : 4))
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["2"])
        #expect(try store.rows(queries[1]) != before[1])
        let restoration = try store.writer().restoration(
            of: RestorationRequest(archive: store.folder.path + "/RUN.sqlite", run: "RUN"))
        while try restoration.restoreNext(rows: 3).hasMore {}
        #expect(try queries.map(store.rows) == before)
    }

    @Test func objectsOfASkippedObjectAreNotGivenToTheOneWithItsKey() throws {
        let store = try CoreDataStoreTests.store(rule: .cascade)
        _ = try run(store)
        try store.change {
            try $0.execute(
                sql: "INSERT INTO ZPOINT (Z_PK, Z_ENT, Z_OPT, ZAT) SELECT 2, Z_ENT, 1, 810000000 FROM ZPOINT LIMIT 1")
        }
        let restoration = try store.writer().restoration(
            of: RestorationRequest(archive: store.folder.path + "/RUN.sqlite", run: "RUN"))
        var skipped: [SkippedRow] = []
        while true {
            let part = try restoration.restoreNext(rows: 100)
            skipped += part.skipped
            guard part.hasMore else { break }
        }
        #expect(skipped.map(\.table) == ["ZPOINT", "ZNOTE"] && skipped.map(\.key) == [[.integer(2)], [.integer(2)]])
        #expect(try store.rows("SELECT Z_PK FROM ZNOTE ORDER BY 1") == ["1", "3", "4", "5", "6"])
    }
}
