import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Triggers of the store that an undo sets off.
@Suite(.needsPostgres)
struct FiredTriggerTests {
    private static func totals(_ table: String = "") -> String {
        """
        CREATE TABLE price (id int, at timestamptz, symbol text, PRIMARY KEY (id\(table.isEmpty ? "" : ", at"))) \(table);
        \(table.isEmpty ? "" : "CREATE TABLE price_old PARTITION OF price FOR VALUES FROM (MINVALUE) TO ('2026-01-01'); CREATE TABLE price_new PARTITION OF price DEFAULT;")
        CREATE TABLE total (symbol text PRIMARY KEY, n int); CREATE TABLE log (text text);
        CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
            UPDATE total SET n = n + 1 WHERE symbol = NEW.symbol; RETURN NEW; END$$;
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO log VALUES ('statement'); RETURN NULL; END$$;
        INSERT INTO price SELECT n, CASE WHEN n <= 3 THEN '2025-01-01' ELSE '2026-06-01' END::timestamptz, chr(96 + n) FROM generate_series(1, 5) n;
        INSERT INTO total SELECT symbol, 1 FROM price;
        CREATE TRIGGER b_count AFTER INSERT ON price FOR EACH ROW EXECUTE FUNCTION count_up();
        CREATE TRIGGER a_note AFTER INSERT ON price FOR EACH STATEMENT EXECUTE FUNCTION note();
        CREATE TRIGGER off BEFORE INSERT ON price FOR EACH ROW EXECUTE FUNCTION count_up(); ALTER TABLE price DISABLE TRIGGER off;
        CREATE TRIGGER "Al""ways" AFTER INSERT ON price FOR EACH ROW EXECUTE FUNCTION count_up(); ALTER TABLE price ENABLE ALWAYS TRIGGER "Al""ways";
        """
    }

    @Test(arguments: ["", "PARTITION BY RANGE (at)"])
    func triggersFireAndAreNotLeftOut(_ table: String) throws {
        let archived = try ArchivedDatabase(Self.totals(table))
        try archived.delete("price")
        let tables = try archived.database.reader().restorable(archived.request())
        #expect(tables.map(\.triggers) == [["Al\"ways", "a_note", "b_count"]])
        let before = try archived.contents()
        let told = storeError { try archived.undo(triggers: .skip) }
        #expect(told?.kind == .unsupported && told?.hint?.contains("DISABLE TRIGGER \"Al\"\"ways\"; ") == true)
        #expect(throws: StoreError.self) {
            try archived.database.reader().restorable(archived.request(triggers: .skip))
        }
        #expect(try archived.contents() == before)
        #expect(try archived.undo(triggers: .fire).total.restoredCount == 3)
        #expect(try archived.database.run("SELECT sum(n), (SELECT count(*) > 0 FROM log) FROM total") == ["11|t"])
    }

    /// As the refusal says.
    @Test func triggersThatAreSwitchedOffDoNotFire() throws {
        let archived = try ArchivedDatabase(Self.totals())
        let before = try archived.contents()
        try archived.delete("price")
        try archived.database.run("ALTER TABLE price DISABLE TRIGGER USER")
        #expect(try archived.undo(triggers: .skip).total.restoredCount == 3)
        #expect(try archived.contents() == before)
    }

    /// A child is inserted while a stranger has its parent's key, before the parent turns out to be refused.
    @Test func nothingIsGivenToAStranger() throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE s (id bigint PRIMARY KEY, at timestamptz NOT NULL, code text UNIQUE, parent text REFERENCES s (code));
            INSERT INTO s VALUES (1, '2025-01-01', 'x', NULL), (2, '2025-01-02', 'y', 'x'), (3, '2025-01-03', 'w', NULL), (50, '2026-06-01', 'z', NULL);
            """)
        try archived.delete("s")
        try archived.database.run("INSERT INTO s VALUES (9, '2026-06-02', 'x', NULL)")
        let outcome = try archived.undo()
        #expect(outcome.total.restoredCount == 1 && outcome.total.skippedCount == 2, "\(outcome)")
        #expect(outcome.skipped.map(\.key) == [[.integer(1)], [.integer(2)]])
        #expect(outcome.skipped.last?.reason == "its row of s was not restored")
        #expect(try archived.database.run("SELECT string_agg(id::text, ',' ORDER BY id) FROM s") == ["3,9,50"])
        #expect(try archived.undo().total.presentCount == 1)
    }
}
