import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// Objects of a Core Data store in an archive, with what is deleted and cleared with them.
struct CoreDataArchiveTests {
    /// Archives and deletes the expired points of a store.
    private func delete(_ store: TemporaryStore) throws -> (store: ArchivedStore, archive: ArchiveResult?) {
        let archived = try ArchivedStore(store)
        return (archived, try archived.delete([CoreDataStoreTests.survey("Point")], batchRows: 3))
    }

    @Test func objectsThatACascadeDeletesAreArchived() throws {
        let (store, archive) = try delete(CoreDataStoreTests.store(rule: .cascade))
        #expect(archive?.rowCount == 8)
        #expect(try store.archived("SELECT Z_PK, ZAT FROM ZPOINT ORDER BY 1").count == 4)
        #expect(
            try store.archived("SELECT Z_PK, ZTEXT, ZPOINT FROM ZNOTE ORDER BY 1")
                == ["1|n|1", "2|n|2", "3|n|3", "4|n|4"])
    }

    @Test func referencesThatAreClearedAreArchived() throws {
        let (store, archive) = try delete(CoreDataStoreTests.store(rule: .nullify))
        #expect(archive?.rowCount == 4 && archive?.referenceCount == 4)
        let table = try store.archived("SELECT archive_table FROM retention_tables WHERE kind = 'references'")
        #expect(
            try store.archived("SELECT Z_PK, old_ZPOINT, new_ZPOINT FROM \(table[0]) ORDER BY 1")
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
        let file = try CoreDataStoreTests.store(rule: rule)
        let tables = [
            "SELECT * FROM ZPOINT ORDER BY 1", "SELECT Z_PK, Z_ENT, ZTEXT, ZPOINT FROM ZNOTE ORDER BY 1",
            "SELECT * FROM Z_PRIMARYKEY",
        ]
        let before = try tables.map(file.rows)
        let (store, _) = try delete(file)
        let versions = try file.rows("SELECT Z_OPT FROM ZNOTE ORDER BY Z_PK")
        try store.undo(rows: 3)
        #expect(try tables.map(file.rows) == before)
        if rule == .nullify {
            // Whoever has a note in memory notices that it has changed.
            #expect(try file.rows("SELECT Z_OPT FROM ZNOTE ORDER BY Z_PK LIMIT 4") != Array(versions.prefix(4)))
        }
        #expect(
            try store.reader().restorable(store.request())
                .allSatisfy { $0.restorableCount == 0 && $0.conflictCount == 0 })
    }

    /// Points and notes that refer to each other, one to one by two columns or many to many by pairs.
    @Test(arguments: [false, true]) func bothEndsOfARelationshipAreRestored(isMany: Bool) throws {
        let (own, back) = isMany ? ("notes", "points") : ("note", "point")
        let file = try CoreDataStoreTests.store(of: [
            .init(
                name: "Point", attributes: [.init(name: "at", kind: .date)],
                relationships: [.init(name: own, destination: "Note", inverse: back, rule: .nullify, isToMany: isMany)]),
            .init(
                name: "Note",
                relationships: [.init(name: back, destination: "Point", inverse: own, rule: .nullify, isToMany: isMany)]
            ),
        ]) { db, layout in
            try CoreDataStoreTests.insertPoints(db, layout)
            try db.execute(
                sql: isMany
                    ? "INSERT INTO Z_1POINTS (Z_1NOTES, Z_2POINTS) SELECT Z_PK, 7 - Z_PK FROM ZNOTE"
                    : "UPDATE ZPOINT SET ZNOTE = Z_PK; UPDATE ZNOTE SET ZPOINT = Z_PK")
        }
        let queries = [
            "SELECT Z_PK, ZAT FROM ZPOINT",
            isMany ? "SELECT * FROM Z_1POINTS ORDER BY 1" : "SELECT Z_PK, ZPOINT FROM ZNOTE",
        ]
        let before = try queries.map(file.rows)
        let (store, archive) = try delete(file)
        #expect(archive?.rowCount == 4 && archive?.referenceCount == (isMany ? 0 : 4))
        #expect(try file.rows("SELECT count(*) FROM ZPOINT") == ["2"])
        #expect(try file.rows(queries[1]) != before[1])
        try store.undo(rows: 3)
        #expect(try queries.map(file.rows) == before)
    }

    @Test func objectsOfASkippedObjectAreNotGivenToTheOneWithItsKey() throws {
        let (store, _) = try delete(CoreDataStoreTests.store(rule: .cascade))
        try store.store.change(
            "INSERT INTO ZPOINT (Z_PK, Z_ENT, Z_OPT, ZAT) SELECT 2, Z_ENT, 1, 810000000 FROM ZPOINT LIMIT 1")
        let skipped = try store.undo(rows: 100).skipped
        #expect(skipped.map(\.table) == ["ZPOINT", "ZNOTE"] && skipped.map(\.key) == [[.integer(2)], [.integer(2)]])
        #expect(try store.store.rows("SELECT Z_PK FROM ZNOTE ORDER BY 1") == ["1", "3", "4", "5", "6"])
    }
}
