import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a restoration does with rows of every kind, with references, and in a file whose rows have other places. Days under 20 are
/// deleted. What it does in a store whose rows and tables have changed is in `Tests/Cases`.
struct RestorationTests {
    static let prices =
        "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT); "
        + "INSERT INTO price VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (9, 30, 'z'); "

    @Test func valuesOfEveryTypeKeepTheirTypesAndBytes() throws {
        let archived = try ArchivedStore(
            "CREATE TABLE t (k TEXT COLLATE NOCASE PRIMARY KEY, at INTEGER, v) WITHOUT ROWID; "
                + "INSERT INTO t VALUES ('A', 1, 1), ('b', 1, 1.0), ('c', 1, '1'), ('d', 1, x'31'), ('e', 1, NULL), "
                + "('f', 1, 9e999), ('g', 1, 0.1 + 0.2), ('h', 1, 'e' || char(769)), ('i', 1, 'a' || char(0) || 'b')")
        let before = try archived.contents()
        try archived.delete("t")
        try archived.undo()
        #expect(try archived.contents() == before)
        // A row of the same key whose value is of another type is another row.
        try archived.store.change("UPDATE t SET v = 1.0 WHERE k = 'a'; UPDATE t SET k = 'B' WHERE k = 'b'")
        #expect(try archived.undo().skipped.map(\.key) == [[.text("A")], [.text("b")]])
    }

    @Test func rowidsAreRestoredAndNumbersAreNotGivenTwice() throws {
        let archived = try ArchivedStore(
            "CREATE TABLE plain (at INTEGER, \"_rowid_\" TEXT); INSERT INTO plain (oid, at, _rowid_) VALUES (70, 1, 'x'), (7, 1, 'y'); "
                + "CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER); INSERT INTO auto VALUES (50, 1), (60, 2)"
        )
        let before = try archived.contents()
        try archived.delete("plain", "auto")
        try archived.store.change("INSERT INTO auto (at) VALUES (99); DELETE FROM auto")
        try archived.undo()
        #expect(try archived.contents() == before)
        #expect(try archived.store.rows("SELECT seq FROM sqlite_sequence") == ["61"])
    }

    /// The names of the rowid may be columns; a table of the archive has another name for its own.
    @Test(arguments: ["rowid, oid", "_rowid_, oid", "rowid, _rowid_", "rowid, _rowid_, oid, id INTEGER PRIMARY KEY"])
    func rowsWhoseColumnsHideTheRowidAreRestored(_ columns: String) throws {
        let archived = try ArchivedStore(
            "CREATE TABLE t (at INTEGER, \(columns)); CREATE TABLE c (t INTEGER, at INTEGER, \(columns)); "
                + "INSERT INTO t (at, rowid, _rowid_, oid) VALUES (1, 71, 72, 73), (2, 81, 82, 83), (30, 91, 92, 93); "
                + "CREATE TRIGGER gone AFTER DELETE ON t BEGIN UPDATE c SET at = 40; END")
        let before = try archived.contents()
        #expect(before["t"]?.count == 3)
        try archived.delete("t", batchRows: 1)
        #expect(try archived.contents()["t"]?.count == 1)
        #expect(try archived.undo().tables["t"]?.restoredCount == 2)
        #expect(try archived.contents() == before)
    }

    private static let circle = """
        CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES price ON DELETE SET NULL);
        INSERT INTO price VALUES (1, 1, NULL), (2, 2, 1), (3, 3, 2), (9, 30, NULL); UPDATE price SET up = 3 WHERE id = 1;
        """

    /// SQLite clears references that the rule does not name, in rows that go and in rows that other rows take along.
    @Test(
        arguments: [
            circle,
            circle.replacing("SET NULL", with: "SET DEFAULT").replacing("up INTEGER", with: "up INTEGER DEFAULT NULL"),
            circle + """
                CREATE TABLE note (id INTEGER PRIMARY KEY);
                CREATE TABLE mark (id INTEGER PRIMARY KEY, note INTEGER REFERENCES note ON DELETE SET NULL);
                INSERT INTO note VALUES (1), (2), (3); INSERT INTO mark SELECT id, id FROM note;
                CREATE TRIGGER gone AFTER DELETE ON price BEGIN DELETE FROM note WHERE id = OLD.id; END;
                """,
            circle + """
                CREATE TABLE note (id INTEGER PRIMARY KEY); INSERT INTO note VALUES (1), (2), (3);
                CREATE TRIGGER cleared AFTER UPDATE ON price WHEN NEW.up IS NULL BEGIN DELETE FROM note WHERE id = OLD.id; END;
                """,
        ], [BatchDeleteRequest.RelationshipRule.asDeclared, .nullify])
    func aReferenceThatIsClearedBeforeItsRowGoesIsRestored(
        _ sql: String, _ rule: BatchDeleteRequest.RelationshipRule
    ) throws {
        for rows in [nil, 1, 2] {
            let archived = try ArchivedStore(sql)
            let before = try archived.contents()
            var request = ArchivedStore.request("price")
            request.relationships = rule
            try archived.delete([request], batchRows: rows)
            #expect(try archived.store.rows("SELECT id FROM price") == ["9"])
            try archived.undo(triggers: .skip)
            #expect(try archived.contents() == before, "batches of \(rows ?? 0)")
        }
    }

