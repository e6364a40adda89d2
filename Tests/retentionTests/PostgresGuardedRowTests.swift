import PostgresCluster
import Testing

/// Held rows stay and archives are whole, whatever a PostgreSQL database does beside the delete: triggers, rules, keys.
@Suite(.needsPostgres)
struct PostgresGuardedRowTests {
    /// Five old rows, and five rows of another table that nothing refers to.
    private static let tables = """
        CREATE TABLE t (id int PRIMARY KEY, at timestamptz); CREATE TABLE secret (id int PRIMARY KEY, x text);
        INSERT INTO t SELECT n, now() - interval '60 days' FROM generate_series(1, 5) n; INSERT INTO t VALUES (99, now());
        INSERT INTO secret SELECT n, 's' FROM generate_series(1, 5) n;

        """

    private static func kid(_ columns: String) -> String {
        "CREATE TABLE c (id int PRIMARY KEY, \(columns)); INSERT INTO c SELECT n, n FROM generate_series(1, 5) n;"
    }

    private static func function(_ body: String = "DELETE FROM secret WHERE id = OLD.id") -> String {
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN \(body); RETURN NULL; END$$;"
    }

    private static func trigger(_ event: String, _ body: String = "DELETE FROM secret WHERE id = OLD.id") -> String {
        function(body) + "CREATE TRIGGER tr AFTER \(event) FOR EACH ROW EXECUTE FUNCTION f();"
    }

    private static let deletes = "DO ALSO DELETE FROM secret WHERE id = OLD.id;"
    private static let cleared = "tid int REFERENCES t ON DELETE SET NULL"
    private static let generated =
        "CREATE TABLE c (id int PRIMARY KEY, \(cleared), g int GENERATED ALWAYS AS (tid * 2) STORED);"
        + "INSERT INTO c SELECT n, n FROM generate_series(1, 5) n;" + trigger("UPDATE OF g ON c")
    private static func behind(_ action: String) -> String {
        kid("tid int UNIQUE REFERENCES t ON DELETE SET NULL")
            + "CREATE TABLE g (id int PRIMARY KEY, c int DEFAULT 99 REFERENCES c (tid) ON UPDATE \(action), at timestamptz);"
            + "INSERT INTO c VALUES (99, 99); INSERT INTO g SELECT n, n, now() - interval '60 days' FROM generate_series(1, 5) n;"
    }

    private static let rule = "  - { name: r, entity: t, date_attribute: at, max_age: 30d }"

    private let cluster: PostgresCluster

    init() throws { cluster = try #require(PostgresCluster.shared) }

    private func job(_ url: String, _ head: String, _ rules: String = rule) throws -> LaunchedJob {
        try LaunchedJob("", policy: "version: 1\nstore: \(url)\n\(head)\nrules:\n\(rules)\n")
    }

    private static let partitioned =
        """
        CREATE TABLE c (id int, \(cleared)) PARTITION BY LIST (tid); CREATE TABLE c_1 PARTITION OF c FOR VALUES IN (1, 2, 3, 4, 5);
        CREATE TABLE c_0 PARTITION OF c DEFAULT; INSERT INTO c SELECT n, n FROM generate_series(1, 5) n;
        \(trigger("DELETE ON c"))
        """
    private static let freeing = trigger(
        "DELETE ON t", "UPDATE secret SET x = 'free' WHERE id = OLD.id; INSERT INTO secret VALUES (1000 + OLD.id, 's')")
    private static let truncating = """
        \(function("TRUNCATE secret; INSERT INTO secret SELECT n, 's' FROM generate_series(11, 15) n"))
        CREATE TRIGGER tr AFTER DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION f();
        """
    private static let cascadeRule =
        kid("tid int REFERENCES t ON DELETE CASCADE") + "CREATE RULE ru AS ON DELETE TO c \(deletes)"
    private static let clearedRule = kid(cleared) + "CREATE RULE ru AS ON UPDATE TO c \(deletes)"
    private static let behindTrigger = behind("CASCADE") + trigger("UPDATE ON g")
    private static let harmful: [String] = [
        "CREATE RULE ru AS ON DELETE TO t \(deletes)", cascadeRule, clearedRule, generated, behindTrigger, partitioned,
        freeing, truncating,
        // What a function does is not read, so that what does no harm is refused, too.
        adding, "CREATE RULE ru AS ON DELETE TO t DO ALSO INSERT INTO secret VALUES (1000 + OLD.id, 's')",
        trigger("DELETE ON t", "UPDATE secret SET x = x"),
    ]

    private static let adding = trigger("DELETE ON t", "INSERT INTO secret VALUES (1000 + OLD.id, 's')")
    private static let otherColumn =
        kid(cleared) + "CREATE TABLE g (id int PRIMARY KEY, c int REFERENCES c ON UPDATE CASCADE)"

    private static let hidden = """
        CREATE TABLE c (id int PRIMARY KEY, \(cleared), x text); INSERT INTO c SELECT n, n, 'x' FROM generate_series(1, 5) n;
        CREATE FUNCTION wipe(i int) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE c SET x = 'wiped' WHERE id = i; RETURN 1; END$$;
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$DECLARE z int; BEGIN z := wipe(OLD.id); RETURN NULL; END$$;
        CREATE TRIGGER tr AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION f();
        """
    private static let unseen: [(String, String)] = [
        (clearedRule, "the trigger or rule ru of c"), (generated, "the trigger or rule tr of c"),
        (behind("CASCADE"), "g_c_fkey"), (hidden, "the trigger or rule tr of t"),
        // What a function does is not read, so that a log of deletes is refused, too.
        (kid(cleared) + adding, "the trigger or rule tr of t"),
    ]

    // MARK: Holds

    @Test(arguments: harmful)
    func noHeldRowGoesOrLosesItsHold(_ schema: String) throws {
        let url = try cluster.makeDatabase(Self.tables + schema)
        let job = try job(url, "holds: [ { name: h, entity: secret, where: { x: s }, reason: tax } ]")
        for command in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(command)
            let isRefused = end.output.contains("hold_unusable") || end.output.contains("unsupported_schema")
            #expect(end.status == 65 && isRefused, "\(end)")
        }
        #expect(try cluster.run("SELECT count(*) FROM secret WHERE x = 's' AND id <= 5", url: url) == "5")
        #expect(try cluster.run("SELECT count(*) FROM t", url: url) == "6")
    }

