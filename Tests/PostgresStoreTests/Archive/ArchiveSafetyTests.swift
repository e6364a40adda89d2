import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// What the plan does not know of is neither deleted nor lost: keys of partitions, a schema that changes, triggers.
@Suite(.needsPostgres)
struct ArchiveSafetyTests {
    private static let five = "SELECT n, '2025-01-01'::timestamptz + n * interval '1 hour' FROM generate_series(1, 5) n"
    private static let table = """
        CREATE TABLE t (id int PRIMARY KEY, at timestamptz); CREATE INDEX ON t (at);
        INSERT INTO t \(five); INSERT INTO t VALUES (9, '2026-06-01');

        """

    private static func request(_ hold: HeldRows? = nil) -> SurveyRequest {
        var request = ArchivedDatabase.request("t")
        request.keepers.holds = hold.map { [$0] } ?? []
        return request
    }

    private static func hold(_ entity: String, _ rows: StorePredicate = .all) -> HeldRows {
        HeldRows(name: "audit", entity: entity, rows: rows)
    }

    // MARK: Partitions

    private static let parts = """
        CREATE TABLE t (id int, at timestamptz, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
        CREATE TABLE t_old PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2026-01-01');
        CREATE TABLE t_new PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2030-01-01');
        ALTER TABLE t_old ADD UNIQUE (id);
        CREATE TABLE note (id int, t int REFERENCES t_old (id) ON DELETE CASCADE, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
        CREATE TABLE note_1 PARTITION OF note FOR VALUES IN (1); ALTER TABLE note_1 ADD UNIQUE (id);
        CREATE TABLE memo (id int PRIMARY KEY, note int REFERENCES note_1 (id) ON DELETE SET NULL);
        CREATE TABLE leaf (id int, at timestamptz, t int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
        CREATE TABLE leaf_1 PARTITION OF leaf FOR VALUES FROM ('2020-01-01') TO ('2030-01-01');
        ALTER TABLE leaf_1 ADD FOREIGN KEY (t) REFERENCES t_old (id) ON DELETE CASCADE;
        INSERT INTO t \(five); INSERT INTO t VALUES (9, '2026-06-01'), (1, '2026-06-02');
        INSERT INTO note SELECT n, n, 1 FROM generate_series(1, 5) n; INSERT INTO memo SELECT n, n FROM generate_series(1, 5) n;
        INSERT INTO leaf SELECT n, '2026-06-01', n FROM generate_series(1, 5) n;
        """

    @Test func keysOfPartitionsAreFollowed() throws {
        let archived = try ArchivedDatabase(Self.parts)
        let before = try archived.contents()
        let result = try #require(try archived.delete("t"))
        #expect(result.rowCount == 15 && result.referenceCount == 5)
        #expect(try archived.undo().total.skippedCount == 0)
        #expect(try archived.contents() == before)
    }

    @Test(arguments: ["note", "leaf"]) func aHeldRowKeepsTheRowOfAPartitionThatItPointsAt(_ entity: String) throws {
        let archived = try ArchivedDatabase(Self.parts)
        try archived.delete([Self.request(Self.hold(entity, .compare("id", .equal, .integer(3))))])
        #expect(try archived.database.run("SELECT id FROM t WHERE at < '2026-01-01'") == ["3"])
        #expect(try archived.database.run("SELECT id FROM \(entity)") == ["3"])
    }

    /// A partition and the whole of it have the same rows.
    @Test func rowsThatTwoTablesHaveAreNotArchived() throws {
        let archived = try ArchivedDatabase(Self.parts)
        try archived.database.run("ALTER TABLE t ADD COLUMN up int")
        #expect(try archived.database.reader().archiveObstacle(of: Self.request()) == nil)
        try archived.database.run("ALTER TABLE t_new ADD FOREIGN KEY (up) REFERENCES t_old (id) ON DELETE CASCADE")
        let found = try archived.database.reader().archiveObstacle(of: Self.request())
        #expect(found == "rows of t_new, which are rows of t, have foreign keys of their own")
    }

