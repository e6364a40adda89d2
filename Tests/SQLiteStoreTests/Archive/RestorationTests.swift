import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a restoration does with rows, references, constraints and triggers. Days under 20 are deleted.
struct RestorationTests {
    static let price = "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT); "
    static let prices = price + "INSERT INTO price VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (9, 30, 'z'); "

    private func skip(_ table: String, _ key: StoreValue, _ reason: String) -> SkippedRow {
        SkippedRow(table: table, key: [key], reason: reason)
    }

    @Test(arguments: [1, 2, 1000])
    func restoresWhatARunDeletedAndASecondTimeNothing(_ rows: Int) throws {
        let archived = try ArchivedStore(Self.prices)
        let before = try archived.contents()
        try archived.delete("price", batchRows: 2)
        #expect(try archived.store.rows("SELECT id FROM price") == ["9"])
        #expect(try archived.undo(rows: rows).tables["price"]?.restoredCount == 3)
        #expect(try archived.contents() == before)
        let again = try archived.undo(rows: rows)
        #expect(again.total.restoredCount == 0 && again.total.presentCount == 3 && again.skipped.isEmpty)
        #expect(try archived.contents() == before)
    }

    @Test func theSurveyTellsWhatWillBeRestoredAndChangesNothing() throws {
        let archived = try ArchivedStore(Self.prices)
        try archived.delete("price")
        try archived.store.change { try $0.execute(sql: "INSERT INTO price VALUES (1, 1, 'a'), (2, 2, 'other')") }
        let bytes = try archived.store.bytes()
        var expected = RestorableTable(table: "price")
        (expected.archivedCount, expected.presentCount, expected.conflictCount) = (3, 1, 1)
        #expect(try archived.store.reader().restorable(archived.request()) == [expected])
        #expect(try archived.store.bytes() == bytes)
        let outcome = try archived.undo()
        #expect(outcome.total.restoredCount == 1 && outcome.total.presentCount == 1)
        #expect(outcome.skipped == [skip("price", .integer(2), "the store has another row with its key")])
        #expect(try archived.store.rows("SELECT symbol FROM price WHERE id = 2") == ["other"])
    }

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
        try archived.store.change {
            try $0.execute(sql: "UPDATE t SET v = 1.0 WHERE k = 'a'; UPDATE t SET k = 'B' WHERE k = 'b'")
        }
        #expect(try archived.undo().skipped.map(\.key) == [[.text("A")], [.text("b")]])
    }

    @Test func rowidsAreRestoredAndNumbersAreNotGivenTwice() throws {
        let archived = try ArchivedStore(
            "CREATE TABLE plain (at INTEGER, \"_rowid_\" TEXT); INSERT INTO plain (oid, at, _rowid_) VALUES (70, 1, 'x'), (7, 1, 'y'); "
                + "CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER); INSERT INTO auto VALUES (50, 1), (60, 2)"
        )
        let before = try archived.contents()
        try archived.delete("plain", "auto")
        try archived.store.change { try $0.execute(sql: "INSERT INTO auto (at) VALUES (99); DELETE FROM auto") }
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

    // MARK: Relationships

    static let family = """
        CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER);
        CREATE TABLE quote (id INTEGER PRIMARY KEY, price INTEGER REFERENCES price ON DELETE CASCADE);
        CREATE TABLE note (id INTEGER PRIMARY KEY, price INTEGER REFERENCES price ON DELETE SET NULL, text TEXT);
        INSERT INTO price VALUES (1, 1), (2, 2), (9, 30);
        INSERT INTO quote VALUES (10, 1), (11, 1), (12, 2), (13, 9);
        INSERT INTO note VALUES (20, 1, 'a'), (21, 2, 'b'), (22, 9, 'c'), (23, NULL, 'd');
        """

    @Test(arguments: [1, 3, 1000])
    func parentsComeBeforeChildrenAndReferencesAreRestored(_ rows: Int) throws {
        let archived = try ArchivedStore(Self.family)
        let before = try archived.contents()
        try archived.delete("price")
        #expect(try archived.store.rows("SELECT id FROM note WHERE price IS NULL") == ["20", "21", "23"])
        let survey = try archived.store.reader().restorable(archived.request())
        let outcome = try archived.undo(rows: rows)
        #expect(try archived.contents() == before)
        for table in survey {
            #expect(table.restorableCount == outcome.tables[table.table]?.restoredCount ?? 0)
            #expect(table.referenceCount == outcome.tables[table.table]?.referenceCount ?? 0)
        }
        #expect(outcome.tables["note"]?.referenceCount == 2)
        #expect(try archived.undo(rows: rows).total.referenceCount == 0)
    }

    @Test func aReferenceIsRestoredBesideOneThatRefersToNothing() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE note (id INTEGER PRIMARY KEY, a INTEGER REFERENCES price ON DELETE SET NULL,
                b INTEGER REFERENCES price ON DELETE SET NULL);
            PRAGMA foreign_keys = OFF;
            INSERT INTO price VALUES (1, 1); INSERT INTO note VALUES (20, 1, 777);
            """)
        let before = try archived.contents()
        try archived.delete("price")
        try archived.undo()
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

    @Test func aReferenceThatSomebodySetSinceStays() throws {
        let archived = try ArchivedStore(Self.family)
        try archived.delete("price")
        try archived.store.change { try $0.execute(sql: "UPDATE note SET price = 9 WHERE id = 20") }
        #expect(try archived.undo().tables["note"]?.referenceCount == 1)
        #expect(try archived.store.rows("SELECT price FROM note") == ["9", "2", "9", "NULL"])
    }

    @Test(arguments: [20, 21]) func aRefusedReferenceKeepsNoOtherFromBeingRestored(_ refused: Int) throws {
        let archived = try ArchivedStore(Self.family)
        try archived.delete("price")
        try archived.store.change {
            try $0.execute(
                sql:
                    "CREATE TRIGGER no BEFORE UPDATE OF price ON note WHEN new.id = \(refused) BEGIN SELECT RAISE(ABORT, 'no'); END"
            )
        }
        let found = try archived.undo().tables["note"]
        #expect(found?.referenceCount == 1 && found?.skippedReferenceCount == 1)
        #expect(try archived.store.rows("SELECT id FROM note WHERE price IS NULL AND id < 22") == ["\(refused)"])
    }

    @Test func childrenOfASkippedRowAreNotGivenToTheRowThatHasItsKey() throws {
        let archived = try ArchivedStore(Self.family)
        try archived.delete("price")
        try archived.store.change { try $0.execute(sql: "INSERT INTO price VALUES (1, 77)") }
        let outcome = try archived.undo()
        let child = "its row of price was not restored"
        #expect(
            outcome.skipped == [
                skip("price", .integer(1), "the store has another row with its key"),
                skip("quote", .integer(10), child),
                skip("quote", .integer(11), child),
                skip(
                    "note", .integer(20), "its reference is not restored: the row that it refers to was not restored"),
            ])
        #expect(try archived.store.rows("SELECT id FROM quote") == ["12", "13"])
        #expect(try archived.store.rows("SELECT price FROM note") == ["NULL", "2", "9", "NULL"])
        #expect(try archived.undo().skipped == outcome.skipped)
    }

    /// A foreign key compares by the collation of the column to which it refers.
    @Test(arguments: ["CASCADE", "SET NULL"]) func childrenInOtherLettersAreThoseOfTheSkippedRow(action: String) throws
    {
        let archived = try ArchivedStore(
            """
            CREATE TABLE price (id TEXT PRIMARY KEY COLLATE NOCASE, at INTEGER);
            CREATE TABLE quote (id INTEGER PRIMARY KEY, price TEXT REFERENCES price ON DELETE \(action));
            INSERT INTO price VALUES ('K1', 1), ('K2', 2); INSERT INTO quote VALUES (10, 'k1'), (11, 'k2');
            """)
        try archived.delete("price")
        try archived.store.change { try $0.execute(sql: "INSERT INTO price VALUES ('k1', 77)") }
        try archived.undo()
        #expect(
            try archived.store.rows("SELECT id, price FROM quote")
                == (action == "CASCADE" ? ["11|k2"] : ["10|NULL", "11|k2"]))
    }

    @Test func aRowWhoseParentIsGoneIsSkipped() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE symbol (id INTEGER PRIMARY KEY);
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol INTEGER REFERENCES symbol);
            INSERT INTO symbol VALUES (1), (2); INSERT INTO price VALUES (1, 1, 1), (2, 2, 2);
            """)
        try archived.delete("price")
        try archived.store.change { try $0.execute(sql: "DELETE FROM symbol WHERE id = 2") }
        let outcome = try archived.undo()
        #expect(outcome.skipped == [skip("price", .integer(2), "a row that it refers to is not in the store")])
        #expect(try archived.store.rows("SELECT id FROM price") == ["1"])
    }

    // MARK: Constraints and triggers

    @Test func aUniqueValueThatAnotherRowHasIsNotTakenFromIt() throws {
        for clause in ["", "ON CONFLICT REPLACE", "ON CONFLICT IGNORE"] {
            let archived = try ArchivedStore(
                "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER UNIQUE \(clause)); INSERT INTO price VALUES (1, 1), (2, 2)"
            )
            try archived.delete("price")
            try archived.store.change { try $0.execute(sql: "INSERT INTO price VALUES (7, 2)") }
            let outcome = try archived.undo()
            #expect(
                outcome.skipped == [
                    skip("price", .integer(2), "the store refuses it: UNIQUE constraint failed: price.at")
                ])
            #expect(try archived.store.rows("SELECT * FROM price") == ["1|1", "7|2"])
        }
    }

    @Test func aRowThatATriggerRefusesOrIgnoresIsSkipped() throws {
        let archived = try ArchivedStore(Self.prices)
        try archived.delete("price")
        try archived.store.change {
            try $0.execute(
                sql: """
                    CREATE TRIGGER one BEFORE INSERT ON price WHEN NEW.id = 1 BEGIN SELECT RAISE(ABORT, 'not this'); END;
                    CREATE TRIGGER two BEFORE INSERT ON price WHEN NEW.id = 2 BEGIN SELECT RAISE(IGNORE); END;
                    """)
        }
        let outcome = try archived.undo()
        #expect(
            Set(outcome.skipped) == [
                skip("price", .integer(1), "a trigger refuses it: not this"),
                skip("price", .integer(2), "a trigger ignores it"),
            ])
        #expect(try archived.store.rows("SELECT id FROM price") == ["3", "9"])
    }

    @Test func triggersOfTheStoreFireAndKeepDerivedDataInStep() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE total (day INTEGER PRIMARY KEY, n INTEGER);
            CREATE TRIGGER added AFTER INSERT ON price BEGIN
                INSERT OR IGNORE INTO total VALUES (NEW.at, 0); UPDATE total SET n = n + 1 WHERE day = NEW.at; END;
            CREATE TRIGGER removed AFTER DELETE ON price BEGIN UPDATE total SET n = n - 1 WHERE day = OLD.at; END;
            INSERT INTO price VALUES (1, 1), (2, 1), (3, 2), (9, 30);
            """)
        let before = try archived.contents()
        try archived.delete("price")
        #expect(try archived.store.rows("SELECT n FROM total") == ["0", "0", "1"])
        try archived.undo()
        #expect(try archived.contents() == before)
    }

    // MARK: The schema

    @Test func aNewColumnGetsItsDefault() throws {
        let archived = try ArchivedStore(Self.prices)
        try archived.delete("price")
        try archived.store.change {
            try $0.execute(sql: "ALTER TABLE price ADD COLUMN source TEXT NOT NULL DEFAULT 'feed'")
        }
        try archived.undo()
        #expect(try archived.store.rows("SELECT id, source FROM price") == ["1|feed", "2|feed", "3|feed", "9|feed"])
        #expect(try archived.undo().total.presentCount == 3)
    }

    @Test(arguments: [
        (
            "ALTER TABLE price DROP COLUMN symbol",
            "the table price has no column symbol any more, and the archive has values for it"
        ),
        ("DROP TABLE price", "the store has no table price any more"),
        ("ALTER TABLE price RENAME TO prices", "the store has no table price any more"),
        (
            "DROP TABLE price; CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT, source TEXT NOT NULL)",
            "the table price has a new column source, which needs a value and has no default"
        ),
        (
            "DROP TABLE price; CREATE TABLE price (id INTEGER, at INTEGER, symbol TEXT)",
            "the rows of price are identified by other columns than when they were deleted"
        ),
    ])
    func aTableThatCannotTakeTheRowsIsRefused(_ sql: String, _ message: String) throws {
        let archived = try ArchivedStore(Self.prices)
        try archived.delete("price")
        try archived.store.change { try $0.execute(sql: sql) }
        let before = try archived.contents()
        let error = try #require(throws: StoreError.self) { try archived.undo() }
        #expect(error.kind == .unsupported && error.message == message)
        #expect(try archived.contents() == before)
    }

    /// Values would be changed to the type that a column has now, and a key could replace rows of the store.
    @Test(arguments: ["symbol INTEGER", "symbol TEXT, UNIQUE (at) ON CONFLICT REPLACE"])
    func aSchemaThatChangesDuringAnUndoEndsIt(_ columns: String) throws {
        let archived = try ArchivedStore(Self.prices)
        try archived.delete("price")
        let restoration = try archived.store.writer().restoration(of: archived.request())
        #expect(try restoration.restoreNext(rows: 1).hasMore)
        try archived.store.change {
            try $0.execute(
                sql:
                    "CREATE TABLE new (id INTEGER PRIMARY KEY, at INTEGER, \(columns)); INSERT INTO new SELECT * FROM price;"
                    + "DROP TABLE price; ALTER TABLE new RENAME TO price")
        }
        let before = try archived.contents()
        let error = #expect(throws: StoreError.self) { try restoration.restoreNext(rows: 1) }
        #expect(error?.kind == .unsupported && error?.message.contains("has changed the tables or triggers") == true)
        #expect(try archived.contents() == before)
    }

    @Test func onlyTheRowsOfSomeRulesAreRestored() throws {
        let archived = try ArchivedStore(
            "CREATE TABLE a (at INTEGER); CREATE TABLE b (at INTEGER); INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"
        )
        try archived.delete("a", "b")
        let restoration = try archived.store.writer().restoration(of: archived.request(["r1"]))
        #expect(restoration.rules == ["r1"] && restoration.tables.map(\.table) == ["b"])
        try archived.undo(rules: ["r1"])
        #expect(try archived.store.rows("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)") == ["0|1"])
    }

    @Test func historyRecordsTheRestoredRows() throws {
        let archived = try ArchivedStore(Self.prices)
        let writer = try archived.store.writer()
        try archived.delete([ArchivedStore.request("price")], on: writer)
        var history = try HistoryReplay(writer)
        try archived.undo(on: writer)
        #expect(try history.differences().isEmpty)
    }
}
