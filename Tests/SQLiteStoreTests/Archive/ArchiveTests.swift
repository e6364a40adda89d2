import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// What a run deletes is in its archive, equal in every value, whichever way it was deleted.
struct ArchiveTests {
    static let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))

    /// The rows of `p` before 1000 are expired.
    private func request(_ entity: String = "p") -> SurveyRequest {
        var request = SurveyRequest(entity: entity, date: Self.date, cutoff: Instant(unixSeconds: 1000))
        request.deleting.archiveRule = "old"
        return request
    }

    private func archive(in store: TemporaryStore, run: String = "RUN") -> ArchiveRequest {
        ArchiveRequest(
            place: store.folder.path, run: run, facts: ["policy_sha256": "0f"],
            rules: [.init(name: "old", entity: "p", cutoff: Instant(unixSeconds: 1000))])
    }

    /// Deletes the rows of a request in batches of two, with an archive.
    private func run(_ store: TemporaryStore, _ request: SurveyRequest? = nil, method: String? = nil) throws
        -> (result: BatchDeleteResult, archive: ArchiveResult?)
    {
        let writer = try store.writer()
        var request = request ?? self.request()
        request.deleting.method = method
        try writer.beginArchive(archive(in: store))
        let deletion = try writer.deletion(of: request)
        var total = BatchDeleteResult(deletedCount: 0)
        while true {
            let part = try deletion.deleteNext(DeletionBounds(rows: deletion.outline.isInBatches ? 2 : nil))
            total.deletedCount += part.result.deletedCount
            total.cascadedCount += part.result.cascadedCount
            total.archivedCount += part.result.archivedCount
            guard part.hasMore else { break }
        }
        return (total, try writer.completeArchive())
    }

    /// The rows of a query on the archive.
    private func rows(_ store: TemporaryStore, _ query: String) throws -> [String] {
        try store.rows("ATTACH '\(store.folder.path)/RUN.sqlite' AS archive; " + query)
    }

    private func archived(_ store: TemporaryStore, _ query: String) throws -> [String] {
        let queue = try DatabaseQueue(path: store.folder.path + "/RUN.sqlite")
        defer { try? queue.close() }
        return try queue.read { db in
            try Row.fetchAll(db, sql: query).map { row in
                row.databaseValues.map { $0.isNull ? "NULL" : "\($0.storage.value ?? "NULL")" }.joined(separator: "|")
            }
        }
    }

    @Test(arguments: ["whole", "range", "windows"])
    func everyDeletedRowIsInTheArchive(method: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT COLLATE NOCASE, price)",
            "CREATE INDEX ix ON p (at)",
            "INSERT INTO p VALUES (1, 10, 'a', 1), (2, 20, 'A', 1.0), (3, 30, NULL, '1'), (4, 40, 'é', x'00ff'), (9, 5000, 'b', 2)"
        )
        let (result, archive) = try run(store, method: method)
        #expect(result.deletedCount == 4)
        #expect(result.archivedCount == 4)
        #expect(archive?.rowCount == 4)
        #expect(try store.rows("SELECT id FROM p") == ["9"])
        let types = "SELECT id, at, symbol, quote(price), typeof(price) FROM p ORDER BY id"
        #expect(
            try archived(store, types)
                == ["1|10|a|1|integer", "2|20|A|1.0|real", "3|30|NULL|'1'|text", "4|40|é|X'00FF'|blob"])
        #expect(
            try archived(
                store,
                "SELECT value FROM retention_archive WHERE name IN ('complete', 'policy_sha256', 'run') ORDER BY name")
                == ["1", "0f", "RUN"])
        #expect(try archived(store, "SELECT count(*) FROM p WHERE symbol = 'a'") == ["2"], "the collation is kept")
        let names = try FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted()
        #expect(names == ["RUN.sqlite", "store.sqlite"])
        let mode = try FileManager.default.attributesOfItem(atPath: store.folder.path + "/RUN.sqlite")[
            .posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func rowsThatCascadesAndTriggersDeleteAreInTheArchive() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (k TEXT PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE CASCADE) WITHOUT ROWID",
            "CREATE TABLE g (c TEXT REFERENCES c (k) ON DELETE CASCADE, note TEXT)",
            "CREATE TABLE log (p INTEGER)", "CREATE INDEX ix ON p (at)",
            "CREATE TRIGGER t AFTER DELETE ON p BEGIN DELETE FROM log WHERE p = OLD.id; END",
            "INSERT INTO p VALUES (1, 10), (2, 20), (3, 5000)", "INSERT INTO c VALUES ('x', 1), ('y', 2), ('z', 3)",
            "INSERT INTO g VALUES ('x', 'n'), ('z', 'm')", "INSERT INTO log VALUES (1), (1), (3)")
        let (result, archive) = try run(store)
        #expect(result.archivedCount == 7)
        #expect(archive?.rowCount == 7)
        #expect(try archived(store, "SELECT * FROM c ORDER BY k") == ["x|1", "y|2"])
        #expect(try archived(store, "SELECT rowid, c, note FROM g") == ["1|x|n"])
        #expect(try archived(store, "SELECT rowid, p FROM log ORDER BY 1") == ["1|1", "2|1"])
    }

    @Test func oldValuesOfClearedReferencesAreInTheArchive() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE SET NULL)",
            "INSERT INTO p VALUES (1, 10), (2, 20), (3, 5000)", "INSERT INTO c VALUES (11, 1), (12, 2), (13, 3)")
        let (_, archive) = try run(store)
        #expect(archive?.referenceCount == 2)
        #expect(
            try archived(store, "SELECT id, old_p, new_p FROM retention_references_1 ORDER BY id")
                == ["11|1|NULL", "12|2|NULL"])
    }

    @Test func partsTellWhichRowsWereDeletedTogether() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX ix ON p (at)",
            "INSERT INTO p VALUES (1, 10), (2, 20), (3, 30)")
        _ = try run(store)
        #expect(
            try archived(store, "SELECT part, rule, table_number, first_rowid, last_rowid FROM retention_parts")
                == ["0|0|0|1|2", "1|0|0|3|3"])
    }

    @Test func whatIsNotDeletedIsNotInTheArchive() throws {
        // The last parent cannot be deleted: its child's reference is checked when the transaction ends.
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX ix ON p (at)",
            "CREATE TABLE c (p INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)",
            "INSERT INTO p VALUES (1, 10), (2, 20), (3, 30)", "INSERT INTO c VALUES (3)")
        let writer = try store.writer()
        try writer.beginArchive(archive(in: store))
        let deletion = try writer.deletion(of: request())
        #expect(try deletion.deleteNext(DeletionBounds(rows: 2)).result.archivedCount == 2)
        #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 2)) }
        let archive = try writer.completeArchive()
        #expect(archive?.rowCount == 2)
        #expect(try archived(store, "SELECT id FROM p") == ["1", "2"])
        #expect(try store.rows("SELECT id FROM p") == ["3"])
    }

    @Test func anArchiveWithoutRowsIsRemoved() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "INSERT INTO p VALUES (9, 5000)")
        let (result, archive) = try run(store)
        #expect(result.archivedCount == 0)
        #expect(archive == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder.path) == ["store.sqlite"])
    }

    @Test func aValueThatItsDeclaredTypeWouldChangeIsNotDeleted() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, price TEXT)", "CREATE INDEX ix ON p (at)",
            "INSERT INTO p VALUES (1, 10, 'x'), (2, 20, '7')", "PRAGMA writable_schema = 1",
            "UPDATE sqlite_schema SET sql = replace(sql, 'price TEXT', 'price INTEGER') WHERE name = 'p'")
        let writer = try store.writer()
        try writer.beginArchive(archive(in: store))
        let deletion = try writer.deletion(of: request())
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 5)) }
        #expect(error?.message.contains("not equal") == true, "\(String(describing: error))")
        #expect(try writer.completeArchive() == nil)
        #expect(try store.rows("SELECT count(*) FROM p") == ["2"])
    }

    @Test(arguments: [
        ("CREATE TRIGGER t AFTER DELETE ON p BEGIN INSERT OR REPLACE INTO q VALUES (1); END", "REPLACE"),
        ("CREATE TRIGGER t AFTER DELETE ON p BEGIN DELETE FROM f WHERE rowid = OLD.id; END", "virtual"),
    ])
    func aTriggerWhoseDeletesCannotBeSeenIsAnObstacle(trigger: String, word: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE TABLE q (id INTEGER PRIMARY KEY)",
            "CREATE VIRTUAL TABLE f USING fts5 (text)", trigger)
        #expect(try store.reader().archiveObstacle(of: request())?.contains(word) == true)
    }

    /// Rows are written several at a time, and large ones at once.
    @Test func rowsOfAllSizesAndNumbersAreInTheArchive() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (at INTEGER, id TEXT, v)", "CREATE INDEX ix ON p (at)",
            """
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
            INSERT INTO p SELECT n, printf('row %d é', n), CASE n % 40 WHEN 39 THEN zeroblob(3000000) ELSE randomblob(n * n) END FROM c
            """)
        let rows = "SELECT rowid, at, quote(id), length(v), hex(substr(v, 1, 1000)) FROM p ORDER BY rowid"
        let before = try store.rows(rows)
        var request = request()
        request.deleting.archiveRule = "old"
        let writer = try store.writer()
        try writer.beginArchive(archive(in: store))
        let deletion = try writer.deletion(of: request)
        while try deletion.deleteNext(DeletionBounds(rows: 33)).hasMore {}
        #expect(try writer.completeArchive()?.rowCount == 100)
        #expect(try archived(store, rows) == before)
    }

    /// The rows that a query copies must be those that the statement deletes, not only as many.
    @Test func aDeleteOfOtherRowsThanWereCopiedIsUndone() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)", "INSERT INTO p VALUES (1, 10), (2, 20)")
        let writer = try store.writer()
        try writer.beginArchive(archive(in: store))
        let archiver = try #require(writer.archiver)
        let work = DeleteWork(BatchDeleteRequest(request(), resultType: .count))
        #expect(throws: StoreError.self) {
            try writer.run("deleting") { db in
                try writer.transaction(.normal) {
                    try archiver.begin(work.request.withoutPlace, writer, db)
                    try archiver.delete(
                        SQLFragment("DELETE FROM p WHERE id = 2"),
                        copying: { try db.execute(sql: "SELECT \($0) FROM p AS \(RowScope.alias) WHERE id = 1") },
                        writer, db)
                }
            }
        }
        #expect(try archiver.withdraw() == nil)
        #expect(try store.rows("SELECT count(*) FROM p") == ["2"])
        #expect(try writer.completeArchive() == nil)
    }

    /// One statement deletes a row and the row that refers to it, whose reference SQLite has cleared by then.
    @Test func aReferenceThatIsClearedBeforeItsRowIsDeletedIsInTheArchive() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, q INTEGER REFERENCES p (id) ON DELETE SET NULL)",
            "PRAGMA foreign_keys = OFF", "INSERT INTO p VALUES (1, 10, 2), (2, 20, 1)")
        let (_, archive) = try run(store, request())
        #expect(archive?.rowCount == 2 && archive?.referenceCount == 1)
        #expect(try archived(store, "SELECT id, old_q, new_q FROM retention_references_1") == ["2|1|NULL"])
    }

    @Test func wideRowsAreArchivedInPieces() throws {
        let columns = (0..<250).map { "c\($0)" }
        let values = (0..<250).map(String.init).joined(separator: ", ")
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, \(columns.joined(separator: ", ")))",
            "INSERT INTO p VALUES (1, 10, \(values)), (2, 20, \(values))")
        let (result, _) = try run(store)
        #expect(result.archivedCount == 2)
        #expect(try archived(store, "SELECT id, at, c0, c249 FROM p") == ["1|10|0|249", "2|20|0|249"])
    }

    @Test func strictTablesKeepTheTypesOfTheirValues() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INT, v ANY) STRICT",
            "INSERT INTO p VALUES (1, 10, '12'), (2, 20, 12)")
        let (result, _) = try run(store)
        #expect(result.archivedCount == 2)
        #expect(try archived(store, "SELECT quote(v) FROM p ORDER BY id") == ["'12'", "12"])
    }

    @Test(arguments: [
        "int unique", "int) as select", "int default 7", "a\"b", "'", "select", "VARCHAR(10, 2)", "INTEGER",
    ])
    func aDeclaredTypeIsKeptWhateverItSays(type: String) throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, v \(type.standardIdentifier), w)",
            "INSERT INTO p VALUES (1, 10, 5, 1), (2, 20, 5, 2)")
        #expect(try run(store).result.archivedCount == 2)
        #expect(try archived(store, "SELECT type FROM pragma_table_info('p') WHERE name = 'v'") == [type])
        #expect(try archived(store, "SELECT v, w FROM p ORDER BY id") == ["5|1", "5|2"])
    }

    @Test func tablesWithTheNamesOfAnArchivesOwnAreArchived() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE retention_x (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE)",
            "CREATE TABLE rows_1 (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE)",
            "CREATE TABLE \"Rows_2\" (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE)",
            "INSERT INTO p VALUES (1, 10)", "INSERT INTO retention_x VALUES (1, 1)", "INSERT INTO rows_1 VALUES (1, 1)",
            "INSERT INTO Rows_2 VALUES (1, 1)")
        #expect(try run(store).result.archivedCount == 4)
    }
}