    @Test func aNameThatTwoTablesHaveIsRefused() throws {
        let archived = try ArchivedDatabase(
            Self.table
                + "CREATE SCHEMA s; CREATE TABLE s.note (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE);"
                + "CREATE TABLE \"s.note\" (id int PRIMARY KEY, t int); INSERT INTO s.note SELECT n, n FROM generate_series(1, 5) n;"
        )
        let before = try archived.contents()
        let told = storeError { try archived.delete("t") }
        #expect(told?.kind == .unsupported && told?.message.contains("two tables are called s.note") == true)
        #expect(try archived.contents() == before)
        #expect(try archived.database.run("SELECT count(*) FROM s.note") == ["5"])
    }

    /// The columns that ON DELETE SET NULL does not name stay as they are, and need not be NULL.
    @Test func aKeyThatClearsOneOfItsColumnsIsCarriedOut() throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE t (ten int, id int, at timestamptz, PRIMARY KEY (ten, id));
            CREATE TABLE c (id int PRIMARY KEY, ten int NOT NULL, t int, FOREIGN KEY (ten, t) REFERENCES t ON DELETE SET NULL (t));
            INSERT INTO t SELECT 1, n, '2025-01-01' FROM generate_series(1, 5) n; INSERT INTO t VALUES (1, 9, '2026-06-01');
            INSERT INTO c SELECT n, 1, n FROM generate_series(1, 5) n;
            """)
        let before = try archived.contents()
        #expect(try archived.database.reader().survey(Self.request()).related.obstacles.isEmpty)
        #expect(try archived.delete("t")?.referenceCount == 5)
        #expect(try archived.database.run("SELECT count(ten), count(t) FROM c") == ["5|0"])
        #expect(try archived.undo().total.referenceCount == 5)
        #expect(try archived.contents() == before)
        var request = Self.request()
        request.relationships = .nullify
        #expect(try archived.database.reader().survey(request).related.obstacles.map(\.rowCount) == [5])
    }

    // MARK: A schema that changes

    private static let function =
        "CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN DELETE FROM note; RETURN NULL; END$$;"

    /// The archive's table was made, and held rows were looked for, in the schema of before.
    @Test(arguments: [
        "ALTER TABLE t ADD COLUMN more text DEFAULT 'x'",
        "ALTER TABLE t ALTER id TYPE numeric(12, 4) USING id + 0.0001",
        "ALTER TABLE note ADD FOREIGN KEY (t) REFERENCES t ON DELETE CASCADE NOT VALID",
        function + "CREATE TRIGGER tr AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION f()",
        "CREATE TABLE kid (secret text) INHERITS (t)", "ALTER TABLE t ENABLE TRIGGER known",
        "CREATE OR REPLACE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM note; RETURN OLD; END'",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE RULE ru AS ON UPDATE TO t DO ALSO DELETE FROM note",
        "ALTER TABLE t RENAME TO t_was; CREATE TABLE t AS SELECT id, at FROM t_was",
    ])
    func aSchemaThatChangesDuringTheRunEndsIt(_ change: String) throws {
        for (isArchived, relative) in [
            (true, ""), (false, ""),
            (true, "CREATE TABLE kin (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE);"),
        ] {
            let archived = try ArchivedDatabase(
                Self.table
                    + "CREATE TABLE note (id int PRIMARY KEY, t int); INSERT INTO note SELECT n, n FROM generate_series(1, 5) n;"
                    + "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';"
                    + "CREATE TRIGGER known BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION g();"
                    + (isArchived || change.contains("known") ? "ALTER TABLE t DISABLE TRIGGER known;" : "") + relative)
            let writer = try archived.database.writer()
            var request = Self.request()
            if isArchived {
                request.deleting.archiveRule = "r0"
                try writer.beginArchive(
                    ArchiveRequest(
                        place: ArchivedDatabase.schema, run: archived.run,
                        rules: [.init(name: "r0", entity: "t", cutoff: request.cutoff)]))
            }
            let deletion = try writer.deletion(of: request)
            #expect(try deletion.deleteNext(DeletionBounds(rows: 1)).result.deletedCount == 1)
            try archived.database.run(script: change)
            let told = storeError { _ = try deletion.deleteNext(DeletionBounds(rows: 1)) }
            #expect(
                told?.kind == .unsupported && told?.message.contains("has changed since the plan was made") == true,
                "\(change): \(told as Any)")
            #expect(try archived.database.run("SELECT count(*) FROM t") == ["5"])
            #expect(try archived.database.run("SELECT count(*) FROM note") == ["5"])
        }
    }

    // MARK: Triggers

    /// What a trigger deletes is not seen in its own words.
    private static let hidden = """
        CREATE FUNCTION purge(i int) RETURNS int LANGUAGE plpgsql AS $$BEGIN DELETE FROM note WHERE t = i; RETURN 1; END$$;
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$DECLARE x int; BEGIN x := purge(OLD.id); RETURN NULL; END$$;

