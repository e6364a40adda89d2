import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a restoration does where other rows have the places of archived ones, and where triggers fill them. Days under 20 are deleted.
struct RestoredPlaceTests {
    private func skip(_ table: String, _ key: StoreValue..., reason: String) -> SkippedRow {
        SkippedRow(table: table, key: key, reason: reason)
    }

    @Test(
        arguments: [
            "id TEXT PRIMARY KEY, at INTEGER", "at INTEGER, id TEXT UNIQUE",
            "number INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER",
        ],
        [1, 1000])
    func aChildIsNotGivenToTheRowThatHasItsParentsKey(_ columns: String, _ rows: Int) throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (\(columns)); INSERT INTO t (id, at) VALUES ('A', 1), ('D', 4);
            CREATE TABLE u (\(columns), t TEXT REFERENCES t(id) ON DELETE CASCADE); INSERT INTO u (id, t) VALUES ('B', 'A');
            CREATE TABLE v (\(columns), u TEXT REFERENCES u(id) ON DELETE CASCADE); INSERT INTO v (id, u) VALUES ('C', 'B');
            """)
        try archived.delete("t")
        try archived.store.change("INSERT INTO t (id, at) VALUES ('A', 99); INSERT INTO u (id) VALUES ('B')")
        let outcome = try archived.undoTwice(rows: rows)
        #expect(try archived.store.rows("SELECT id, at FROM t ORDER BY id") == ["A|99", "D|4"])
        #expect(try archived.store.rows("SELECT count(*) FROM v") == ["0"])
        #expect(outcome.total.skippedCount == 3 && outcome.total.restoredCount == 1)
    }

    @Test func aDeclaredKeyDecidesAndNotTheRowid() throws {
        let archived = try ArchivedStore(
            "CREATE TABLE t (k TEXT PRIMARY KEY, at INTEGER); INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3), (NULL, 4)"
        )
        try archived.delete("t")
        try archived.store.change("INSERT INTO t VALUES ('x', 99), ('c', 98), ('y', 97), ('z', 96)")
        let survey = try archived.store.reader().restorable(archived.request())
        #expect(survey.map(\.restorableCount) == [3] && survey.map(\.conflictCount) == [1])
        let outcome = try archived.undoTwice()
        #expect(outcome.skipped == [skip("t", .text("c"), reason: "the store has another row with its key")])
        #expect(
            try archived.store.rows("SELECT k, at FROM t ORDER BY at")
                == ["a|1", "b|2", "NULL|4", "z|96", "y|97", "c|98", "x|99"])
    }

    @Test(arguments: ["", "PRIMARY KEY"], [["r1", "r0"], []])
    func aRowWhoseReferenceAnotherRuleClearedIsFoundAgain(_ key: String, _ first: [String]) throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE c (id INT \(key), at INTEGER, t REFERENCES t ON DELETE SET NULL);
            INSERT INTO t VALUES (1, 1), (2, 90); INSERT INTO c VALUES (1, 1, 1), (2, 1, 2), (3, 90, 1);
            """)
        let before = try archived.contents()
        try archived.delete("t", "c")
        for rules in first.isEmpty ? [[]] : first.map({ [$0] }) { try archived.undo(rules: rules) }
        #expect(try archived.contents() == before)
        for rule in ["r1", "r0", "r1"] {
            let total = try archived.undo(rules: [rule]).total
            #expect(total.restoredCount + total.referenceCount + total.leftCount == 0 && total.presentCount > 0)
        }
        #expect(try archived.contents() == before)
    }

    private static let mirrors: [(String, String)] = [
        (
            "CREATE TABLE u (id INTEGER PRIMARY KEY, words INTEGER, note TEXT)",
            "INSERT INTO u (id, words) VALUES (NEW.id, length(NEW.b))"
        ),
        ("CREATE TABLE u (n INTEGER PRIMARY KEY, id INTEGER, note TEXT)", "INSERT INTO u (id) VALUES (NEW.id)"),
        ("CREATE TABLE a_u (id INTEGER, note TEXT)", "INSERT INTO a_u (id) VALUES (NEW.id)"),
    ]

    @Test(arguments: mirrors.indices, [1, 2, 1000])
    func rowsThatTriggersKeepInStepComeBackOnce(_ index: Int, _ rows: Int) throws {
        let (table, insert) = Self.mirrors[index]
        let name = table.contains("a_u") ? "a_u" : "u"
        for event in ["BEFORE", "AFTER"] {
            let archived = try ArchivedStore(
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, b TEXT); \(table);
                CREATE TRIGGER gone \(event) DELETE ON t BEGIN DELETE FROM \(name) WHERE id = OLD.id; END;
                CREATE TRIGGER new AFTER INSERT ON t BEGIN \(insert); END;
                INSERT INTO t VALUES (1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three'), (4, 99, 'four');
                UPDATE \(name) SET note = 'by hand ' || id WHERE id <> 3;
                """)
            let before = try archived.contents()
            try archived.delete("t", batchRows: 2)
            let survey = try archived.store.reader().restorable(archived.request())
            let outcome = try archived.undoTwice(rows: rows, triggers: .skip)
            #expect(try archived.contents() == before, "\(event)")
            #expect(outcome.skipped.isEmpty)
            for table in survey { #expect(table.restorableCount == outcome.tables[table.table]?.restoredCount) }
        }
    }
}
