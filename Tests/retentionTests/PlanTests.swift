import Foundation
import PriceStore
import RetentionJob
import Testing

/// Plans that a dry run saves and a run carries out, in the running program.
struct PlanTests {
    private func job(_ rule: String = Sample.rule(age: "60d"), sql: String? = nil, head: String = "") throws
        -> LaunchedJob
    {
        let rows = Sample.rows(20, daysAgo: 90) + Sample.rows(30, daysAgo: 40) + Sample.rows(5, daysAgo: 1)
        return try LaunchedJob(sql ?? Sample.price + rows, policy: Sample.policy(rule, head: head))
    }

    @Test func aPlanIsCarriedOutOnceAndOnlyIfTheSameRowsExpire() throws {
        let job = try job()
        let saved = try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        #expect(saved.status == 0 && saved.output.contains("The plan is saved in plan.txt, valid until "), "\(saved)")
        // Rows that are not expired may come and go.
        try job.change(Sample.rows(5, daysAgo: 2) + "DELETE FROM Price WHERE at > unixepoch() - 86400 * 1.5;")
        #expect(try job.report("--plan", "plan.txt", "--dry-run").rules[0].expired == 20)
        let run = try job.report("--plan", "plan.txt")
        #expect(run.rules[0].deleted == 20 && run.exitCode == 0)
        let again = try job.retention("run", "--plan", "plan.txt")
        #expect(again.status == 65 && again.errors.contains("was used by run \(run.run)"), "\(again)")
        #expect(
            try job.number("SELECT count(*) FROM run WHERE length(plan_sha256) = 64", in: "retention.ledger.sqlite")
                == 1)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    @Test(arguments: [
        (
            "INSERT INTO Price(id, at) VALUES (900, unixepoch() - 100 * 86400), (902, unixepoch() - 100 * 86400)",
            "which has 20 rows: 2 rows added (keys 900, 902)"
        ),
        ("DELETE FROM Price WHERE id = 7", "which has 20 rows: 1 row missing (key 7)"),
        (
            "UPDATE Price SET at = unixepoch() WHERE id < 8",
            "which has 20 rows: 7 rows missing (keys 1, 2, 3, 4, 5, …)"
        ),
        ("UPDATE Price SET id = id + 1000 WHERE id = 3", "1 row added (key 1003), 1 row missing (key 3)"),
    ]) func aPlanThatDriftedIsRefused(change: String, difference: String) throws {
        let job = try job()
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        try job.change(change)
        let report = try job.report("--plan", "plan.txt")
        #expect(report.exitCode == 65 && report.rules[0].refusal == "plan_drifted" && report.rules[0].deleted == 0)
        #expect(report.rules[0].message?.contains(difference) == true, "\(report.rules[0].message ?? "")")
    }

    @Test func aKeyThatCannotBeReadAsItIsStoredIsInNoPlan() throws {
        let table = "CREATE TABLE Price (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID;"
        let rows = "INSERT INTO Price VALUES (CAST(x'ff' AS TEXT), 100000001), ('z', unixepoch());"
        let job = try job(sql: table + rows)
        let end = try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        #expect(end.status == 65 && end.errors.contains("its rows cannot be found again by their keys"), "\(end)")
        #expect(!(try job.listing().contains("plan.txt")))
        try job.change("UPDATE Price SET id = 'a' WHERE id <> 'z';")
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        #expect(try job.report("--plan", "plan.txt").rules[0].deleted == 1)
    }