    /// Values would be changed to the type that a column has now, and a key could replace rows of the store.
    @Test(arguments: ["symbol INTEGER", "symbol TEXT, UNIQUE (at) ON CONFLICT REPLACE"])
    func aSchemaThatChangesDuringAnUndoEndsIt(_ columns: String) throws {
        let archived = try ArchivedStore(Self.prices)
        try archived.delete("price")
        let restoration = try archived.store.writer().restoration(of: archived.request())
        #expect(try restoration.restoreNext(rows: 1).hasMore)
        try archived.store.change(
            "CREATE TABLE new (id INTEGER PRIMARY KEY, at INTEGER, \(columns)); INSERT INTO new SELECT * FROM price;"
                + "DROP TABLE price; ALTER TABLE new RENAME TO price")
        let before = try archived.contents()
        let error = #expect(throws: StoreError.self) { try restoration.restoreNext(rows: 1) }
        #expect(error?.kind == .unsupported && error?.message.contains("has changed the tables or triggers") == true)
        #expect(try archived.contents() == before)
    }

    @Test(arguments: [1, 3, 1000])
    func rowsWithoutAKeyComeBackAfterAVacuum(_ rows: Int) throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (at INTEGER, x);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
            INSERT INTO t SELECT iif(i % 2, 1 + i % 3, 90), iif(i < 20, 'same', i) FROM n
            """)
        let before = try archived.store.rows("SELECT at, x, typeof(x) FROM t ORDER BY 1, 2")
        try archived.delete("t")
        try archived.store.change("VACUUM")
        let survey = try archived.store.reader().restorable(archived.request())
        #expect(survey.map(\.restorableCount) == [20])
        let outcome = try archived.undoTwice(rows: rows)
        #expect(outcome.total.restoredCount == 20 && outcome.skipped.isEmpty)
        #expect(try archived.store.rows("SELECT at, x, typeof(x) FROM t ORDER BY 1, 2") == before)
        #expect(try archived.store.reader().restorable(archived.request()).map(\.presentCount) == [20])
    }

    @Test(arguments: ["id TEXT PRIMARY KEY", "id TEXT"])
    func aReferenceIsRestoredInItsOwnRowOrNotAtAll(_ key: String) throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE c (\(key), t INTEGER REFERENCES t ON DELETE SET NULL);
            INSERT INTO t VALUES (1, 1), (2, 90); INSERT INTO c VALUES ('a', 2), ('b', 1), ('c', NULL), ('d', NULL);
            DELETE FROM c WHERE id = 'a';
            """)
        try archived.delete("t")
        try archived.store.change("VACUUM")
        let survey = try archived.store.reader().restorable(archived.request())
        let outcome = try archived.undoTwice()
        #expect(try archived.store.rows("SELECT id FROM c WHERE t = 1 AND id <> 'b'") == [])
        let restored = outcome.tables["c"]?.referenceCount ?? 0
        #expect(restored + (outcome.tables["c"]?.skippedReferenceCount ?? 0) == 1)
        #expect(survey.first { $0.table == "c" }?.referenceCount == restored)
        #expect((key == "id TEXT PRIMARY KEY") == (restored == 1))
    }

    /// The second reference is cleared when the first is gone already, and both are back when the undo looks again.
    @Test func aRowThatLostTwoReferencesIsFoundAgain() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE c (at INTEGER, id UNIQUE, t REFERENCES t ON DELETE SET NULL, c REFERENCES c (id) ON DELETE SET NULL);
            INSERT INTO t VALUES (1, 1), (2, 90); INSERT INTO c VALUES (1, 1, 1, 2), (1, 2, 1, 1), (90, 3, 1, 1), (90, 4, 2, 3);
            """)
        let before = try archived.contents()
        _ = try archived.delete(["t", "c"].map(ArchivedStore.request), batchRows: 1)
        let survey = try archived.store.reader().restorable(archived.request())
        let outcome = try archived.undoTwice()
        #expect(try archived.contents() == before)
        #expect(outcome.skipped.isEmpty && outcome.total.skippedReferenceCount == 0)
        #expect(survey.reduce(0) { $0 + $1.referenceCount } == outcome.total.referenceCount)
    }

    @Test func theWordConflictInANameChangesNothingForTriggers() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE s (s TEXT PRIMARY KEY);
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, s TEXT, on_conflict TEXT DEFAULT 'ON CONFLICT' /* on conflict */);
            CREATE TRIGGER new AFTER INSERT ON t BEGIN INSERT OR IGNORE INTO s VALUES (NEW.s); END;
            INSERT INTO t (at, s) VALUES (1, 'x'), (2, 'x');
            """)
        let before = try archived.contents()
        try archived.delete("t")
        #expect(try archived.undoTwice().skipped.isEmpty)
        #expect(try archived.contents() == before)
    }
}
