import Foundation
import PostgresCluster
import PostgresStore
import TestSupport
import Testing

/// The program on a PostgreSQL database.
@Suite(.needsPostgres)
struct PostgresJobTests {
    private let cluster: PostgresCluster
    private let url: String
    /// Rows older than 30 days of 24 hours. Each row is half an hour away from an age of whole hours.
    private let expired = 1280

    init() throws {
        cluster = try #require(PostgresCluster.shared)
        url = try cluster.makeDatabase(
            """
            CREATE TABLE price (id bigserial PRIMARY KEY, symbol text, price float8, at timestamptz);
            CREATE INDEX price_at ON price (at);
            INSERT INTO price (symbol, price, at) SELECT 'XAUUSD', n, now() - (n + 0.5) * interval '1 hour' FROM generate_series(0, 1999) n;
            """)
    }

    private func job(_ rule: String = "", head: String = "", store: String? = nil) throws -> LaunchedJob {
        try LaunchedJob(
            "",
            policy: """
                version: 1
                store: \(store ?? url)
                timezone: UTC
                \(head)
                rules:
                  - { name: gold, entity: price, date_attribute: at, max_age: 30d\(rule.isEmpty ? "" : ", \(rule)") }
                """)
    }

    private func number(_ query: String) throws -> Int { Int(try cluster.run(query, url: url)) ?? -1 }

    @Test func theSameRuleDeletesWhatTheDryRunPredicts() throws {
        let job = try job()
        let dry = try job.report("--dry-run")
        #expect(dry.exitCode == 0 && dry.rules[0].outcome == "planned" && dry.rules[0].dateFormat == "native")
        #expect(dry.rules[0].expired == expired && dry.rules[0].rows == 2000)
        #expect(try number("SELECT count(*) FROM price") == 2000)
        let run = try job.report()
        #expect(run.rules[0].deleted == expired && run.rules[0].residue == 0)
        #expect(try number("SELECT count(*) FROM price") == 2000 - expired)
        #expect(try number("SELECT count(*) FROM price WHERE at < now() - interval '30 days'") == 0)
        let again = try job.report()
        #expect(again.exitCode == 0 && again.totals.deleted == 0)
        // The ledger is beside the policy.
        #expect(try job.log().count == 2)
    }

    /// Whatever the run refuses, the check and the dry run refuse, too.
    @Test func rowSecurityIsRefusedByCheckDryRunAndRun() throws {
        let user = "job_" + PostgresCluster.database(of: url)
        _ = try cluster.run(
            """
            CREATE ROLE \(user) LOGIN; GRANT SELECT, DELETE ON price TO \(user);
            ALTER TABLE price ENABLE ROW LEVEL SECURITY; CREATE POLICY r ON price FOR SELECT USING (true);
            CREATE POLICY d ON price FOR DELETE USING (id % 5 = 0);
            """, url: url)
        let job = try job(store: cluster.url(database: PostgresCluster.database(of: url), user: user))
        for command in [["check"], ["run", "--dry-run"], ["run"]] {
            let end = try job.perform(command)
            let output = end.output.replacing(/\s+/, with: " ")
            #expect(output.contains("row security of price applies to this user"), "\(command) \(end)")
        }
        #expect(try number("SELECT count(*) FROM price") == 2000)
    }

    @Test func pendingFilesAreSavedBeforeAnythingIsDeleted() throws {
        let job = try job(
            head: """
                pending:
                  - { files: "pending/*.csv", entity: price, constants: { symbol: XAUEUR } }
                """)
        try FileManager.default.createDirectory(atPath: job.path("pending"), withIntermediateDirectories: true)
        try job.folder.write("at,price\n2026-01-01T00:00:00Z,1.5\n1833-01,2\nsoon,3\n", to: "pending/a.csv")
        let dry = try job.report("--dry-run")
        #expect(dry.pending == .init(files: 1, saved: 2, ignored: 0, rejected: 1) && dry.exitCode == 65)
        let run = try job.report()
        #expect(run.pending == dry.pending && run.rules[0].deleted == dry.rules[0].expired && run.exitCode == 65)
        #expect(try number("SELECT count(*) FROM price WHERE symbol = 'XAUEUR'") == 1)
        #expect(FileManager.default.fileExists(atPath: job.path("pending/done/a.csv")))
        #expect(try number("SELECT count(*) FROM pg_class WHERE relname = 'retention_taken'") == 0)
    }

