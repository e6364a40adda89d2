import Foundation
@preconcurrency import Glibc
import PriceStore
import RetentionJob
import TestSupport
import Testing

/// What a run, a dry run and `check` say of `archive`, as a user sees it.
@Suite(.tags(.clock)) struct ArchiveJobTests {
    private func job(
        _ sql: String = "", head: String = "archive: { folder: archive }", rule: String = "", mode: mode_t? = 0o700
    ) throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0) + sql,
            policy: Sample.policy(Sample.rule(rule), head: head))
        if let mode {
            try FileManager.default.createDirectory(atPath: job.path("archive"), withIntermediateDirectories: true)
            chmod(job.path("archive"), mode)
        }
        return job
    }

    /// `check` finds it as a mistake; a dry run and a run end with the code, and nothing is deleted.
    private func expectRefused(_ job: LaunchedJob, _ code: Int32, _ says: String) throws {
        let check = try job.retention("check")
        #expect(check.status == 78 && check.output.contains(says), "\(check)")
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == code && (end.errors + end.output).contains(says), "\(arguments): \(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 13)
    }

    @Test func aMissingFolderExits73() throws {
        try expectRefused(job(mode: nil), 73, "the folder of the archives does not exist")
    }

    @Test func aFileInPlaceOfTheFolderExits73() throws {
        let job = try job(mode: nil)
        try job.folder.write("x", to: "archive")
        try expectRefused(job, 73, "the folder of the archives is not a folder")
    }

    /// Root is told so before anything else is looked at, with the same code.
    @Test func aFolderThatOthersCanWriteExits77() throws {
        let job = try job(mode: 0o777)
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 77 && end.errors.contains("chmod go-w"), "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 13)
    }

    /// Who takes a folder such as `/tmp` from all others breaks their programs.
    @Test func aFolderForAllUsersIsNotToBeChanged() throws {
        let job = try job(mode: 0o1777)
        for arguments in [["run"], ["run", "--allow-insecure"]] {
            let end = try job.launch(arguments)
            #expect(end.status == 77 && end.errors.contains("a folder of its own"), "\(end)")
            #expect(!end.errors.contains("chmod"), "\(end)")
        }
    }

    /// If nothing is archived, the folder need not be there.
    @Test(arguments: ["archive: none", "max_age: 200d"])
    func aFolderThatIsNotNeededIsNotLookedFor(_ rule: String) throws {
        let isOld = rule.hasPrefix("max_age")
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(
                isOld ? Sample.rule(age: "200d") : Sample.rule(rule), head: "archive: { folder: archive }"))
        #expect(try job.report("--dry-run").exitCode == 0)
        #expect(try job.report().exitCode == 0)
        #expect(try job.number("SELECT count(*) FROM Price") == (isOld ? 13 : 3))
    }

    @Test(.enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"))
    func aFullDiskExits74WithTheSpaceThatIsNeeded() throws {
        let job = try job(
            Sample.rows(5000, daysAgo: 90) + "UPDATE Price SET symbol = hex(randomblob(200));", mode: 0o700)
        let mounted = try LaunchedProgram.shell(
            "mount -t tmpfs -o size=100k,mode=700 none archive", in: job.folder.url)
        try #require(mounted.status == 0)
        defer { _ = try? LaunchedProgram.shell("umount -l archive", in: job.folder.url) }
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.errors.contains("(estimate)"), "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 5013)
        #expect(try job.retention("check").status == 78)
    }

    /// A disk that holds the rows of the rule, but not those that go with them, or not the copies while they are written.
    @Test(
        .enabled(if: ExitCodeTests.mayMount, "only root can mount a small disk"),
        arguments: [
            """
            CREATE TABLE Quote (id INTEGER PRIMARY KEY, price REFERENCES Price ON DELETE CASCADE, x);
            INSERT INTO Quote SELECT id, id, zeroblob(400000) FROM Price;
            """, "UPDATE Price SET symbol = hex(randomblob(200000));",
        ])
    func theSpaceIsThatOfAllRowsAndOfTheirWriting(_ sql: String) throws {
        let job = try job(sql)
        let mounted = try LaunchedProgram.shell(
            "mount -t tmpfs -o size=5m,mode=700 none archive", in: job.folder.url)
        try #require(mounted.status == 0)
        defer { _ = try? LaunchedProgram.shell("umount -l archive", in: job.folder.url) }
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.errors.contains("(estimate)"), "\(end)")
        }
    }

    @Test func aRuleWhoseRowsCannotBeArchivedIsRefused() throws {
        let job = try job(
            """
            CREATE TABLE Last(symbol TEXT PRIMARY KEY, at INTEGER);
            CREATE TRIGGER Price_last AFTER DELETE ON Price BEGIN
                INSERT OR REPLACE INTO Last VALUES (OLD.symbol, OLD.at);
            END;
            """)
        let check = try job.retention("check")
        #expect(check.status == 78 && check.output.contains("not_archivable"), "\(check)")
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments)
            #expect(report.exitCode == 65 && report.rules[0].refusal == "not_archivable", "\(report)")
            let message = try #require(report.rules[0].message)
            #expect(message.contains("uses REPLACE") && message.contains("archive: none"), "\(message)")
        }
        #expect(try job.perform(["run", "--accept", "not_archivable"]).status == 64)
        let head = "archive: { folder: archive }"
        try job.folder.write(Sample.policy(Sample.rule("accept: [not_archivable]"), head: head), to: "retention.yaml")
        #expect(try job.perform(["run"]).status == 78)
        #expect(try job.number("SELECT count(*) FROM Price") == 13)
        try job.folder.write(Sample.policy(Sample.rule("archive: none"), head: head), to: "retention.yaml")
        #expect(try job.report().rules[0].refusal == "policy_widened")
        #expect(try job.report("--accept", "policy_widened").rules[0].deleted == 10)
    }

    // MARK: What a run shows

    @Test func everyReportHasTheArchive() throws {
        let job = try job(head: "archive: { folder: archive, keep: 60d }\nmetrics: { textfile: figures.prom }")
        let dryRun = try job.retention("run", "--dry-run")
        #expect(dryRun.status == 0 && dryRun.output.contains("would archive and delete 10 rows"), "\(dryRun)")
        #expect(try job.listing().filter { $0.hasPrefix("archive/") } == [])
        let run = try job.retention("run", "--log-level", "info")
        #expect(run.status == 0 && run.output.contains("archive: 10 rows in "), "\(run)")
        #expect(run.errors.contains("deleted=10") && run.errors.contains("archived=10"), "\(run.errors)")
        let file = try #require(try job.listing().first { $0.hasPrefix("archive/") })
        let id = file.dropFirst("archive/".count).dropLast(".sqlite".count)
        let sum = try LaunchedProgram.shell("sha256sum \(file)", in: job.folder.url).output.prefix { $0 != " " }
        let log = try job.retention("log", "--format", "json").output
        for part in ["\"sha256\": \"\(sum)\"", "\"archived\": 10", "\"complete\": true", "\"archive_present\": true"] {
            #expect(log.contains(part), "\(part): \(log)")
        }
        #expect(try job.text("figures.prom").contains("retention_rule_archived_rows"))
        #expect(try job.retention("log", "--run", String(id)).output.contains("undo      possible until "))
        #expect(try job.retention("log", "--verify").status == 0)
        unlink(job.path(file))
        #expect(try job.retention("log", "--run", String(id)).output.contains("the archive no longer exists"))
    }

    /// A run that was killed leaves an archive that is not complete; the next run says so and keeps it.
    @Test func theArchiveOfAKilledRunIsNamed() throws {
        let job = try job(
            Sample.rows(300, daysAgo: 90) + Sample.slowDeletes(steps: 20_000), rule: "batch: { rows: 10 }")
        let run = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        run.send(SIGKILL)
        _ = run.wait()
        let file = try #require(try job.listing().first { $0.hasPrefix("archive/") && $0.hasSuffix(".sqlite") })
        try job.change("DROP TRIGGER Price_slow")
        let next = try job.retention("run")
        #expect(next.status == 0 && next.errors.contains("is not complete"), "\(next)")
        #expect(next.output.contains("warning: archive not complete"))
        let third = try job.retention("run")
        #expect(third.status == 0 && !(third.output + third.errors).contains("not complete"), "\(third)")
        #expect(try job.listing().contains(file))
        #expect(try job.number("SELECT count(*) FROM Price") == 3)
    }

    // MARK: Old archives

    /// Makes an archive of the store of a run that began so many days ago.
    private func archive(_ job: LaunchedJob, daysAgo: Int) throws -> String {
        try job.change(Sample.rows(5, daysAgo: 60))
        let now = Instant(unixSeconds: Int64(Date().timeIntervalSince1970))
        let run = ArchiveFixture.run(at: now.advanced(byMicroseconds: -Int64(daysAgo * Sample.day) * 1_000_000))
        try ArchiveFixture.make(
            in: job.path("archive"), run: run, of: job.path("prices.sqlite"), entity: "Price", now: now)
        return run + ".sqlite"
    }

    @Test func oldArchivesAreRemovedByARefusedRunButNotIfTheClockIsInDoubt() throws {
        let rule = "archive: none, limits: { max_rows: 5 }"
        let job = try job(head: "archive: { folder: archive, keep: 30d }", rule: rule)
        let old = try archive(job, daysAgo: 31)
        let young = try archive(job, daysAgo: 29)
        try job.change(Sample.rows(20, daysAgo: 70))
        let names = { try FileManager.default.contentsOfDirectory(atPath: job.path("archive")).sorted() }
        #expect(try job.retention("run", "--dry-run").status == 65)
        #expect(try job.report().exitCode == 65)
        for (name, days) in [(old, 31), (young, 29)] {
            try job.change(
                "INSERT INTO run(number, run, store, mode, outcome, finished_us, clock_believed) SELECT -\(days), "
                    + "'\(name.dropLast(7))', store, mode, 'completed', (unixepoch() - \(days * Sample.day)) * 1000000, 1 "
                    + "FROM run WHERE number = 1", in: "retention.ledger.sqlite")
        }
        #expect(try job.report("--dry-run", "--accept", "too_many_rows").exitCode == 0)
        #expect(try names() == [old, young])
        try job.change(LedgerChange.hoursBack(-2), in: "retention.ledger.sqlite")
        for (code, accepted) in [("clock_moved_back", ""), ("too_many_rows", "clock_moved_back")] {
            let arguments = accepted.isEmpty ? [] : ["--accept", accepted]
            #expect(try job.report(arguments).rules[0].refusal == code)
            #expect(try names() == [old, young])
        }
        try job.change(LedgerChange.hoursBack(2), in: "retention.ledger.sqlite")
        let end = try job.retention("run", "--log-level", "info")
        #expect(end.status == 65 && end.errors.contains("old archive removed"), "\(end)")
        #expect(try names() == [young])
        // The archive of a run that the ledger does not know stays.
        let unknown = try archive(job, daysAgo: 40)
        try job.report("--accept", "too_many_rows")
        #expect(try names() == [unknown, young])
        // The clock may have jumped ahead, though there are newer rows. The next run is not in doubt.
        try job.change(Sample.rows(1, daysAgo: 0))
        try job.change(
            "UPDATE run SET finished_us = finished_us - \(100 * Sample.day) * 1000000", in: "retention.ledger.sqlite")
        for left in [[unknown, young], [unknown]] {
            #expect(try job.report().exitCode == 0)
            #expect(try names() == left)
        }
    }
}
