import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Triggers of the store that an undo sets off: they are skipped, or fire and are counted. Days under 20 are deleted.
struct FiredTriggerTests {
    private static let totals = """
        CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
        CREATE TABLE total (symbol TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
        CREATE TABLE log (text TEXT);
        CREATE TRIGGER b_count AFTER INSERT ON price BEGIN UPDATE total SET n = n + 1 WHERE symbol = NEW.symbol; END;
        CREATE TRIGGER a_log BEFORE INSERT ON price BEGIN INSERT INTO log VALUES ('new'), (NEW.id); DELETE FROM log WHERE text = 'new'; END;
        CREATE TRIGGER changed AFTER UPDATE ON price BEGIN SELECT 1; END;
        CREATE TRIGGER logged AFTER INSERT ON log BEGIN UPDATE total SET n = n + 100 WHERE symbol = 'z'; END;
        INSERT INTO price VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'a'), (9, 30, 'z');
        DELETE FROM log; INSERT INTO total VALUES ('a', 2), ('b', 1), ('z', 1);
        """

    @Test(arguments: [1, 2, 1000])
    func skippedTriggersLeaveEverythingElseAlone(_ rows: Int) throws {
        let archived = try ArchivedStore(Self.totals)
        let schema = "SELECT rowid, type, name, tbl_name, rootpage, sql FROM sqlite_schema"
        let (before, definitions) = (try archived.contents(), try archived.store.rows(schema))
        try archived.delete("price")
        let version = try archived.store.rows("PRAGMA schema_version")
        let writer = try archived.store.writer()
        let tables = try archived.store.reader().restorable(archived.request())
        #expect(tables.map(\.triggers) == [["a_log", "b_count"]])
        let restoration = try writer.restoration(of: archived.request(triggers: .skip))
        #expect(restoration.tables.map(\.triggers) == [["a_log", "b_count"]])
        let outcome = try archived.undo(rows: rows, on: writer, triggers: .skip)
        #expect(outcome.total.restoredCount == 3 && outcome.byTriggers.isEmpty)
        #expect(try archived.contents() == before)
        #expect(try archived.store.rows(schema) == definitions)
        #expect(try archived.store.rows("PRAGMA schema_version") == version)
        // They fire again, also on this connection.
        try writer.run("adding a row") { try $0.execute(sql: "INSERT INTO price VALUES (4, 4, 'a')") }
        #expect(try archived.store.rows("SELECT n FROM total WHERE symbol = 'a'") == ["3"])
    }

    /// An insert that fails as a whole, and is made row by row then, is not counted twice.
    @Test(arguments: [false, true])
    func firedTriggersAreCounted(_ isRefused: Bool) throws {
        let archived = try ArchivedStore(Self.totals)
        try archived.delete("price")
        try archived.store.change(isRefused ? "CREATE UNIQUE INDEX u ON price (symbol) WHERE symbol <> 'b'" : "")
        let outcome = try archived.undo(triggers: .fire)
        let count = isRefused ? 2 : 3
        #expect(outcome.total.restoredCount == count && outcome.total.skippedCount == 3 - count)
        #expect(
            outcome.byTriggers == [
                "log": TriggeredRows(insertedCount: 2 * count, deletedCount: count),
                "total": TriggeredRows(changedCount: 3 * count),
            ])
    }

    /// The history is written by temporary triggers, and foreign keys act.
    @Test func theHistoryAndForeignKeysWorkWithoutTriggers() throws {
        let archived = try ArchivedStore(Self.totals)
        let writer = try archived.store.writer()
        try archived.delete([ArchivedStore.request("price")], on: writer)
        var history = try HistoryReplay(writer)
        try archived.undo(on: writer, triggers: .skip)
        #expect(try history.differences().isEmpty)
        #expect(try archived.store.rows("SELECT n FROM total") == ["2", "1", "1"])
    }

    /// Only the triggers that a restored reference sets off are asked about.
    @Test func triggersOnChangesCountWhereReferencesAreRestored() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE SET NULL, note TEXT);
            CREATE TRIGGER c_new AFTER INSERT ON c BEGIN SELECT 1; END;
            CREATE TRIGGER c_note AFTER UPDATE OF note ON c BEGIN SELECT 1; END;
            INSERT INTO t VALUES (1, 1), (2, 90); INSERT INTO c VALUES (1, 1, ''), (2, 1, ''), (3, 2, '');
            """)
        let before = try archived.contents()
        try archived.delete("t")
        // A delete with this trigger would be refused.
        try archived.store.change(
            "CREATE TRIGGER c_t AFTER UPDATE OF t ON c WHEN NEW.t IS NOT NULL "
                + "BEGIN UPDATE c SET note = 'moved' WHERE id = NEW.id; END")
        let copy = try archived.store.rows("SELECT * FROM c")
        let tables = try archived.store.reader().restorable(archived.request())
        #expect(tables.map(\.triggers) == [["c_t"], []])
        let outcome = try archived.undo(triggers: .skip)
        #expect(outcome.total.referenceCount == 2)
        #expect(try archived.contents() == before)
        try archived.store.change("UPDATE c SET t = NULL WHERE id < 3; DELETE FROM t WHERE id = 1")
        #expect(try archived.store.rows("SELECT * FROM c") == copy)
        let refused = #expect(throws: StoreError.self) { try archived.undo(triggers: .fire) }
        #expect(refused?.message == "the trigger c_t changes rows of c, which the undo restores")
    }

    /// Rows with as many columns as SQLite allows, with and without a key.
    @Test(
        arguments: Trials.cases([499, 500, 999, 1000, 1500, 1990]),
        ["id INTEGER PRIMARY KEY", "id TEXT PRIMARY KEY", "id INTEGER"])
    func wideTablesComeBack(_ columns: Int, _ key: String) throws {
        let names = (1...columns).map { "c\($0)" }.joined(separator: ", ")
        let values = (1...columns).map { "i + \($0)" }.joined(separator: ", ")
        let archived = try ArchivedStore(
            "CREATE TABLE wide (\(key), at INTEGER, \(names)); WITH s(i) AS (VALUES (1), (2), (3), (90)) "
                + "INSERT INTO wide SELECT i, i, \(values) FROM s")
        let all = "SELECT * FROM wide ORDER BY id"
        let before = try archived.store.rows(all)
        try archived.delete("wide")
        try archived.store.change("INSERT INTO wide (id, at) VALUES (1, 99)")
        let tables = try archived.store.reader().restorable(archived.request())
        let outcome = try archived.undo()
        let hasKey = key.contains("KEY")
        #expect(
            tables[0].restorableCount == (hasKey ? 2 : 3) && outcome.total.restoredCount == tables[0].restorableCount)
        #expect(try archived.undo().total.restoredCount == 0)
        try archived.store.change("DELETE FROM wide WHERE at = 99")
        try archived.undo()
        #expect(try archived.store.rows(all) == before)
    }

    // MARK: What the dry run knows
}