    @Test func aPendingFileOfAKilledRunIsContinued() throws {
        let job = try job(
            head: """
                pending:
                  - { files: "pending/*.csv", entity: price, constants: { symbol: XAUEUR } }
                """)
        try FileManager.default.createDirectory(atPath: job.path("pending"), withIntermediateDirectories: true)
        let rows = (1...40_000).map { "\(Sample.date(1)),\($0)\n" }.joined()
        try job.folder.write("at,price\n" + rows, to: "pending/a.csv")
        let saved = "SELECT count(*) FROM price WHERE symbol = 'XAUEUR'"
        let killed = try RunningProgram(job, "run")
        #expect(try eventually { try number(saved) > 0 })
        killed.send(SIGKILL)
        #expect(killed.wait() == 128 + SIGKILL)
        let before = try number(saved)
        #expect((1..<40_000).contains(before))
        let dry = try job.report("--dry-run")
        let run = try job.report()
        #expect(run.pending == dry.pending && run.pending.saved == 40_000 - before && run.pending.files == 1)
        #expect(try number(saved) == 40_000)
        #expect(try number("SELECT count(DISTINCT price) FROM price WHERE symbol = 'XAUEUR'") == 40_000)
        #expect(try number("SELECT count(*) FROM pg_class WHERE relname = 'retention_taken'") == 0)
    }

    @Test func everyErrorHasItsExitStatus() throws {
        func ending(_ store: String, _ rule: String = "") throws -> (status: Int32, text: String) {
            let end = try job(rule, store: store).retention("run")
            return (end.status, end.errors + end.output)
        }
        #expect(try ending("postgresql://x@/prices?host=/nowhere").status == 69)
        let missing = try job().folder
        try missing.write(
            "version: 1\nstore: \(url)\nrules:\n  - { name: a, entity: prise, date_attribute: at, max_age: 3d }\n",
            to: "retention.yaml")
        let table = try LaunchedProgram.perform(["run"], in: missing.url)
        #expect(table.status == 78 && table.errors.contains("did you mean 'price'?"))
        #expect(try ending(url.replacingOccurrences(of: "store_", with: "nothing_")).status == 66)
        #expect(try ending(url, "date_format: unix_seconds").status == 78)
    }

    @Test func aSecondRunIsRefusedAndNamesTheFirst() throws {
        let holder = try PostgresWriter(PostgresAddress(url: url))
        try holder.takeRunLock()
        let end = try job().retention("run")
        let process = "process \(ProcessInfo.processInfo.processIdentifier) on this host, server process "
        #expect(end.status == 75 && end.errors.contains("another run is using this store: \(process)"))
        #expect(try number("SELECT count(*) FROM price") == 2000)
        // A dry run takes no lock.
        #expect(try job().report("--dry-run").exitCode == 0)
    }

    @Test func checkAndInspectLookAtServersToo() throws {
        let check = try job().retention("check")
        #expect(check.status == 0 && check.output.contains("no errors"))
        let inspect = try job().retention("inspect", url)
        #expect(inspect.status == 0 && inspect.words.contains("price: 2,000 rows") && inspect.words.contains("native"))
    }

    @Test func partitionsCanBeForced() throws {
        try cluster.run(
            """
            CREATE TABLE part (at timestamptz PRIMARY KEY) PARTITION BY RANGE (at);
            CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
            CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM ('2021-01-01') TO ('2100-01-01');
            INSERT INTO part VALUES ('2020-05-01'), (now());
            """, url: url)
        let job = try job()
        func policy(_ more: String = "") throws {
            try job.folder.write(
                "version: 1\nstore: \(url)\nrules:\n  - { name: a, entity: part, date_attribute: at, max_age: 3d\(more) }\n",
                to: "retention.yaml")
        }
        for (more, reason) in [
            (", keep_last: { count: 5 }", "`keep_last` chooses among the rows of a partition")
        ] {
            try policy(more)
            for arguments in [["run", "--dry-run"], ["run"]] {
                let end = try job.perform(arguments + ["--method", "partitions"])
                #expect(end.status == 78 && (end.output + end.errors).contains(reason), "\(end.output)\(end.errors)")
            }
        }
        #expect(try number("SELECT count(*) FROM part") == 2)
        try policy()
        let run = try job.report("--method", "partitions")
        #expect(run.rules[0].deleted == 1 && run.exitCode == 0)
        #expect(try number("SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'part\\_%'") == 1)
    }

