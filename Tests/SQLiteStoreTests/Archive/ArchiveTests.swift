import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a run deletes is in its archive, equal in every value, whichever way it was deleted. Days under 20 are deleted.
struct ArchiveTests {
    private static let table = "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER); CREATE INDEX ix ON p (at); "

    /// Deletes the rows of `p` in batches of two.
    private func delete(_ sql: String) throws -> (store: ArchivedStore, archive: ArchiveResult?) {
        let archived = try ArchivedStore(sql)
        return (archived, try archived.delete("p", batchRows: 2))
    }

    @Test(arguments: ["whole", "range", "windows"])
    func everyDeletedRowIsInTheArchive(method: String) throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT COLLATE NOCASE, price);
            CREATE INDEX ix ON p (at);
            INSERT INTO p VALUES
                (1, 1, 'a', 1), (2, 2, 'A', 1.0), (3, 3, NULL, '1'), (4, 4, 'é', x'00ff'), (9, 5000, 'b', 2);
            """)
        let archive = try archived.delete([ArchivedStore.request("p")], methods: [method], batchRows: 2)
        #expect(archive?.rowCount == 4)
        #expect(try archived.store.rows("SELECT id FROM p") == ["9"])
        #expect(
            try archived.archived("SELECT id, at, symbol, quote(price), typeof(price) FROM p ORDER BY id")
                == ["1|1|a|1|integer", "2|2|A|1.0|real", "3|3|NULL|'1'|text", "4|4|é|X'00FF'|blob"])
        #expect(
            try archived.archived(
                "SELECT value FROM retention_archive WHERE name IN ('complete', 'policy_sha256', 'run') ORDER BY name")
                == ["1", "a'b\"c,{}", ArchivedStore.run])
        #expect(try archived.archived("SELECT count(*) FROM p WHERE symbol = 'a'") == ["2"], "the collation is kept")
        let names = try FileManager.default.contentsOfDirectory(atPath: archived.place)
        #expect(names == [ArchivedStore.run + ".sqlite"])
        let attributes = try FileManager.default.attributesOfItem(atPath: archived.archive)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func rowsThatCascadesAndTriggersDeleteAreInTheArchive() throws {
        let (store, archive) = try delete(
            Self.table + """
                CREATE TABLE c (k TEXT PRIMARY KEY, p INTEGER REFERENCES p (id) ON DELETE CASCADE) WITHOUT ROWID;
                CREATE TABLE g (c TEXT REFERENCES c (k) ON DELETE CASCADE, note TEXT); CREATE TABLE log (p INTEGER);
                CREATE TRIGGER t AFTER DELETE ON p BEGIN DELETE FROM log WHERE p = OLD.id; END;
                INSERT INTO p VALUES (1, 1), (2, 2), (3, 5000); INSERT INTO c VALUES ('x', 1), ('y', 2), ('z', 3);
                INSERT INTO g VALUES ('x', 'n'), ('z', 'm'); INSERT INTO log VALUES (1), (1), (3);
                """)
        #expect(archive?.rowCount == 7)
        #expect(try store.archived("SELECT * FROM c ORDER BY k") == ["x|1", "y|2"])
        #expect(try store.archived("SELECT rowid, c, note FROM g") == ["1|x|n"])
        #expect(try store.archived("SELECT rowid, p FROM log ORDER BY 1") == ["1|1", "2|1"])
    }

    @Test func partsTellWhichRowsWereDeletedTogether() throws {
        let (store, _) = try delete(Self.table + "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)")
        #expect(
            try store.archived("SELECT part, rule, table_number, first_rowid, last_rowid FROM retention_parts")
                == ["0|0|0|1|2", "1|0|0|3|3"])
    }

    @Test func whatIsNotDeletedIsNotInTheArchive() throws {
        // The last parent cannot be deleted: its child's reference is checked when the transaction ends.
        let archived = try ArchivedStore(
            Self.table + """
                CREATE TABLE c (p INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED);
                INSERT INTO p VALUES (1, 1), (2, 2), (3, 3); INSERT INTO c VALUES (3);
                """)
        let (writer, deletion) = try archived.begin("p")
        #expect(try deletion.deleteNext(DeletionBounds(rows: 2)).result.archivedCount == 2)
        #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 2)) }
        #expect(try writer.completeArchive()?.rowCount == 2)
        #expect(try archived.archived("SELECT id FROM p") == ["1", "2"])
        #expect(try archived.store.rows("SELECT id FROM p") == ["3"])
    }

    @Test func anArchiveWithoutRowsIsRemoved() throws {
        let (store, archive) = try delete(Self.table + "INSERT INTO p VALUES (9, 5000)")
        #expect(archive == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.place).isEmpty)
    }

    @Test func aValueThatItsDeclaredTypeWouldChangeIsNotDeleted() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, price TEXT); CREATE INDEX ix ON p (at);
            INSERT INTO p VALUES (1, 1, 'x'), (2, 2, '7'); PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET sql = replace(sql, 'price TEXT', 'price INTEGER') WHERE name = 'p';
            """)
        let (writer, deletion) = try archived.begin("p")
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 5)) }
        #expect(error?.message.contains("not equal") == true, "\(String(describing: error))")
        #expect(try writer.completeArchive() == nil)
        #expect(try archived.store.rows("SELECT count(*) FROM p") == ["2"])
    }

    /// Rows are written several at a time, and large ones at once.
    @Test func rowsOfAllSizesAndNumbersAreInTheArchive() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE p (at INTEGER, id TEXT, v); CREATE INDEX ix ON p (at);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
            INSERT INTO p SELECT 1 + n / 6, printf('row %d é', n),
                CASE n % 40 WHEN 39 THEN zeroblob(3000000) ELSE randomblob(n * n) END FROM c
            """)
        let rows = "SELECT rowid, at, quote(id), length(v), hex(substr(v, 1, 1000)) FROM p ORDER BY rowid"
        let before = try archived.store.rows(rows)
        #expect(try archived.delete("p", batchRows: 33)?.rowCount == 100)
        #expect(try archived.archived(rows) == before)
    }

    /// The rows that a query copies must be those that the statement deletes, not only as many.
    @Test func aDeleteOfOtherRowsThanWereCopiedIsUndone() throws {
        let archived = try ArchivedStore(Self.table + "INSERT INTO p VALUES (1, 1), (2, 2)")
        let (writer, _) = try archived.begin("p")
        let archiver = try #require(writer.archiver)
        var request = ArchivedStore.request("p")
        request.deleting.archiveRule = "r0"
        let work = DeleteWork(BatchDeleteRequest(request, resultType: .count))
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
        #expect(try archived.store.rows("SELECT count(*) FROM p") == ["2"])
        #expect(try writer.completeArchive() == nil)
    }

    /// One statement deletes a row and the row that refers to it, whose reference SQLite has cleared by then.
    @Test func aReferenceThatIsClearedBeforeItsRowIsDeletedIsInTheArchive() throws {
        let (store, archive) = try delete(
            """
            CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, q INTEGER REFERENCES p (id) ON DELETE SET NULL);
            PRAGMA foreign_keys = OFF; INSERT INTO p VALUES (1, 1, 2), (2, 2, 1);
            """)
        #expect(archive?.rowCount == 2 && archive?.referenceCount == 1)
        #expect(try store.archived("SELECT id, old_q, new_q FROM retention_references_1") == ["2|1|NULL"])
    }

    @Test func strictTablesKeepTheTypesOfTheirValues() throws {
        let (store, _) = try delete(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INT, v ANY) STRICT; INSERT INTO p VALUES (1, 1, '12'), (2, 2, 12)"
        )
        #expect(try store.archived("SELECT quote(v) FROM p ORDER BY id") == ["'12'", "12"])
    }

    @Test(arguments: [
        "int unique", "int) as select", "int default 7", "a\"b", "'", "select", "VARCHAR(10, 2)", "INTEGER",
    ])
    func aDeclaredTypeIsKeptWhateverItSays(type: String) throws {
        let (store, archive) = try delete(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, at INTEGER, v \(type.standardIdentifier), w); "
                + "INSERT INTO p VALUES (1, 1, 5, 1), (2, 2, 5, 2)")
        #expect(archive?.rowCount == 2)
        #expect(try store.archived("SELECT type FROM pragma_table_info('p') WHERE name = 'v'") == [type])
        #expect(try store.archived("SELECT v, w FROM p ORDER BY id") == ["5|1", "5|2"])
    }

    @Test func tablesWithTheNamesOfAnArchivesOwnAreArchived() throws {
        let names = ["retention_x", "rows_1", "Rows_2"]
        let tables = names.map {
            "CREATE TABLE \($0) (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE); "
        }
        let rows = names.map { "INSERT INTO \($0) VALUES (1, 1); " }
        let (_, archive) = try delete(Self.table + tables.joined() + "INSERT INTO p VALUES (1, 1); " + rows.joined())
        #expect(archive?.rowCount == 4)
    }
}
