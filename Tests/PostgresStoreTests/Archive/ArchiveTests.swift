import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// What a run deletes is in the archive, and comes back as it was.
@Suite(.needsPostgres)
struct ArchiveTests {
    /// Old rows of a table are the first five; the others stay.
    private static let ages =
        "CASE WHEN n <= 5 THEN '2025-01-01'::timestamptz + n * interval '1 hour' ELSE '2026-06-01' END"

    @Test func everyValueComesBackWithItsTypeAndBytes() throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TYPE mood AS ENUM ('up', 'down'); CREATE TYPE pair AS (a int, b text);
            CREATE DOMAIN positive AS numeric CHECK (VALUE > 0);
            CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
            CREATE TABLE "Odd ""Name" (
                "retention_row" int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz, f float8, n numeric, n2 numeric(12, 4),
                j json, jb jsonb, by bytea, a int[], aa text[][], m mood, p pair, d positive, c text COLLATE nocase,
                i interval, r tstzrange, ch char(7), u uuid, x xml, "select" text, ip inet, doubled float8 GENERATED ALWAYS AS (f * 2) STORED,
                ser serial, q "char", b bit(3), big text
            );
            INSERT INTO "Odd ""Name" (at, f, n, n2, j, jb, by, a, aa, m, p, d, c, i, r, ch, u, x, "select", ip, q, b, big)
            SELECT \(Self.ages), (ARRAY['NaN', 'Infinity', '-0', '1e-307', '0.1'])[n % 5 + 1]::float8,
                (ARRAY['NaN', 'Infinity', '1.500', '0.00', '12345678901234567890.12345678901234567890'])[n % 5 + 1]::numeric, 1.5,
                '{"a" : 1,  "a":2}', '{"b": [1.10, null]}', '\\x00ff5c27', ARRAY[1, NULL, 3], ARRAY[['a"b', 'c,d'], ['{}', NULL]],
                'down', ROW(n, E'x\\'y"')::pair, 0.5, 'Straße', '1 mon -3 days 00:00:00.000001', '[2026-01-01,infinity)', 'ab',
                ('00000000-0000-0000-0000-00000000000' || n)::uuid, '<a/>', E'tab\\tnew\\nline \\\\ é', '10.0.0.1/8', 'z', B'101',
                CASE n WHEN 1 THEN repeat('0123456789', 20000) END
            FROM generate_series(1, 9) n;
            ALTER TABLE "Odd ""Name" DROP COLUMN ip;
            """)
        let before = try archived.contents()
        let result = try archived.delete("Odd \"Name", batchRows: 2)
        #expect(result?.rowCount == 5 && result?.path == ArchivedDatabase.schema && result?.sizeBytes == nil)
        #expect(try archived.database.run("SELECT count(*) FROM \"Odd \"\"Name\"") == ["4"])
        // The types and collations are the store's.
        let shape =
            "SELECT attname, format_type(atttypid, atttypmod), attcollation FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped "
            + "AND attname <> 'retention_row_' AND attrelid = "
        #expect(
            try archived.database.run(
                shape + "'\(archived.archive(ArchivePlace.tableName(archived.run, 0)))'::regclass ORDER BY 1")
                == archived.database.run(shape + "'\"Odd \"\"Name\"'::regclass ORDER BY 1"))
        let dry = try archived.database.reader().restorable(archived.request())
        #expect(dry.map(\.restorableCount) == [5])
        #expect(try archived.undo(rows: 2).total.restoredCount == 5)
        #expect(try archived.contents() == before)
        let again = try archived.undo()
        #expect(again.total.presentCount == 5 && again.total.restoredCount == 0)
        #expect(try archived.contents() == before)
    }

    private static let family = """
        CREATE TABLE p (id int PRIMARY KEY, at timestamptz, up int REFERENCES p ON DELETE SET NULL);
        CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE, v numeric);
        CREATE TABLE d (a int, b int, c int REFERENCES c ON DELETE CASCADE, PRIMARY KEY (a, b));
        CREATE TABLE s (id int PRIMARY KEY, p int DEFAULT 9 REFERENCES p ON DELETE SET DEFAULT, c int REFERENCES c ON DELETE SET NULL, w text);
        INSERT INTO p SELECT n, \(ages), CASE WHEN n > 1 THEN n - 1 END FROM generate_series(1, 9) n;
        INSERT INTO c SELECT n, n % 9 + 1, n FROM generate_series(1, 40) n;
        INSERT INTO d SELECT n % 7, n, n % 40 + 1 FROM generate_series(1, 100) n;
        INSERT INTO s SELECT n, n % 9 + 1, n, 'w' FROM generate_series(1, 40) n;