    /// A key of another column does not act.
    @Test func whatDoesNotActBesideAHoldIsNoObstacle() throws {
        let url = try cluster.makeDatabase(Self.tables + Self.otherColumn)
        let job = try job(url, "holds: [ { name: h, entity: secret, where: { x: s }, reason: tax } ]")
        let end = try job.perform(["run"])
        #expect(end.status == 0, "\(end)")
        #expect(try cluster.run("SELECT count(*) FROM secret WHERE x = 's' AND id <= 5", url: url) == "5")
        #expect(try cluster.run("SELECT count(*) FROM t", url: url) == "1")
    }

    /// A second key changes the row when the first is cleared: the next rule would find it under no hold.
    @Test func aHeldRowBehindAClearedReferenceStays() throws {
        let url = try cluster.makeDatabase(Self.tables + Self.behind("SET DEFAULT"))
        let rules = Self.rule + "\n  - { name: g, entity: g, date_attribute: at, max_age: 30d }"
        let job = try job(url, "holds: [ { name: h, entity: g, where: { c: 3 }, reason: x } ]", rules)
        for command in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(command)
            #expect(end.status == 65 && end.output.contains("g_c_fkey"), "\(end)")
        }
        #expect(try cluster.run("SELECT string_agg(id::text, ' ') FROM g", url: url) == "3")
        #expect(try cluster.run("SELECT count(*) FROM t", url: url) == "6")
        // Without a hold the server's own keys do what they declare.
        #expect(try self.job(url, "").perform(["run"]).status == 0)
        #expect(try cluster.run("SELECT count(*) FROM t", url: url) == "1")
    }

    /// Which of its rows the hold means is not known in the table above it: all of them stay.
    @Test func aHoldOnAColumnOfAnInheritingTableAloneKeepsItsRows() throws {
        let url = try cluster.makeDatabase(
            Self.tables
                + "CREATE TABLE more (s text) INHERITS (t); INSERT INTO more SELECT 10 + n, now() - interval '60 days', 's' || n FROM generate_series(1, 3) n;"
        )
        let job = try job(url, "holds: [ { name: h, entity: more, where: { s: s1 }, reason: tax } ]")
        let report = try job.report()
        #expect(report.exitCode == 0 && report.rules[0].deleted == 5)
        #expect(try cluster.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t", url: url) == "11 12 13 99")
    }

    // MARK: Archives

    @Test(arguments: unseen)
    func whatIsNotArchivedIsNotDeletedOrChanged(_ schema: String, _ reason: String) throws {
        let url = try cluster.makeDatabase("CREATE SCHEMA kept;" + Self.tables + schema)
        func contents() throws -> String {
            try cluster.run(
                "SELECT (SELECT string_agg(t::text, ' ') FROM t) || (SELECT string_agg(s::text, ' ') FROM secret s) || coalesce((SELECT string_agg(c::text, ' ') FROM c), '')",
                url: url)
        }
        let before = try contents()
        let end = try job(url, "archive: { schema: kept, keep: 30d }").perform(["run"])
        let text: String = (end.output + end.errors).replacing(/\s+/, with: " ")
        #expect(end.status == 65 && text.contains(reason), "\(end)")
        #expect(try contents() == before)
    }
}