        """

    /// Also of those that are put off until the commit.
    @Test func noTriggerTakesAHeldRow() throws {
        let archived = try ArchivedDatabase(
            Self.table
                + "CREATE TABLE note (id int PRIMARY KEY, t int); INSERT INTO note SELECT n, n FROM generate_series(1, 5) n;"
                + Self.hidden
                + "CREATE CONSTRAINT TRIGGER tr AFTER DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f()"
        )
        let before = try archived.contents()
        let told = storeError {
            _ = try Laws.carryOut(Self.request(Self.hold("note")), batchRows: 2, on: archived.database.writer())
        }
        #expect(told?.kind == .unsupported && told?.message.contains("the trigger or rule tr of t") == true)
        #expect(try archived.contents() == before)
    }

    // MARK: Undo

    /// Values would be rounded to the type that a column has now.
    @Test(arguments: ["ALTER TABLE t ALTER n TYPE int", "ALTER TABLE c ALTER t TYPE bigint"])
    func aSchemaThatChangesDuringAnUndoEndsIt(_ change: String) throws {
        let archived = try ArchivedDatabase(
            Self.table
                + "ALTER TABLE t ADD n numeric; UPDATE t SET n = id + 0.5; CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES t ON DELETE SET NULL);"
                + "INSERT INTO c SELECT n, n FROM generate_series(1, 5) n")
        let before = try archived.contents()
        try archived.delete("t")
        let restoration = try archived.database.writer().restoration(of: archived.request())
        #expect(try restoration.restoreNext(rows: 2).hasMore)
        let part = try archived.contents()
        try archived.database.run(change)
        let told = storeError { _ = try restoration.restoreNext(rows: 2) }
        #expect(
            told?.kind == .unsupported && told?.message.contains("has changed since the undo began") == true,
            "\(told as Any)")
        try archived.database.run("ALTER TABLE t ALTER n TYPE numeric")
        try archived.database.run("ALTER TABLE c ALTER t TYPE int")
        #expect(try archived.contents()["c"] == part["c"] && part["c"] != before["c"])
    }

    /// Its rows would go elsewhere, and be said to be restored.
    @Test func aTableWithARuleForInsertsIsRefused() throws {
        let archived = try ArchivedDatabase(Self.table + "CREATE TABLE o (LIKE t)")
        try archived.delete("t")
        try archived.database.run("CREATE RULE elsewhere AS ON INSERT TO t DO INSTEAD INSERT INTO o VALUES (NEW.*)")
        let told = storeError { try archived.undo() }
        #expect(told?.kind == .unsupported && told?.message.contains("the rule elsewhere of t changes what") == true)
        try archived.database.run("DROP RULE elsewhere ON t")
        #expect(try archived.undo().total.restoredCount == 5)
    }

    /// A state of the trigger's own is about the row. A trigger may also leave the row out.
    @Test(arguments: [
        ("RAISE EXCEPTION 'too old' USING ERRCODE = 'RT001'", "the store refuses it: too old"),
        ("RAISE EXCEPTION 'too old'", "the store refuses it: too old"), ("RETURN NULL", "a trigger ignores it"),
    ]) func aRowThatATriggerRefusesIsSkipped(_ refusal: String, _ reason: String) throws {
        let archived = try ArchivedDatabase(Self.table)
        try archived.delete("t")
        try archived.database.run(
            script: """
                CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                    IF NEW.id = 3 THEN \(refusal); END IF; RETURN NEW; END$$;
                CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
                """)
        let outcome = try archived.undo()
        #expect(outcome.total.restoredCount == 4 && outcome.skipped.map(\.key) == [[.integer(3)]])
        #expect(outcome.skipped.first?.reason.contains(reason) == true)
    }

    @Test func referencesThatAreNotRestoredAreCountedAndListed() throws {
        let archived = try ArchivedDatabase(
            Self.table
                + "CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES t ON DELETE SET NULL, v int DEFAULT 0, CHECK (v = 0 OR t IS NULL));"
                + "INSERT INTO c SELECT n, n FROM generate_series(1, 5) n")
        try archived.delete("t")
        try archived.database.run(
            script: "DELETE FROM c WHERE id = 1; UPDATE c SET v = 1 WHERE id = 3; UPDATE c SET t = 9 WHERE id = 2")
        #expect(
            try archived.database.reader().restorable(archived.request()).map(\.skippedReferenceCount).reduce(0, +) == 1
        )
        let outcome = try archived.undo()
        #expect(outcome.total.referenceCount == 2 && outcome.total.skippedReferenceCount == 2)
        #expect(Set(outcome.skipped.map(\.key)) == [[.integer(1)], [.integer(3)]])
        #expect(
            outcome.skipped.allSatisfy { $0.table == "c" && $0.reason.hasPrefix("its reference is not restored: ") })
        #expect(try archived.undo().total.skippedReferenceCount == 2)
    }

    @Test func aCircleComesBackBesideARowThatIsRefused() throws {
        let archived = try ArchivedDatabase(
            """
            CREATE TABLE t (id int PRIMARY KEY, at timestamptz, next int NOT NULL, u int UNIQUE);
            INSERT INTO t VALUES (1, '2025-01-01', 2, 1), (2, '2025-01-01', 1, 2), (3, '2025-01-01', 3, 3), (9, '2026-06-01', 9, 9);
            ALTER TABLE t ADD FOREIGN KEY (next) REFERENCES t DEFERRABLE INITIALLY DEFERRED;
            """)
        try archived.delete("t")
        try archived.database.run("INSERT INTO t VALUES (50, '2026-06-01', 50, 3)")
        let outcome = try archived.undo()
        #expect(outcome.total.restoredCount == 2 && outcome.skipped.map(\.key) == [[.integer(3)]])
    }

    @Test(.needsCitus) func aRowThatAnotherServerRefusesIsSkipped() throws {
        let archived = try ArchivedDatabase(
            TestDatabase.citus(
                """
                CREATE TABLE t (id int PRIMARY KEY, at timestamptz, u text); SELECT create_distributed_table('t', 'id', shard_count => 4);
                INSERT INTO t SELECT n, '2025-01-01', 'u' FROM generate_series(1, 50) n; INSERT INTO t VALUES (99, '2026-06-01');
                """))
        try archived.delete("t")
        try archived.database.run("INSERT INTO t VALUES (5, '2026-06-01', 'new')")
        try archived.database.run("ALTER TABLE t ADD CONSTRAINT seven CHECK (id <> 7) NOT VALID")
        let outcome = try archived.undo(rows: 20)
        #expect(outcome.total.restoredCount == 48 && Set(outcome.skipped.map(\.key)) == [[.integer(5)], [.integer(7)]])
        #expect(try archived.undo().total.presentCount == 48)
    }

    /// What was restored once may have been deleted again, without a copy.
    @Test func rowsWithoutAKeyThatAreGoneAgainComeBackAgain() throws {
        let archived = try ArchivedDatabase(
            "CREATE TABLE t (at timestamptz, v text); INSERT INTO t SELECT '2025-01-01', 'v' FROM generate_series(1, 5);"
                + "INSERT INTO t VALUES ('2026-06-01', 'w')")
        let before = try archived.contents()
        try archived.delete("t")
        #expect(try archived.undo().total.restoredCount == 5)
        try archived.database.run("DELETE FROM t WHERE v = 'v'")
        #expect(try archived.database.reader().restorable(archived.request()).map(\.restorableCount) == [5])
        #expect(try archived.undo().total.restoredCount == 5)
        #expect(try archived.contents() == before)
        #expect(try archived.undo().total.presentCount == 5)
    }
}