        """

    @Test(arguments: [nil, 1, 3]) func cascadesAndClearedReferencesComeBack(_ batchRows: Int?) throws {
        let archived = try ArchivedDatabase(Self.family)
        let before = try archived.contents()
        let result = try #require(try archived.delete("p", batchRows: batchRows))
        let left = try archived.contents()
        let gone = ["p", "c", "d"].reduce(0) { $0 + (before[$1]?.count ?? 0) - (left[$1]?.count ?? 0) }
        #expect(result.rowCount == gone && gone > 60 && result.referenceCount > 20)
        #expect(left["s"]?.contains { $0.contains(",9,,") } == true)
        // What others have set meanwhile stays.
        try archived.database.run("UPDATE s SET c = (SELECT min(id) FROM c) WHERE id = 2")
        let dry = try archived.database.reader().restorable(archived.request())
        #expect(storeError { try archived.undo(rules: ["r1"]) }?.message.contains("no rows of a rule 'r1'") == true)
        let outcome = try archived.undo(rows: 5)
        #expect(dry.reduce(0) { $0 + $1.restorableCount } == outcome.total.restoredCount)
        #expect(dry.reduce(0) { $0 + $1.referenceCount } == outcome.total.referenceCount)
        #expect(outcome.total.restoredCount == gone && outcome.total.skippedCount == 0)
        try archived.database.run("UPDATE s SET c = 2 WHERE id = 2")
        #expect(try archived.contents() == before)
        let again = try archived.undo()
        #expect(again.total.restoredCount == 0 && again.total.referenceCount == 0 && again.total.skippedCount == 0)
        #expect(try archived.contents() == before)
    }

    /// Also to columns of no relationship any more.
    @Test(arguments: [(BatchDeleteRequest.RelationshipRule.cascade, false), (.nullify, false), (.nullify, true)])
    func whatARuleOverridesComesBackToo(_ rule: BatchDeleteRequest.RelationshipRule, isKeyGone: Bool) throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE p (id int PRIMARY KEY, at timestamptz);
            CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p);
            INSERT INTO p SELECT n, \(Self.ages) FROM generate_series(1, 9) n;
            INSERT INTO c SELECT n, n % 9 + 1 FROM generate_series(1, 40) n;
            """)
        let before = try archived.contents()
        var request = ArchivedDatabase.request("p")
        request.relationships = rule
        let result = try #require(try archived.delete([request]))
        #expect(rule == .cascade ? result.rowCount > 5 : result.referenceCount > 5)
        if isKeyGone { try archived.database.run("ALTER TABLE c DROP CONSTRAINT c_p_fkey") }
        #expect(try archived.undo().total.skippedCount == 0)
        #expect(try archived.contents() == before)
    }

    @Test func equalRowsWithoutAKeyComeBackOnce() throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE k (at timestamptz, v json);
            INSERT INTO k SELECT '2025-01-01', '{}' FROM generate_series(1, 5); INSERT INTO k VALUES ('2026-06-01', '{}');
            """)
        let before = try archived.contents()
        try archived.delete("k", batchRows: 2)
        #expect(try archived.undo(rows: 1, parts: 2).total.restoredCount == 2)
        let rest = try archived.undo(rows: 3)
        #expect(rest.total.restoredCount == 3 && rest.total.presentCount == 2)
        #expect(try archived.contents() == before)
        #expect(try archived.undo().total.presentCount == 5)
        #expect(try archived.database.reader().restorable(archived.request()).map(\.presentCount) == [5])
        #expect(try archived.contents() == before)
    }

    @Test func keysInUseAreSkippedWithTheirChildren() throws {
        let archived = try ArchivedDatabase(Self.family)
        try archived.delete("p")
        try archived.database.run("INSERT INTO p VALUES (2, '2026-07-01', NULL)")
        let outcome = try archived.undo(rows: 3)
        let parents = outcome.skipped.filter { $0.table == "p" && $0.key != [.integer(6)] }
        // Row 3 refers to row 2, and so on.
        #expect(parents.map(\.key) == (2...5).map { [.integer($0)] })
        #expect(parents.first?.reason == "the store has another row with its key")
        // Row 6 has stayed, and its reference to row 5 was cleared.
        #expect(
            outcome.skipped.first { $0.key == [.integer(6)] && $0.table == "p" }?.reason
                == "its reference is not restored: the row that it refers to was not restored")
        #expect(outcome.skipped.contains { $0.table == "c" && $0.reason.contains("its row of p was not restored") })
        #expect(try archived.database.run("SELECT count(*) FROM c WHERE p = 2") == ["0"])
        #expect(try archived.database.run("SELECT count(*) FROM p") == ["6"])
    }

    @Test func aRowThatTheStoreRefusesIsSkippedAndTheOthersComeBack() throws {
        let archived = try ArchivedDatabase(
            "CREATE TABLE t (id int PRIMARY KEY, at timestamptz, u int UNIQUE);"
                + "INSERT INTO t SELECT n, \(Self.ages), n FROM generate_series(1, 9) n;")
        try archived.delete("t")
        try archived.database.run("INSERT INTO t VALUES (100, '2026-07-01', 3)")
        try archived.database.run(
            "ALTER TABLE t ADD CHECK (id <> 4) NOT VALID, ADD COLUMN extra text NOT NULL DEFAULT 'new'")
        let outcome = try archived.undo()
        #expect(outcome.total.restoredCount == 3 && Set(outcome.skipped.map(\.key)) == [[.integer(3)], [.integer(4)]])
        #expect(try archived.database.run("SELECT DISTINCT extra FROM t WHERE id <= 5") == ["new"])
        #expect(try archived.undo().total.skippedCount == 2)
    }

    @Test func aTableThatLacksWhatTheArchiveHasIsRefused() throws {
        for (change, reason) in [
            ("ALTER TABLE t DROP COLUMN u", "no column u"), ("DROP TABLE t", "no table"),
            ("ALTER TABLE t ADD COLUMN e int; UPDATE t SET e = 1; ALTER TABLE t ALTER e SET NOT NULL", "needs a value"),
            ("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (u)", "identified by other columns"),
            ("ALTER TABLE t ALTER u TYPE jsonb USING 'null'", "u of t is jsonb now, and was integer"),
            ("ALTER TABLE t ALTER v TYPE varchar(3) USING 'v'", "v of t is character varying(3) now"),
            ("ALTER TABLE t ALTER n TYPE int", "n of t is integer now, and was numeric(8,4)"),
            ("ALTER TABLE t ALTER id TYPE text", "id of t is text now"),
            (
                "ALTER TABLE t DROP COLUMN u; ALTER TABLE t ADD u int GENERATED ALWAYS AS (id) STORED",
                "u of t is computed"
            ),
            // A type that has all values of the former one, too.
            ("ALTER TABLE t ALTER id TYPE bigint", "id of t is bigint now, and was integer"),
            ("ALTER TABLE t ALTER u SET DEFAULT 5", nil),
        ] as [(String, String?)] {
            let archived = try ArchivedDatabase(
                "CREATE TABLE t (id int PRIMARY KEY, at timestamptz, u int, n numeric(8, 4), v varchar(9), g int GENERATED ALWAYS AS (1) STORED);"
                    + "INSERT INTO t SELECT n, \(Self.ages), n, n, n FROM generate_series(1, 9) n;")
            try archived.delete("t")
            try archived.database.run(script: change)
            let told = storeError {
                let outcome = try archived.undo()
                #expect(outcome.total.skippedCount == 0)
            }
            #expect(
                reason.map { told?.kind == .unsupported && told?.message.contains($0) == true } ?? (told == nil),
                "\(change): \(told as Any)")
            #expect(
                storeError { _ = try archived.database.reader().restorable(archived.request()) }?.message
                    == told?.message)
        }
    }

    // MARK: What cannot be archived

    @Test func whatIsDeletedUnseenIsRefused() throws {
        let function = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        func trigger(_ when: String) -> String {
            "\(function) CREATE TRIGGER tr \(when) FOR EACH ROW EXECUTE FUNCTION f();"
        }
        let kid = "CREATE TABLE kid (id int PRIMARY KEY, t int REFERENCES t ON DELETE SET NULL, at timestamptz);"
        for (statements, reason) in [
            (trigger("AFTER DELETE ON t"), "the trigger or rule tr of t fires"),
            (trigger("BEFORE DELETE ON t") + "ALTER TABLE t DISABLE TRIGGER tr", nil),
            (trigger("AFTER INSERT OR UPDATE ON t"), nil),
            (kid + trigger("BEFORE UPDATE ON kid"), "the trigger or rule tr of kid fires"),
            (kid + trigger("AFTER UPDATE OF t ON kid"), "the trigger or rule tr of kid fires"),
            (kid + trigger("BEFORE UPDATE OF at ON kid"), nil),
            ("ALTER TABLE t " + (1...1598).map { "ADD c\($0) bool" }.joined(separator: ", "), "1600 columns"),
            ("CREATE RULE ru AS ON DELETE TO t DO INSTEAD NOTHING", "the trigger or rule ru of t fires"),
            ("CREATE RULE ru AS ON UPDATE TO t DO ALSO SELECT 1", nil),
            ("CREATE TABLE kid (x int) INHERITS (t)", "other tables inherit from t"),
            ("CREATE TABLE kid (t int REFERENCES t ON DELETE SET NULL)", "kid, which has no primary key"),
            ("CREATE TABLE kid (t int PRIMARY KEY DEFAULT 9 REFERENCES t ON DELETE SET DEFAULT)", "t of kid"),
        ] as [(String, String?)] {
            let archived = try ArchivedDatabase(
                "CREATE TABLE t (id int PRIMARY KEY, at timestamptz);"
                    + "INSERT INTO t SELECT n, \(Self.ages) FROM generate_series(1, 9) n;" + statements)
            let found = try archived.database.reader().archiveObstacle(of: ArchivedDatabase.request("t"))
            #expect(reason.map { found?.contains($0) == true } ?? (found == nil), "\(statements): \(found ?? "")")
        }
    }

    /// Also without a plan that says so.
    @Test func rowsAreNotDeletedWithAnArchiveBesideATrigger() throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE t (id int PRIMARY KEY, at timestamptz);
            INSERT INTO t SELECT n, \(Self.ages) FROM generate_series(1, 9) n;
            CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
            CREATE TRIGGER tr BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION f();
            """)
        let before = try archived.contents()
        let told = storeError { try archived.delete("t") }
        #expect(told?.kind == .unsupported && told?.message.contains("act on the delete") == true)
        #expect(try archived.contents() == before)
    }

    // MARK: Others at work

    /// A row that is added to a family while it is deleted is not lost, whatever happens.
    @Test func childrenThatArriveMeanwhileAreArchivedOrStay() async throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE p (id int PRIMARY KEY, at timestamptz);
            CREATE TABLE c (id serial PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE, v int);
            CREATE INDEX ON c (p);
            INSERT INTO p SELECT n, '2025-01-01' FROM generate_series(1, 300) n;
            INSERT INTO c (p, v) SELECT n, 0 FROM generate_series(1, 300) n;
            """)
        let database = archived.database
        let others = Task.detached {
            let other = try database.connection()
            var (inserted, changed) = (0, 0)
            for round in 0..<400 {
                let id = (round * 7) % 300 + 1
                inserted += (try? other.execute("INSERT INTO c (p, v) VALUES (\(id), 1)").changedCount) ?? 0
                changed += (try? other.execute("UPDATE c SET v = v + 1 WHERE p = \(300 - id)").changedCount) ?? 0
            }
            return inserted
        }
        let result = try #require(try archived.delete("p", batchRows: 5))
        let inserted = try await others.value
        let left = try database.run("SELECT count(*) FROM c")[0]
        #expect(try database.run("SELECT count(*) FROM p") == ["0"] && left == "0")
        #expect(result.rowCount == 600 + inserted)
        #expect(try archived.undo(rows: 50).total.restoredCount == 600 + inserted)
    }

    // MARK: The schema

    @Test func aSchemaThatIsNotOursAloneIsRefused() throws {
        let archived = try ArchivedDatabase("CREATE TABLE t (id int PRIMARY KEY, at timestamptz);")
        let user = try archived.database.makeUser("GRANT ALL ON t TO")
        let name = PostgresCluster.database(of: archived.database.url)
        try archived.database.run("GRANT CREATE ON DATABASE \(name) TO \(user)")
        let reader = try PostgresReader(archived.database.address(of: user))
        func told(_ schema: String = "a") -> String {
            let error = storeError { try reader.checkArchivePlace(schema) }
            return "\(error.map { "\($0.kind)" } ?? "none"): \(error?.message ?? "")"
        }
        #expect(told().hasPrefix("cannotCreate") && told().contains("does not exist"))
        #expect(told(ArchivedDatabase.schema).contains("belongs to retention"))
        try archived.database.run("CREATE SCHEMA a AUTHORIZATION \(user)")
        #expect(told() == "none: ")
        try archived.database.run("GRANT CREATE ON SCHEMA a TO PUBLIC")
        #expect(told() == "permission: the schema of the archives, a, lets others create tables in it: PUBLIC")
        try archived.database.run("REVOKE CREATE ON SCHEMA a FROM PUBLIC, \(user)")
        #expect(told().contains("does not let"))
        try archived.database.run("GRANT CREATE ON SCHEMA a TO \(user)")
        try archived.database.run("CREATE VIEW a.retention_parts AS SELECT 1")
        #expect(told().hasPrefix("cannotCreate") && told().contains("retention_parts"))
    }

    @Test func othersCanDoNothingWithAnArchiveAndItsTablesAreNoEntities() throws {
        let archived = try ArchivedDatabase(
            "CREATE TABLE t (id int PRIMARY KEY, at timestamptz); INSERT INTO t VALUES (1, '2025-01-01');")
        try archived.database.run("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC")
        try archived.delete("t")
        #expect(
            try archived.database.run(
                "SELECT count(*), count(*) FILTER (WHERE relacl::text ~ '[{,]=') FROM pg_class WHERE relkind = 'r' AND relnamespace = "
                    + "'\(ArchivedDatabase.schema.quotedIdentifier)'::regnamespace") == ["5|0"])
        #expect(try archived.database.reader().entityNames() == ["t"])
    }

    @Test func anArchiveIsRemovedWithAllOfItAndNothingElse() throws {
        let archived = try ArchivedDatabase(Self.family)
        try archived.delete("p")
        var second = archived
        second.run = "01KBBBBBBBBBBBBBBBBBBBBBBB"
        try archived.undo()
        try second.delete("p")
        let writer = try archived.database.writer()
        let schema = ArchivedDatabase.schema
        #expect(try writer.archives(in: schema).map(\.run) == [archived.run, second.run])
        // A table in the place of one of ours stays, and so does the archive.
        let table = archived.archive(ArchivePlace.tableName(archived.run, 0))
        try archived.database.run("COMMENT ON TABLE \(table) IS 'mine'")
        #expect(
            storeError { try writer.removeArchive(of: archived.run, in: schema) }?.message.contains("is not removed")
                == true)
        #expect(try writer.archives(in: schema).count == 2)
        try archived.database.run("COMMENT ON TABLE \(table) IS '\(ArchivePlace.mark(of: archived.run))'")
        try writer.removeArchive(of: archived.run, in: schema)
        #expect(try writer.archives(in: schema) == [StoredArchive(run: second.run, isComplete: true)])
        let missing = storeError { try archived.undo() }
        #expect(missing?.kind == .missing)
        #expect(try second.undo().total.skippedCount == 0)
        #expect(
            try archived.database.run(
                "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE '\(archived.run)%'") == ["0"])
    }

    @Test func aRunThatArchivesNothingLeavesNoArchive() throws {
        let archived = try ArchivedDatabase("CREATE TABLE t (id int PRIMARY KEY, at timestamptz);")
        #expect(try archived.database.writer().archives(in: ArchivedDatabase.schema) == [])
        try archived.database.writer().removeArchive(of: archived.run, in: ArchivedDatabase.schema)
        #expect(try archived.delete("t") == nil)
        #expect(try archived.database.writer().archives(in: ArchivedDatabase.schema) == [])
    }

    /// Rows and their copies are in one transaction, so that an archive without an end is right, too.
    @Test func anArchiveThatIsNotCompleteHasExactlyWhatWasDeleted() throws {
        let archived = try ArchivedDatabase(Self.family)
        let before = try archived.contents()
        try archived.delete([ArchivedDatabase.request("p")], batchRows: 2, isComplete: false)
        #expect(
            try archived.database.writer().archives(in: ArchivedDatabase.schema)
                == [StoredArchive(run: archived.run, isComplete: false)])
        #expect(try archived.undo().total.skippedCount == 0)
        #expect(try archived.contents() == before)
    }

    /// What others do to an archive is found before anything is restored.
    @Test func anArchiveThatOthersChangedIsDamaged() throws {
        let archives = "\(ArchivedDatabase.schema.quotedIdentifier).retention_"
        for (change, reason) in [
            ("UPDATE \(archives)archives SET format = 9", "has the format 9, and this version reads 1"),
            ("UPDATE \(archives)archives SET row_count = row_count + 1", "it has 5 rows, and the run copied 6"),
            ("DELETE FROM \(archives)tables", "a part of it belongs to a table that is not in its list"),
            ("UPDATE \(archives)tables SET kind = 'other'", "it has no table"),
            ("UPDATE {t} SET retention_row = retention_row + 100", "rows of {t} are missing"),
            ("DELETE FROM {t} WHERE id = 1", "the table {t} does not have the rows that the run copied"),
            ("ALTER TABLE {t} DROP COLUMN at", "columns of {t} are missing"),
            ("DROP TABLE \(archives)parts", "lacks some of the tables that describe the archives"),
        ] {
            let archived = try ArchivedDatabase(
                "CREATE TABLE t (id int PRIMARY KEY, at timestamptz); INSERT INTO t SELECT n, \(Self.ages) FROM generate_series(1, 9) n;"
            )
            try archived.delete("t")
            let table = archived.archive(ArchivePlace.tableName(archived.run, 0))
            try archived.database.run(change.replacing("{t}", with: table))
            let told = storeError { try archived.undo() }
            #expect(told?.message.contains(reason.replacing("{t}", with: table)) == true, "\(change): \(told as Any)")
            #expect(try archived.database.run("SELECT count(*) FROM t") == ["4"])
        }
    }

    @Test func rowsThatLeaveAnArchiveDuringTheRunAreFoundAtItsEnd() throws {
        let archived = try ArchivedDatabase(Self.family)
        let writer = try archived.database.writer()
        try archived.delete([ArchivedDatabase.request("p")], on: writer, isComplete: false)
        try archived.database.run("DELETE FROM \(archived.archive(ArchivePlace.tableName(archived.run, 0)))")
        let told = storeError { _ = try writer.completeArchive() }
        #expect(told?.message.contains("the archive of this run was changed by others") == true)
        // A table that is gone is no obstacle to the removal of the others.
        try archived.database.run("DROP TABLE \(archived.archive(ArchivePlace.tableName(archived.run, 0)))")
        try writer.removeArchive(of: archived.run, in: ArchivedDatabase.schema)
        #expect(try writer.archives(in: ArchivedDatabase.schema) == [])
    }
}