    @Test func aPlanThatIsNotWhatItWasIsRefused() throws {
        let job = try job()
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let text = try job.text("plan.txt")
        func refusal(_ changed: String) throws -> String {
            try job.folder.write(changed, to: "changed.txt")
            let end = try job.retention("run", "--plan", "changed.txt")
            #expect(end.status == 65, "\(end)")
            return end.errors
        }
        #expect(try refusal(text.replacing("rows: 20", with: "rows: 21")).contains("was changed or truncated"))
        #expect(try refusal(String(text.prefix(text.count / 2))).contains("was changed or truncated"))
        #expect(try refusal("").contains("is not a plan"))
        #expect(try job.retention("run", "--plan", "missing.txt").status == 66)
        var old = try #require(SavedPlan(text: text))
        old.validUntil = Instant(unixSeconds: 1_700_000_000)
        try job.folder.write(old.text, to: "old.txt")
        for arguments in [["--dry-run"], []] {
            let end = try job.perform(["run", "--plan", "old.txt"] + arguments)
            #expect(
                end.status == 65 && end.errors.contains("was valid until 2023-11-14 22:13:20Z; nothing was deleted"),
                "\(end)")
        }
        // Another store, and another policy.
        try FileManager.default.copyItem(atPath: job.path("prices.sqlite"), toPath: job.path("other.sqlite"))
        try job.folder.write(try job.text("retention.yaml").replacing("prices.", with: "other."), to: "other.yaml")
        #expect(
            try job.retention("run", "-c", "other.yaml", "--plan", "plan.txt").errors.contains(
                "was made for another policy"))
        try FileManager.default.moveItem(atPath: job.path("prices.sqlite"), toPath: job.path("real.sqlite"))
        try FileManager.default.createSymbolicLink(
            atPath: job.path("prices.sqlite"), withDestinationPath: job.path("other.sqlite"))
        #expect(try job.retention("run", "--plan", "plan.txt").errors.contains("was made for another store"))
        for arguments in [
            ["--plan", "plan.txt", "--rule", "gold"], ["--plan", "plan.txt", "--accept", "restored_rows"],
            ["--plan", "plan.txt", "--as-of", "2026-01-01"], ["--save-plan", "x.txt"], ["--valid-for", "1h"],
            ["--sample", "3"],
            ["--dry-run", "--sample", "0"],
        ] { #expect(try job.perform(["run"] + arguments).status == 64, "\(arguments)") }
        #expect(try job.number("SELECT count(*) FROM Price", in: "other.sqlite") == 55)
    }

    @Test func aPlanNeverReplacesAnotherFile() throws {
        let job = try job()
        for name in ["prices.sqlite", "retention.yaml"] {
            #expect(try job.retention("run", "--dry-run", "--save-plan", name).status == 73)
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 55)
    }

    // MARK: Exactly these rows

    /// A trigger stands for another program: it adds expired rows in free keys while the run deletes.
    @Test(arguments: [
        ("id INTEGER PRIMARY KEY", "n * 2", "old.id + 1", ""),
        ("id TEXT PRIMARY KEY", "printf('k%04d', n)", "old.id || 'x'", "WITHOUT ROWID"),
        ("id INTEGER, part TEXT, PRIMARY KEY(id, part)", "n, 'a'", "old.id, 'b'", "WITHOUT ROWID"),
    ]) func rowsThatArriveMeanwhileStay(key: String, planned: String, arriving: String, option: String) throws {
        let columns = key.replacing(", PRIMARY KEY(id, part)", with: "")
        let job = try job(
            Sample.rule("batch: { rows: 10 }", entity: "T"),
            sql: """
                CREATE TABLE T(\(columns), at INTEGER, note TEXT\(key == columns ? "" : ", PRIMARY KEY(id, part)")) \(option);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 200)
                INSERT INTO T SELECT \(planned), unixepoch() - 90 * 86400, 'planned' FROM c;
                INSERT INTO T SELECT \(planned), unixepoch(), 'young' FROM (SELECT 9000 AS n);
                CREATE TRIGGER other AFTER DELETE ON T WHEN old.note = 'planned'
                BEGIN INSERT INTO T VALUES (\(arriving), old.at - 60, 'arrived'); END;
                """)
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let report = try job.report("--plan", "plan.txt")
        #expect(report.rules[0].deleted == 200 && report.rules[0].residue == 200, "\(report)")
        #expect(
            report.warnings?.contains { $0.contains("deletes only rows of the plan; 200 expired rows are left") }
                == true)
        #expect(try job.rows("SELECT note, count(*) FROM T GROUP BY 1") == ["arrived|200", "young|1"])
    }

    @Test func aRowWhoseDateWasChangedMeanwhileStays() throws {
        let job = try job(Sample.rule("batch: { rows: 1, pause: 100ms }", age: "60d"))
        try job.change(Sample.slowDeletes(steps: 100))
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let run = try RunningProgram(job, "run", "--plan", "plan.txt", "--format", "json")
        #expect(job.hasBegunSlowDeletes())
        // One of them is the last of the plan.
        try job.change("UPDATE Price SET at = unixepoch() WHERE id IN (1, 20)")
        #expect(run.wait() == 0)
        #expect(try Report(json: job.text("stdout.txt")).rules[0].deleted == 19)
        #expect(try job.number("SELECT count(*) FROM Price WHERE id IN (1, 20)") == 1)
    }

    @Test func aPlanArchivesItsRowsAndDeletesWhatGoesWithThem() throws {
        let job = try job(
            Sample.rule("batch: { rows: 7 }", entity: "Parent"),
            sql: """
                CREATE TABLE Parent(id INTEGER PRIMARY KEY, at INTEGER);
                CREATE TABLE Child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES Parent(id) ON DELETE CASCADE);
                CREATE INDEX Child_parent ON Child(parent);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20)
                INSERT INTO Parent SELECT n * 3, unixepoch() - 90 * 86400 FROM c;
                INSERT INTO Parent VALUES (100, unixepoch());
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500)
                INSERT INTO Child(parent) SELECT p.id FROM Parent AS p CROSS JOIN c;
                """, head: "archive: { folder: archives }")
        try job.makeFolder("archives")
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let rule = try job.report("--plan", "plan.txt").rules[0]
        #expect(
            rule.deleted == 20 && rule.cascaded == 10_000 && rule.archived == 10_020 && rule.residue == 0, "\(rule)")
    }

    @Test func keysAreComparedByteByByteAndShownSafely() throws {
        let job = try job(
            Sample.rule(entity: "T"),
            sql: """
                CREATE TABLE T(k TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID;
                INSERT INTO T VALUES ('new', unixepoch());
                INSERT INTO T SELECT k, unixepoch() - 90 * 86400 FROM (
                    SELECT 'é' AS k UNION SELECT 'z' || char(0) || 'a' UNION SELECT 'back\\n'
                    UNION SELECT 'keep' || char(27) || '[2K' || char(13) || char(8238) || 'x');
                """)
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let text = try job.text("plan.txt")
        #expect(text.contains(#"key: 'keep\u{1B}[2K\r\u{202E}x'"#) && text.contains(#"key: 'z\u{0}a'"#), "\(text)")
        for (old, new, difference) in [
            ("'é'", "'e' || char(769)", "1 row added (key 'e\u{301}'), 1 row missing (key '\u{E9}')"),
            (
                "'z' || char(0) || 'a'", "'z' || char(0) || 'b'",
                #"1 row added (key 'z\u{0}b'), 1 row missing (key 'z\u{0}a')"#
            ),
        ] {
            try job.change("UPDATE T SET k = \(new) WHERE k = \(old)")
            let message = try job.report("--plan", "plan.txt", "--dry-run").rules[0].message ?? ""
            #expect(message.utf8.contains(difference.utf8), "\(message)")
            try job.change("UPDATE T SET k = \(old) WHERE k = \(new)")
        }
        #expect(try job.report("--plan", "plan.txt").rules[0].deleted == 4)
    }

    @Test func aPlanNeedsTheRecordAfterWhichItWasMade() throws {
        let job = try job(Sample.rule(age: "85d"))
        try job.report()
        try job.change(Sample.rows(3, daysAgo: 90))
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        try job.move("retention.ledger.sqlite", to: "moved.sqlite")
        for option in [["--dry-run"], []] {
            let end = try job.perform(["run", "--plan", "plan.txt"] + option)
            #expect(end.status == 65 && end.errors.contains("it is another ledger"), "\(end)")
        }
        try FileManager.default.removeItem(atPath: job.path("retention.ledger.sqlite"))
        try job.move("moved.sqlite", to: "retention.ledger.sqlite")
        // Later runs do no harm.
        try job.retention("run", "--rule", "gold", "--as-of", Sample.date(30))
        #expect(try job.report("--plan", "plan.txt").rules[0].deleted == 3)
    }

    @Test func theNewestRowsOfASampleAreOthersThanTheOldest() throws {
        let job = try job(sql: Sample.price)
        try job.change(
            """
            INSERT INTO Price(id, at) SELECT value, unixepoch() / 86400 * 86400 - 90 * 86400 FROM json_each('[1,2,3,4,5,6,7,8]');
            INSERT INTO Price(id, at) VALUES (9, unixepoch());
            """)
        for (count, newest) in [("3", ["6", "7", "8"]), ("5", ["6", "7", "8"])] {
            let sample = try job.report("--dry-run", "--sample", count).rules[0].sample
            #expect(
                sample?.newestRows.map { $0[0] } == newest && sample?.oldestRows[0][0] == "1",
                "\(String(describing: sample))")
        }
    }
}