    @Test func theCutoffIsAlignedInThePolicysZoneAndTheLedgerHasEveryRun() throws {
        let job = try job()
        try job.folder.write(
            """
            version: 1
            store: \(url)
            timezone: America/New_York
            rules:
              - { name: aligned, entity: price, date_attribute: at, max_age: 30d, align: day }
            """, to: "retention.yaml")
        let asOf = ["--as-of", Date().formatted(.iso8601)]
        // Midnight in New York, 30 of its days ago, which are not 30 times 24 hours where its clocks were changed.
        let midnight = try cluster.run(
            """
            SELECT to_char(date_trunc('day', timestamptz '\(asOf[1])' AT TIME ZONE 'America/New_York' - interval '30 days')
                AT TIME ZONE 'America/New_York' AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            """, url: url)
        func older(than cutoff: String) throws -> Int {
            try number("SELECT count(*) FROM price WHERE at < '\(cutoff)'")
        }
        let dry = try job.report(["--dry-run"] + asOf).rules[0]
        #expect(try dry.expired == older(than: midnight))
        let run = try job.report(asOf).rules[0]
        #expect(dry.cutoff == midnight && run.cutoff == midnight && run.deleted == dry.expired)
        #expect(try run.deleted == 2000 - number("SELECT count(*) FROM price") && older(than: midnight) == 0)
        // A dry run leaves nothing in it.
        let log = try job.log()
        #expect(log.count == 1 && log[0].rules[0].deleted == run.deleted && log[0].store.hasPrefix("postgresql://"))
        #expect(log[0].store.split(separator: "/").last == url.split(separator: "?")[0].split(separator: "/").last)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    @Test(arguments: [("cascade", 0, 1), ("nullify", 1, 0)])
    func aRulesOverrideOfRelationshipsIsPredictedAndCarriedOut(word: String, staying: Int, going: Int) throws {
        try cluster.run(
            """
            CREATE TABLE note (id int PRIMARY KEY, price bigint REFERENCES price (id) ON DELETE RESTRICT);
            INSERT INTO note SELECT id, id FROM price WHERE id % 2 = 0;
            """, url: url)
        let notes = try number(
            "SELECT count(*) FROM note WHERE price IN (SELECT id FROM price WHERE at < now() - interval '30 days')")
        #expect(try job().report("--dry-run").rules[0].refusal == "relationship_denied")
        let job = try job("relationships: \(word)")
        let dry = try job.report("--dry-run").rules[0]
        let run = try job.report().rules[0]
        #expect(dry.outcome == "planned" && run.outcome == "completed" && run.residue == 0)
        #expect(dry.expired == expired && notes == expired / 2)
        #expect(dry.cascaded == going * notes && dry.nullified == staying * notes)
        #expect(run.deleted == dry.expired && run.cascaded == dry.cascaded && run.nullified == dry.nullified)
        #expect(try number("SELECT count(*) FROM note") == 1000 - run.cascaded)
        #expect(try number("SELECT count(*) FROM note WHERE price IS NULL") == run.nullified)
    }

    @Test(arguments: [
        // A cascade from one entity empties another, or takes too much of it, or leads back to the rule's own.
        ("tag", "", "", "would_empty_entity"),
        ("tag", "", ", limits: { max_fraction: 0.1 }, allow_empty: true", "too_large_fraction"),
        ("own", "", "", "unsupported_schema"),
    ])
    func whatRulesTakeTogetherCountsTheirCascades(entity: String, own: String, other: String, code: String) throws {
        try cluster.run(
            """
            CREATE TABLE head (id int PRIMARY KEY, at timestamptz);
            INSERT INTO head SELECT i, now() - interval '1 day' * 20 * (i % 5) FROM generate_series(0, 9) i;
            CREATE TABLE tag (id int PRIMARY KEY, at timestamptz, head int REFERENCES head ON DELETE CASCADE);
            INSERT INTO tag SELECT i, now() - interval '1 hour' * (i + 1), 4 FROM generate_series(0, 19) i;
            INSERT INTO tag SELECT 20, '2020-01-01', 0 WHERE '\(code)' = 'too_large_fraction';
            CREATE TABLE own (id int PRIMARY KEY, at timestamptz, up int REFERENCES own ON DELETE CASCADE);
            INSERT INTO own VALUES (1, '2020-01-01', NULL), (2, now(), 1), (3, now(), 2), (4, now(), NULL);
            """, url: url)
        let parent = entity == "tag" ? "head" : "own"
        let job = try job()
        try job.folder.write(
            """
            version: 1
            store: \(url)
            rules:
              - { name: limited, entity: \(entity), date_attribute: at, max_age: 30d\(entity == "tag" ? other : own) }
              - { name: parent, entity: \(parent), date_attribute: at, max_age: 30d, enabled: \(entity == "tag") }
            """, to: "retention.yaml")
        let before = try number("SELECT count(*) FROM \(entity)")
        for report in [try job.report("--dry-run"), try job.report()] {
            #expect(report.rules[entity == "tag" ? 1 : 0].refusal == code, "\(report.rules)")
        }
        #expect(try number("SELECT count(*) FROM \(entity)") >= before - 1)
    }

    @Test func initDraftsAPolicyThatCheckAndADryRunTake() throws {
        let job = try job()
        let draft = try job.retention("init", url)
        #expect(draft.status == 0 && draft.output.contains("entity: price"))
        #expect(draft.output.contains(url))
        let filled = draft.output.replacing(/max_age:[^\n]*/, with: "max_age: 30d")
            .replacingOccurrences(of: "enabled: false", with: "enabled: true")
        try job.folder.write(filled, to: "retention.yaml")
        let check = try job.retention("check")
        #expect(check.status == 0, "\(check.output)\(check.errors)\(filled)")
        #expect(try job.report("--dry-run").rules[0].expired == expired)
        let inspect = try job.retention("inspect", url)
        #expect(inspect.status == 0 && inspect.words.hasSuffix(" price_at"), "\(inspect)")
        // A store without dates, which the message names.
        let empty = try cluster.makeDatabase("CREATE TABLE a (b int);")
        let none = try job.retention("init", empty)
        #expect(none.status == 65 && none.errors.contains(empty))
    }
}
