import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// The store's own SQL may have texts in double quotes, as the sqlite3 shell reads them. This program's names are never texts.
struct DoubleQuotedTextTests {
    private static let store = """
        CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT CHECK (symbol <> "none"));
        CREATE INDEX price_gold ON price (at) WHERE symbol = "XAU";
        CREATE TABLE log (text TEXT);
        CREATE VIEW label AS SELECT id, symbol || "|" || at AS label FROM price;
        CREATE TRIGGER gone AFTER DELETE ON price BEGIN INSERT INTO log VALUES ("gone"); END;
        CREATE TRIGGER new AFTER INSERT ON price BEGIN INSERT INTO log VALUES ("new"); END;
        INSERT INTO price VALUES (1, 1, 'XAU'), (2, 2, 'XAG'), (9, 30, 'XAU');
        DELETE FROM log;
        """

    @Test func triggersViewsAndConstraintsAreReadAsTheShellReadsThem() throws {
        let archived = try ArchivedStore(Self.store)
        let reader = try archived.store.reader()
        #expect(try reader.entity(named: "label") != nil)
        #expect(try reader.count(StoreFetchRequest(entity: "label")) == 3)
        let before = try archived.contents(without: ["log"])
        #expect(try archived.store.reader().survey(ArchivedStore.request("price")).expiredCount == 2)
        try archived.delete("price")
        #expect(try archived.store.rows("SELECT text FROM log") == ["gone", "gone"])
        try archived.undo()
        #expect(try archived.contents(without: ["log"]) == before)
        #expect(try archived.store.rows("SELECT text FROM log") == ["gone", "gone", "new", "new"])
    }

    @Test(arguments: DeleteMethod.allCases) func everyMethodReadsThem(_ method: DeleteMethod) throws {
        let store = try TemporaryStore(Self.store)
        let writer = try store.writer()
        _ = try writer.survey(ArchivedStore.request("price"))
        // A method may refuse a table with triggers; it does not misread it.
        do {
            try writer.deleteAll(ArchivedStore.request("price"), method: method)
            #expect(try store.rows("SELECT id FROM price") == ["9"])
        } catch {
            #expect(!"\(error)".contains("no such column"), "\(error)")
        }
        #expect(try store.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'price_gold'") == ["1"])
        #expect(try store.rows("PRAGMA integrity_check") == ["ok"])
    }

    /// A column that is gone is an error: as a text it would be older than any date, or equal to any row.
    @Test func aColumnThatIsGoneIsNotReadAsAText() throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT); INSERT INTO price VALUES (1, 1, 'symbol'), (9, 30, 'XAU')"
        )
        let reader = try store.reader()
        let request = StoreFetchRequest(entity: "price", predicate: .compare("symbol", .equal, .text("symbol")))
        #expect(try reader.count(request) == 1)
        try store.change("ALTER TABLE price DROP COLUMN symbol")
        #expect(throws: StoreError.self) { try reader.count(request) }
        // A name with backticks is quoted, too.
        try store.change("ALTER TABLE price ADD COLUMN [a`b\"c] TEXT DEFAULT 'x'")
        let other = StoreFetchRequest(entity: "price", predicate: .compare("a`b\"c", .equal, .text("x")))
        #expect(try store.reader().count(other) == 2)
    }
}
