import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Triggers of the store that an undo sets off: they are left out, or fire and are counted.
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

    private static let states =
        "SELECT string_agg(tgrelid::regclass || tgname || tgenabled::text, ',' ORDER BY 1) FROM (SELECT * FROM pg_trigger ORDER BY tgrelid, tgname) t"

    @Test(arguments: ["", "PARTITION BY RANGE (at)"])
    func triggersAreLeftOutAndStayAsTheyWere(_ table: String) throws {
        let archived = try ArchivedDatabase(Self.totals(table))
        let (before, states) = (try archived.contents(), try archived.database.run(Self.states))
        try archived.delete("price")
        let tables = try archived.database.reader().restorable(archived.request())
        #expect(tables.map(\.triggers) == [["Al\"ways", "a_note", "b_count"]])
        let outcome = try archived.undo(rows: 2, triggers: .skip)
        #expect(outcome.total.restoredCount == 3 && outcome.byTriggers.isEmpty)
        #expect(try archived.contents() == before)
        #expect(try archived.database.run(Self.states) == states)
    }

    @Test(arguments: ["", "PARTITION BY RANGE (at)"], [false, true])
    func firedTriggersAreCounted(_ table: String, _ isRefused: Bool) throws {
        let archived = try ArchivedDatabase(Self.totals(table))
        try archived.delete("price")
        if isRefused { try archived.database.run("ALTER TABLE price ADD CHECK (id <> 2) NOT VALID") }
        let outcome = try archived.undo(triggers: .fire)
        let count = isRefused ? 2 : 3
        #expect(outcome.total.restoredCount == count && outcome.total.skippedCount == 3 - count)
        #expect(
            outcome.byTriggers == [
                "log": TriggeredRows(insertedCount: isRefused ? 2 : 1), "total": TriggeredRows(changedCount: 2 * count),
            ])
    }

    /// Only the owner of a table can switch its triggers off.
    @Test func whoMayNotLeaveThemOutIsTold() throws {
        let archived = try ArchivedDatabase(Self.totals())
        try archived.delete("price")
        let user = "guest_\(UInt32.random(in: 0...UInt32.max))"
        try archived.database.run("CREATE ROLE \(user) LOGIN")
        defer {
            for statement in ["DROP OWNED BY", "DROP ROLE"] { _ = try? archived.database.run("\(statement) \(user)") }
        }
        try archived.database.run("ALTER TABLE price OWNER TO \(user)")
        let owner = try PostgresWriter(archived.database.address(of: user))
        #expect(throws: StoreError.self) { try owner.restoration(of: archived.request(triggers: .skip)) }
        try archived.database.run("REASSIGN OWNED BY \(user) TO CURRENT_USER")
        try archived.undo(triggers: .skip)
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
