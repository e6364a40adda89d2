import Foundation
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import SQLiteStore
import Testing

/// `retention undo` as a user calls it: what a run deleted comes back, the rules are held, and nothing else changes.
struct UndoTests {
    private static let archive = "archive: { folder: archive, keep: 30d }"

    /// Five old prices and two new ones, and a second table with three old rows.
    private func job(_ more: String = "", rule: String = "", head: String = archive) throws -> LaunchedJob {
        let tick = "CREATE TABLE Tick(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
        let job = try LaunchedJob(
            Sample.price + tick + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0)
                + Sample.rows(3, daysAgo: 100, in: "Tick") + Sample.rows(1, daysAgo: 0, in: "Tick") + more,
            policy: Sample.policy(Sample.rule(rule), Sample.rule(name: "ticks", entity: "Tick"), head: head))
        try job.makeFolder("archive")
        return job
    }

    private func contents(_ job: LaunchedJob) throws -> [String] {
        try job.rows("SELECT * FROM Price ORDER BY 1") + job.rows("SELECT * FROM Tick ORDER BY 1")
    }

    private struct Undo: Decodable {
        struct Table: Decodable {
            var name: String
            var restored: Int
        }
        var run: String
        var ruleNames: [String]
        var restored, present, skipped: Int
        var tables: [Table]
    }
    private struct UndoReport: Decodable {
        var mode: String
        var exitCode: Int32
        var undo: Undo
    }

    private func undo(_ job: LaunchedJob, _ arguments: String...) throws -> UndoReport { try undo(job, arguments) }

    private func undo(_ job: LaunchedJob, _ arguments: [String]) throws -> UndoReport {
        let end = try job.perform(["undo", "--format", "json"] + arguments)
        try #require(!end.output.isEmpty, "\(end)")
        let report = try Report.decoder.decode(UndoReport.self, from: Data(end.output.utf8))
        #expect(report.exitCode == end.status)
        return report
    }

    /// Each undo compares what those before it have restored. If the budget counted that time, none would end.
    @Test func anUndoWithAShortBudgetGoesOn() throws {
        let job = try job(Sample.rows(2000, daysAgo: 90))
        let run = try job.report().run
        let policy = try PolicyFile.read(path: job.path("retention.yaml"))
        let archive = RunReport.Archive(path: job.path("archive/\(run).sqlite"), rows: 2008, isComplete: false)
        var (restored, calls) = (0, 0)
        while restored < 2008, calls < 100 {
            // Whatever is done takes longer than the budget.
            var uptime = Duration.zero
            let setup = RunSetup(
                policy: policy, runID: "01UNDO", asOf: Instant(microseconds: 0), maxRuntime: .seconds(1),
                clock: { Instant(microseconds: 0) },
                uptime: {
                    uptime += .seconds(10)
                    return uptime
                })
            let undo = RetentionJob.Undo(
                RetentionJob.Undo.Request(run: run, archive: archive), setup: setup,
                writer: try SQLiteWriter(path: job.path("prices.sqlite")), recorder: nil,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, signal: { nil })
            let done = try #require(try undo.perform().undo).done
            try #require(done.restoredCount > 0 && done.presentCount == restored)
            (restored, calls) = (restored + done.restoredCount, calls + 1)
        }
        #expect(calls > 1 && restored == 2008)
    }

    @Test func whatARunDeletedComesBackAndTheRulesAreHeld() throws {
        let job = try job()
        let before = try contents(job)
        let run = try job.report()
        #expect(run.exitCode == 0 && run.totals.deleted == 8)
        let after = try contents(job)

        let dry = try undo(job, run.run, "--dry-run")
        #expect(dry.mode == "undo_dry_run" && dry.exitCode == 0 && dry.undo.restored == 8)
        #expect(try contents(job) == after)

        let undone = try undo(job, String(run.run.prefix(20)).lowercased())
        #expect(undone.mode == "undo" && undone.exitCode == 0 && undone.undo.run == run.run)
        #expect(undone.undo.restored == 8 && undone.undo.skipped == 0 && undone.undo.ruleNames == ["gold", "ticks"])
        #expect(undone.undo.tables.map(\.name) == ["Price", "Tick"] && undone.undo.tables.map(\.restored) == [5, 3])
        #expect(try contents(job) == before)

        let again = try undo(job, run.run)
        #expect(again.exitCode == 0 && again.undo.restored == 0 && again.undo.present == 8)
        #expect(try contents(job) == before)

        for arguments in [["--dry-run"], []] {
            let held = try job.report(arguments)
            #expect(held.exitCode == 65 && held.rules.map(\.refusal) == ["restored_rows", "restored_rows"])
            #expect(held.rules[0].message?.contains("has restored rows that run \(run.run) had deleted") == true)
            #expect(held.rules[0].message?.contains("--accept restored_rows") == true)
        }
        #expect(try contents(job) == before)

        // By hand, for one rule. From then on it is a rule as any other.
        let accepted = try job.report("--accept", "restored_rows", "--rule", "gold")
        #expect(
            accepted.exitCode == 0 && accepted.rules[0].deleted == 5 && accepted.rules[0].accepted == ["restored_rows"])
        try job.change(Sample.rows(2, daysAgo: 100))
        let next = try job.report()
        #expect(
            next.exitCode == 65 && next.rules.map(\.refusal) == [nil, "restored_rows"] && next.rules[0].deleted == 2)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    @Test func onlyTheRulesThatAreNamedAreRestoredAndHeld() throws {
        let job = try job()
        let run = try job.report()
        let undone = try undo(job, run.run, "--rule", "ticks")
        #expect(undone.undo.ruleNames == ["ticks"] && undone.undo.restored == 3)
        #expect(try job.number("SELECT count(*) FROM Price") == 2)
        let next = try job.report()
        #expect(next.rules.map(\.refusal) == [nil, "restored_rows"])
        let end = try job.retention("undo", run.run, "--rule", "tick")
        #expect(end.status == 64 && end.errors.contains("did you mean 'ticks'?"), "\(end)")
    }

    /// A cascade or a trigger of another rule would delete the restored rows as well.
    @Test(arguments: ["CASCADE", "TRIGGER", "SET NULL"])
    func aRuleThatReachesRestoredRowsIsHeld(_ way: String) throws {
        let isTrigger = way == "TRIGGER"
        let job = try job(
            """
            CREATE TABLE Parent(id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE Child(id INTEGER PRIMARY KEY, at INTEGER, parent INTEGER \(isTrigger ? "" : "REFERENCES Parent ON DELETE \(way)"));
            \(isTrigger ? "CREATE TRIGGER gone AFTER DELETE ON Parent BEGIN DELETE FROM Child WHERE parent = OLD.id; END;" : "")
            INSERT INTO Parent VALUES (1, unixepoch() - 86400 * 31), (2, unixepoch());
            INSERT INTO Child VALUES (1, unixepoch() - 86400 * 100, 1), (2, unixepoch(), 2);

            """)
        let rules = [
            Sample.rule(name: "child", entity: "Child"), Sample.rule(name: "parent", entity: "Parent", age: "60d"),
        ]
        try job.folder.write(Sample.policy(rules[0], rules[1], head: Self.archive), to: "retention.yaml")
        let run = try job.report()
        #expect(run.totals.deleted == 1)
        #expect(try undo(job, run.run).exitCode == 0)
        try job.change("UPDATE Parent SET at = at - 86400 * 60 WHERE id = 1")
        let next = try job.report()
        #expect(next.rules.map(\.refusal) == ["restored_rows", way == "SET NULL" ? nil : "restored_rows"])
        #expect(try job.number("SELECT count(*) FROM Child") == 2)
        if way != "SET NULL" {
            #expect(
                next.rules[1].message?.contains("has restored rows of Child that run \(run.run) had deleted") == true)
        }
    }

    @Test func rowsThatWereThereAlreadyAreHeldToo() throws {
        let job = try job()
        try FileManager.default.copyItem(atPath: job.path("prices.sqlite"), toPath: job.path("backup"))
        let run = try job.report()
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        try FileManager.default.moveItem(atPath: job.path("backup"), toPath: job.path("prices.sqlite"))
        let undone = try undo(job, run.run)
        #expect(undone.exitCode == 0 && undone.undo.present == 8 && undone.undo.restored == 0)
        #expect(try job.report().rules.map(\.refusal) == ["restored_rows", "restored_rows"])
    }

    @Test func aRecordThatSomebodyChangedIsNotTrusted() throws {
        let job = try job()
        let run = try job.report()
        let archive = job.path("archive/\(run.run).sqlite")
        try job.change("UPDATE Price SET symbol = 'FORGED'", in: "archive/\(run.run).sqlite")
        let sum = try FileHash.sha256(ofFile: archive)
        try job.change("UPDATE run SET archive_sha256 = '\(sum)'", in: "retention.ledger.sqlite")
        try refused(job, run.run, 74, "the ledger is not what was recorded: run \(run.run) (number 1)")
    }

    @Test func anUndoneRunWhoseRowsWereDeletedAgainSaysSo() throws {
        let job = try job()
        let run = try job.report()
        #expect(try undo(job, run.run).exitCode == 0)
        let again = try job.report("--accept", "restored_rows")
        // The second run has a line of its own.
        let list = try job.retention("undo", "--list").output.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(list.contains("and run \(again.run) has deleted rows again"), "\(list)")
        #expect(try job.retention("log", "--run", run.run).output.contains("\(again.run) has deleted"))
    }

    @Test func aPolicyCannotAcceptIt() throws {
        let end = try job(rule: "accept: [restored_rows]").retention("check")
        #expect(end.status == 78)
        #expect((end.output + end.errors).contains("'restored_rows'"), "\(end)")
    }

    private struct LoggedUndo: Decodable, Equatable {
        var run: String
        var ruleNames: [String]
        var rows, skipped: Int
    }
    private struct UndoneRun: Decodable {
        var undoneBy: String?
        var undos: [LoggedUndo]
    }
    private struct UndoLog: Decodable { var runs: [UndoneRun] }

    private func undone(_ job: LaunchedJob) throws -> UndoneRun {
        let end = try job.retention("log", "--format", "json")
        let runs = try Report.decoder.decode(UndoLog.self, from: Data(end.output.utf8)).runs
        return try #require(runs.first)
    }

    /// Two rules, and the undo of one of them.
    @Test func theListAndTheLogSayWhichPartIsUndone() throws {
        let job = try job()
        let run = try job.report().run
        func expect(_ phrase: String, isWhole: Bool = false) throws {
            for arguments in [["undo", "--list"], ["log", "--run", run]] {
                let end = try job.launch(arguments)
                let text = end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(text.contains(phrase), "\(end)")
                #expect(text.contains("undone by") == isWhole, "\(end)")
            }
        }
        #expect(try undone(job).undos == [] && undone(job).undoneBy == nil)
        #expect(try undo(job, run, "--rule", "gold").exitCode == 0)
        let gold = try #require(try job.log().last).run
        try expect("5 of 8 rows restored by run \(gold) on \(Sample.date(0))")
        try expect("Z; 3 can still be restored until ")
        #expect(try undone(job).undoneBy == nil)
        #expect(try undone(job).undos == [LoggedUndo(run: gold, ruleNames: ["gold"], rows: 5, skipped: 0)])
        // The other rule, of which one key is in use.
        try job.change("INSERT INTO Tick VALUES (2, 'XAG', 7.5, unixepoch())")
        #expect(try undo(job, run, "--rule", "ticks").exitCode == 65)
        let ticks = try #require(try job.log().last).run
        try expect("undone by run \(ticks) on \(Sample.date(0))", isWhole: true)
        try expect("Z and run \(gold) on ", isWhole: true)
        try expect("Z, without 1 row or reference", isWhole: true)
        #expect(try undone(job).undoneBy == ticks)
        #expect(try undone(job).undos.map(\.rows) == [2, 5] && undone(job).undos.map(\.skipped) == [1, 0])
        // Only one rule is shown, and the whole run is meant.
        let other = try self.job()
        let id = try other.report().run
        #expect(try undo(other, id, "--rule", "gold").exitCode == 0)
        #expect(try other.retention("log", "--run", id, "--rule", "gold").output.contains("5 of 8 rows restored"))
    }

    /// An undo that finds all rows there has not restored them.
    @Test func theUndoThatRestoredTheRowsIsNamed() throws {
        let job = try job()
        let run = try job.report().run
        #expect(try undo(job, run).undo.restored == 8)
        let first = try #require(try job.log().last).run
        #expect(try undo(job, run).undo.present == 8)
        #expect(try job.log().last?.run != first)
        #expect(try job.retention("undo", "--list").words.contains("undone by run \(first) on \(Sample.date(0))"))
        for rule in try job.report("--dry-run").rules {
            #expect(rule.message?.contains("undo \(first) has restored rows that run \(run) had deleted") == true)
        }
    }

    @Test func theListAndTheLogSayWhatCanBeUndone() throws {
        let job = try job()
        #expect(try job.retention("undo", "--list").output == "No run of this store has an archive.\n")
        let run = try job.report()
        let list = try job.retention("undo", "--list")
        #expect(
            list.status == 0 && list.output.contains(run.run.prefix(10)) && list.output.contains("possible until "),
            "\(list)")
        #expect(try job.retention("log", "--run", run.run).output.contains("undo      possible until "))
        #expect(try job.retention("undo", run.run).status == 0)
        let undo = try #require(try job.log().last)
        #expect(undo.mode == "undo" && undo.outcome == "completed")
        for end in [try job.retention("undo", "--list"), try job.retention("log", "--run", run.run)] {
            #expect(end.output.contains("undone by run \(undo.run)"), "\(end)")
        }
        #expect(try job.retention("log").output.contains("restored 8 rows, of \(run.run.prefix(10))"))
        let full = try job.retention("log", "--run", undo.run)
        #expect(full.status == 0 && full.output.contains("Restored 8 rows in"), "\(full)")
        // An undo is no run that was expected.
        #expect(try job.retention("report", "--html", "-").status == 0)
    }

    @Test func aKilledUndoIsContinuedAndTheRulesAreHeldMeanwhile() throws {
        let job = try job(
            """
            CREATE VIEW Slow AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT max(n) AS n FROM c;
            CREATE TABLE Note(n); INSERT INTO Note VALUES (0);
            \(Sample.rows(3000, daysAgo: 90))
            """, rule: "batch: { rows: 200 }")
        let before = try contents(job)
        let run = try job.report()
        try job.change(
            "CREATE TRIGGER Price_slow AFTER INSERT ON Price BEGIN UPDATE Note SET n = n + (SELECT n > 0 FROM Slow); END;"
        )
        let program = try RunningProgram(job, "undo", run.run, "--triggers", "fire")
        #expect(job.hasBegunSlowDeletes())
        program.send(SIGKILL)
        #expect(program.wait() == 128 + SIGKILL)
        let count = try job.number("SELECT count(*) FROM Price")
        #expect(count > 2 && count < 3007)
        let crashed = try #require(try job.log().last?.run)
        let log = try job.retention("log", "--run", crashed).output
        #expect(log.contains("whole batches were restored up to then, `retention undo \(run.run)` continues"), "\(log)")
        let held = try job.report()
        #expect(held.exitCode == 65 && held.rules.map(\.refusal).contains("restored_rows"))
        try job.change("DROP TRIGGER Price_slow")
        let undone = try undo(job, run.run)
        #expect(undone.exitCode == 0 && undone.undo.restored + undone.undo.present == 3008)
        #expect(try contents(job) == before)
        #expect(try job.retention("log", "--verify").status == 0)
    }

    // MARK: What cannot be undone

    private func refused(
        _ job: LaunchedJob, _ run: String, _ status: Int32, _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try contents(job)
        for arguments in [["undo", run, "--dry-run"], ["undo", run]] {
            let end = try job.perform(arguments)
            #expect(end.status == status && end.output.isEmpty, "\(end)", sourceLocation: sourceLocation)
            #expect(end.errors.contains(text), "\(end)", sourceLocation: sourceLocation)
        }
        #expect(try contents(job) == before, sourceLocation: sourceLocation)
    }

    @Test func runsThatCannotBeUndoneAreNamed() throws {
        let job = try job()
        try refused(job, "01K", 66, "run not found")
        #expect(try job.retention("undo").status == 64)
        #expect(try job.retention("undo", "01K", "--list").status == 64)
        let run = try job.report()
        #expect(try job.retention("undo", "").status == 64)
        #expect(try job.retention("undo", run.run).status == 0)
        let undo = try #require(try job.log().last?.run)
        try refused(job, undo, 65, "is itself an undo, of run \(run.run)")
        let empty = try job.report("--accept", "restored_rows", "--rule", "ticks")
        #expect(empty.exitCode == 0)
        let nothing = try job.report("--rule", "ticks")
        try refused(job, nothing.run, 65, "deleted nothing")
    }

    @Test func theRunOfARenamedStoreIsUndoneUnderItsFormerName() throws {
        let job = try job()
        let before = try contents(job)
        let run = try job.report()
        try job.move("prices.sqlite", to: "moved.sqlite")
        let policy = try job.text("retention.yaml")
        try job.folder.write(policy.replacing("prices.sqlite", with: "moved.sqlite"), to: "retention.yaml")
        let refused = try job.retention("undo", run.run)
        #expect(refused.status == 65 && refused.errors.contains("move it back for the undo"), "\(refused)")
        try job.move("moved.sqlite", to: "prices.sqlite")
        try job.folder.write(policy, to: "retention.yaml")
        #expect(try undo(job, run.run).undo.restored == 8)
        #expect(try contents(job) == before)
    }

    @Test func aRunWithoutAnArchiveAndOneOfAnotherStoreAreRefused() throws {
        let job = try job(head: "ledger: shared.sqlite")
        let run = try job.report()
        try refused(job, run.run, 65, "made no archive of the rows that it deleted")
        try job.change(
            "CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER); CREATE TABLE Tick(id INTEGER PRIMARY KEY, at INTEGER)",
            in: "other.sqlite")
        try job.folder.write(
            try job.text("retention.yaml").replacing("store: prices.sqlite", with: "store: other.sqlite"),
            to: "other.yaml")
        let end = try job.retention("undo", run.run, "-c", "other.yaml")
        #expect(end.status == 65 && end.errors.contains("is of another store"), "\(end)")
    }

    @Test(arguments: ["missing", "changed", "truncated", "link", "folder", "other"])
    func anArchiveThatIsNotTheRecordedFileIsRefused(_ what: String) throws {
        let job = try job()
        let run = try job.report()
        let path = job.path("archive/\(run.run).sqlite")
        var data = try Data(contentsOf: URL(filePath: path))
        let files = FileManager.default
        switch what {
        case "missing":
            try files.removeItem(atPath: path)
            try refused(job, run.run, 66, "the archive does not exist")
        case "changed":
            data[data.count / 2] ^= 1
            try data.write(to: URL(filePath: path))
            try refused(job, run.run, 74, "its SHA-256 is not the one that the ledger recorded")
        case "truncated":
            try data.prefix(data.count / 2).write(to: URL(filePath: path))
            try refused(job, run.run, 74, "its SHA-256 is not the one that the ledger recorded")
        case "link":
            try files.moveItem(atPath: path, toPath: path + ".moved")
            try files.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
            try refused(job, run.run, 74, "the archive is a symbolic link")
        case "folder":
            try files.removeItem(atPath: path)
            try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            try refused(job, run.run, 74, "the archive is a folder")
        default:
            try job.change(
                "ALTER TABLE Tick RENAME TO Ticks; CREATE TABLE Tick(id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER)")
            try refused(job, run.run, 65, "the table Tick has no column price any more")
        }
    }

    /// The archive of a run that was killed is not complete, and has all rows that the run deleted.
    @Test func whatACrashedRunDeletedIsRestored() throws {
        let job = try job(
            Sample.slowDeletes(steps: 20000) + Sample.rows(3000, daysAgo: 90), rule: "batch: { rows: 50 }")
        let before = try contents(job)
        let program = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        program.send(SIGKILL)
        _ = program.wait()
        let run = try #require(try job.log().last?.run)
        let gone = try before.count - contents(job).count
        #expect(gone > 0 && gone < 3000)
        let archive = job.path("archive/\(run).sqlite")
        #expect(FileManager.default.fileExists(atPath: archive + "-wal"))
        let list = try job.retention("undo", "--list")
        #expect(
            list.output.contains(run.prefix(10)) && list.words.contains("possible for all rows in the archive"),
            "\(list)")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: job.path("archive"))
        let open = try job.retention("undo", run, "--allow-insecure")
        #expect(open.status == 77 && open.errors.contains("can be written by others"), "\(open)")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: job.path("archive"))

        #expect(try undo(job, run, "--dry-run").undo.restored == gone)
        let text = try job.retention("undo", run)
        #expect(text.status == 0 && text.output.contains("warning: archive not complete"), "\(text)")
        #expect(try contents(job) == before)
        #expect(try undo(job, run).undo.restored == 0)
        #expect(try job.report().rules.map(\.refusal) == ["restored_rows", nil])
        try FileManager.default.removeItem(atPath: archive)
        try refused(job, run, 65, "crashed, and no archive of it is in the folder of the policy")
    }

    /// Rows were deleted: that the archive has none is not because the run ended before.
    @Test func anArchiveWithoutItsJournalIsNotSaidToBeEmptyFromTheStart() throws {
        let job = try job(
            Sample.slowDeletes(steps: 20000) + Sample.rows(3000, daysAgo: 90), rule: "batch: { rows: 50 }")
        let program = try RunningProgram(job, "run")
        #expect(job.hasBegunSlowDeletes())
        program.send(SIGKILL)
        _ = program.wait()
        let run = try #require(try job.log().last?.run)
        try FileManager.default.removeItem(atPath: job.path("archive/\(run).sqlite-wal"))
        try refused(job, run, 65, "its run was killed before it deleted a row, or the file ")
    }

    @Test func anUndoWhileARunIsAtWorkWaitsForItsTurn() throws {
        let job = try job(rule: "batch: { rows: 50 }")
        let run = try job.report()
        try job.change(Sample.slowDeletes(steps: 20000) + Sample.rows(3000, daysAgo: 90))
        let program = try RunningProgram(job, "run", "--accept", "rows_came_back")
        #expect(job.hasBegunSlowDeletes())
        let end = try job.retention("undo", run.run)
        #expect(end.status == 75 && end.errors.contains("another run is using this store"), "\(end)")
        program.send(SIGTERM)
        _ = program.wait()
    }
}
