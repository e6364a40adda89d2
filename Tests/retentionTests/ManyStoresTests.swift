import Foundation
import GRDB
@preconcurrency import Glibc
import Testing

/// A policy with a pattern of files.
@Suite struct ManyStoresTests {
    static let policy = """
        version: 1
        store: { files: "data/**/*.sqlite", except: ["data/test*"], busy_timeout: 100ms }
        rules:
          - { name: prices, entity: Price, date_attribute: at, date_format: unix_seconds, max_age: 30d, missing: MISSING }
        """

    /// A folder with stores of ten expired rows and one other; each path is below `data`.
    func job(_ stores: [String], skips: Bool = false) throws -> LaunchedJob {
        let text = Self.policy.replacing(skips ? "MISSING" : ", missing: MISSING", with: skips ? "skip" : "")
        let job = try LaunchedJob("CREATE TABLE other(i)", policy: text + "\n")
        for store in stores { try add(store, to: job) }
        return job
    }

    func add(_ store: String, to job: LaunchedJob) throws {
        let folder = URL(filePath: job.path("data/\(store)")).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try job.change(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(1, daysAgo: 0), in: "data/\(store)")
    }

    func count(_ store: String, _ job: LaunchedJob) throws -> Int {
        try job.number("SELECT count(*) FROM Price", in: "data/\(store)")
    }

    @Test func eachFileIsAStoreWithItsRecord() throws {
        let job = try job(["a.sqlite", "y/2024/b.sqlite", "test.sqlite", ".hidden.sqlite"])
        // Other names of a file, a link to a folder, and files that are no stores.
        symlink(job.path("data/a.sqlite"), job.path("data/z.sqlite"))
        symlink(job.path("data/y"), job.path("data/linked"))
        try job.folder.write("", to: "data/empty.sqlite")
        let dry = try job.retention("run", "--dry-run")
        #expect(
            dry.status == 0
                && dry.output.contains("2 stores of data/**/*.sqlite: 2 completed; a run would delete 20 rows."),
            "\(dry)"
        )
        #expect(dry.output.hasPrefix("data/a.sqlite: 10 rows\ndata/y/2024/b.sqlite: 10 rows\nThis would be"), "\(dry)")
        let run = try job.retention("run")
        #expect(run.status == 0)
        #expect(
            run.output.contains("2 stores of data/**/*.sqlite: 2 completed; deleted 20 rows; no expired row is left."),
            "\(run)")
        for (store, left) in [("a.sqlite", 1), ("y/2024/b.sqlite", 1), ("test.sqlite", 11), (".hidden.sqlite", 11)] {
            #expect(try count(store, job) == left, "\(store)")
        }
        #expect(try job.listing().contains("retention.ledger.sqlite"))
        #expect(try job.listing().filter { $0.hasSuffix("ledger.sqlite") }.count == 1)
        // The ledger knows all runs.
        #expect(try job.log().map { $0.store.hasSuffix("data/a.sqlite") } == [true, false])
        let last = try job.retention("log", "--run", "last", "--store", "data/a.sqlite")
        #expect(last.status == 0 && last.output.contains("data/a.sqlite"), "\(last)")
        #expect(try job.retention("log", "--missed").status == 64)
        // The next night, with a new store.
        try add("c.sqlite", to: job)
        let next = try job.retention("run", "--format", "json")
        #expect(next.status == 0)
        let reports = try #require(try JSONSerialization.jsonObject(with: Data(next.output.utf8)) as? [[String: Any]])
        #expect(
            reports.compactMap { $0["store"] as? String } == ["data/a.sqlite", "data/c.sqlite", "data/y/2024/b.sqlite"])
        #expect(try count("c.sqlite", job) == 1)
    }

    @Test func oneThatIsDamagedLockedOrLacksTheTableDoesNotStopTheOthers() throws {
        let job = try job((1...6).map { "\($0).sqlite" })
        try job.change("DROP TABLE Price", in: "data/2.sqlite")
        try job.folder.write(String(repeating: "no database ", count: 100), to: "data/3.sqlite")
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: job.path("data/4.sqlite"), configuration: configuration)
        try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        // In a process of its own: locks hold between processes.
        let run = try job.launch(["run"])
        try other.close()
        #expect(run.status == 78, "\(run)")
        for part in ["Price", "data/3.sqlite", "data/4.sqlite", "deleted 30 rows"] {
            #expect(run.output.contains(part), "\(part): \(run.output)")
        }
        #expect(!run.output.contains("warning"), "\(run.output)")
        for store in ["1.sqlite", "5.sqlite", "6.sqlite"] { #expect(try count(store, job) == 1) }
        let check = try job.retention("check")
        #expect(check.status == 78)
        #expect(check.output.contains("6 stores of 'data/**/*.sqlite', of which 2 do not fit"), "\(check)")
    }

    /// The next run does the work of a locked store, but not that of a damaged one.
    @Test func aLockedStoreDoesNotHideADamagedOne() throws {
        let job = try job(["1.sqlite", "2.sqlite"])
        #expect(try job.retention("run").status == 0)
        try job.folder.write(String(repeating: "no database ", count: 100), to: "data/1.sqlite")
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: job.path("data/2.sqlite"), configuration: configuration)
        try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let (text, json) = try (job.launch(["run"]), job.launch(["run", "--format", "json"]))
        try other.close()
        #expect(text.status == 74 && text.output.contains("2 failed; deleted no rows (exit 74)."), "\(text)")
        // Each has the ID of its record.
        let reports = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
        #expect(try job.log().suffix(2).map(\.run) == reports.compactMap { $0["run"] as? String }, "\(json)")
    }

    @Test func aTableThatIsMissingIsLeftOutOnRequest() throws {
        let job = try job(["1.sqlite", "2.sqlite"], skips: true)
        try job.change("DROP TABLE Price", in: "data/2.sqlite")
        let run = try job.retention("run")
        #expect(run.status == 0 && run.output.contains("2 completed; deleted 10 rows"), "\(run)")
    }

    @Test func oneStoreIsNamed() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        #expect(try job.retention("run", "--store", "data/a.sqlite").status == 0)
        #expect(try count("a.sqlite", job) == 1)
        #expect(try count("b.sqlite", job) == 11)
        #expect(try job.retention("run", "--store", "prices.sqlite").status == 66)
        #expect(try job.retention("run", "--dry-run", "--save-plan", "plan.json").status == 64)
    }

    @Test func theStoreOfARunIsFoundForItsUndo() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        try job.makeFolder("archive")
        try job.folder.write(try job.text("retention.yaml") + "archive: { folder: archive }\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        let run = try #require(try job.log().last)
        #expect(run.store.hasSuffix("/data/b.sqlite"))
        #expect(try job.retention("undo", run.run).status == 0)
        #expect(try count("a.sqlite", job) == 1)
        #expect(try count("b.sqlite", job) == 11)
        let last = try job.retention("undo", "last")
        #expect(last.status == 64 && last.errors.contains("matches 2 stores"), "\(last)")
        let log = try job.retention("log").output
        #expect(log.contains("STORE") && log.contains("  data/a.sqlite  "), "\(log)")
        // The next night its rows are not deleted again.
        let next = try job.retention("run")
        #expect(next.status == 65 && next.output.contains("restored_rows"), "\(next)")
        #expect(try count("b.sqlite", job) == 11)
    }

    /// A killed undo may leave a change of the ledger half done, and only a writer can roll it back.
    @Test func anUndoFindsItsRunBesideAHotJournal() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        try job.makeFolder("archive")
        try job.folder.write(try job.text("retention.yaml") + "archive: { folder: archive }\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        let run = try #require(try job.log().last?.run)
        let crash = """
            import os, sqlite3
            c = sqlite3.connect("retention.ledger.sqlite", isolation_level=None)
            c.execute("PRAGMA cache_size = 1")
            c.execute("BEGIN")
            c.execute("CREATE TABLE t(x)")
            for _ in range(500): c.execute("INSERT INTO t VALUES (randomblob(500))")
            os._exit(1)
            """
        try job.folder.write(crash, to: "crash.py")
        _ = try LaunchedProgram.shell("python3 crash.py", in: job.folder.url)
        try #require(job.listing().contains("retention.ledger.sqlite-journal"), "no journal was left")
        #expect(try job.retention("undo", run, "--dry-run").status == 77)
        let undo = try job.retention("undo", run)
        #expect(undo.status == 0, "\(undo)")
        #expect(try count("b.sqlite", job) == 11)
    }

    @Test func noMatchIsAWarningAndForCheckAnError() throws {
        let job = try job([])
        let run = try job.retention("run", "--quiet")
        #expect(run.status == 66 && run.errors.contains("no file matches 'data/**/*.sqlite'"), "\(run)")
        #expect(try job.retention("check").status == 78)
    }

    @Test(arguments: [
        "data/keep*", "./data/keep.sqlite", "FOLDER/data/keep.sqlite", "data//keep.sqlite", "data/**/keep.sqlite",
        "*keep.sqlite",
        "data/sub", "data/sub/",
    ])
    func exceptedFilesStayHoweverTheyAreNamed(_ except: String) throws {
        let kept = except.contains("sub") ? "sub/keep.sqlite" : "keep.sqlite"
        let job = try job(["a.sqlite", kept])
        for (files, name) in [("data/**/*.sqlite", "own"), ("FOLDER/data/**/*.sqlite", "linked")] {
            let text =
                "version: 1\nstore: { files: \"\(files)\", except: [\"\(except)\"] }\nrules:\n"
                + "  - { name: prices, entity: Price, date_attribute: at, date_format: unix_seconds, max_age: 30d }\n"
            try job.folder.write(text.replacing("FOLDER", with: job.folder.url.path), to: "\(name).yaml")
            let link = job.path("../\(UUID().uuidString)")
            symlink(job.folder.url.path, link)
            defer { unlink(link) }
            let path = name == "own" ? "\(name).yaml" : "\(link)/\(name).yaml"
            #expect(try job.retention("run", "-c", path).status == 0)
            #expect(try count(kept, job) == 11, "\(files)")
        }
        #expect(try count("a.sqlite", job) == 1)
    }

    @Test func anExceptionThatMatchesNothingIsTold() throws {
        let job = try job(["a.sqlite"])
        let run = try job.retention("run")
        #expect(run.status == 0 && run.errors.contains("no file matches 'data/test*' of 'except'"), "\(run)")
    }

    @Test func aLedgerThatIsLeftBehindIsNamed() throws {
        let job = try job(["a.sqlite"])
        #expect(try job.retention("run").status == 0)
        let one = try job.text("retention.yaml").replacing(/store: .*/, with: "store: data/a.sqlite")
        try job.folder.write(one, to: "one.yaml")
        try job.folder.write(try job.text("retention.yaml") + "ledger: none\n", to: "none.yaml")
        for name in ["one", "none"] {
            let run = try job.retention("run", "-c", "\(name).yaml")
            #expect(run.status == 78 && (run.output + run.errors).contains("has runs of the store"), "\(run)")
        }
    }

    @Test func aMissedNightIsThatOfAllStoresAndOfEach() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        try job.folder.write(try job.text("retention.yaml") + "expected_every: 1d\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        let good = try job.retention("log", "--missed")
        #expect(good.status == 0 && good.output == "No run is missing now; one is expected every 1d.\n", "\(good)")
        #expect(try !job.retention("log").output.contains("MISSED"))
        try job.change("UPDATE run SET started_us = started_us - 3 * 86400000000", in: "retention.ledger.sqlite")
        // It waits for its first night.
        try add("c.sqlite", to: job)
        let late = try job.retention("log", "--missed")
        #expect(late.status == 65 && late.output.split(separator: "\n").count == 2, "\(late)")
        for store in ["a", "b"] { #expect(late.output.contains("data/\(store).sqlite: 20"), "\(late)") }
        #expect(late.output.matches(of: /MISSED: the last run began 3 d 00 h ago/).count == 2, "\(late)")
        let json = try job.retention("log", "--missed", "--format", "json").output
        #expect(json.contains("\"store\": \"data/a.sqlite\""), "\(json)")
        let log = try job.retention("log").output
        #expect(log.matches(of: /MISSED +the last run began 3 d 00 h ago/).count == 1, "\(log)")
        #expect(try job.retention("log", "--outcome", "completed").output.contains("MISSED"))
    }

    /// A hold on a table that only some stores have.
    @Test func aHoldIsForTheStoresThatHaveItsTable() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        try job.change("CREATE TABLE Trade(at INTEGER); INSERT INTO Trade VALUES (1)", in: "data/a.sqlite")
        let policy = try job.text("retention.yaml")
        func run(_ more: String) throws -> LaunchedProgram.Ending {
            let hold = "holds: [{ name: audit, entity: Trade, reason: an audit\(more) }]\n"
            try job.folder.write(policy + hold, to: "retention.yaml")
            return try job.retention("run", "--accept", "policy_widened")
        }
        let refused = try run("")
        #expect(refused.status == 65 && refused.output.contains("with missing: skip the hold is"), "\(refused)")
        #expect(try count("b.sqlite", job) > 1)
        let skipped = try run(", missing: skip")
        #expect(skipped.status == 0 && !skipped.output.contains("hold matches nothing"), "\(skipped)")
        #expect(try count("b.sqlite", job) == 1)
    }

    @Test func twoStoresOfOneNameHaveNoPendingFiles() throws {
        let job = try job(["2025/a.sqlite", "2026/a.sqlite", "b.sqlite", "c\\d.sqlite"])
        let policy = try job.text("retention.yaml")
        try job.folder.write(
            policy + "pending:\n  - { files: \"in/{store}/*.csv\", entity: Price }\n", to: "retention.yaml")
        let run = try job.retention("run")
        #expect(run.status == 78 && run.words.contains("2025/a.sqlite and data/2026/a.sqlite are both a"), "\(run)")
        #expect(try ["2025/a", "b", "c\\d"].map { try count($0 + ".sqlite", job) } == [11, 1, 11])
        #expect(run.words.contains("4 stores of data/**/*.sqlite: 1 completed, 3 failed; deleted 10 rows"), "\(run)")
        try job.folder.write(policy + "pending:\n  - { files: \"in/*.csv\", entity: Price }\n", to: "retention.yaml")
        #expect(try job.retention("check").status == 78)
    }

    @Test func manyStoresWithALogFileNeedFewDescriptors() throws {
        let job = try job((1...40).map { "\($0).sqlite" })
        try job.folder.write(try job.text("retention.yaml") + "log: { file: r.log }\n", to: "retention.yaml")
        let run = try LaunchedProgram.shell("ulimit -n 32 && retention run", in: job.folder.url)
        #expect(run.status == 0, "\(run)")
    }

    @Test func pendingFilesHaveTheNameOfTheStore() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        let policy = try job.text("retention.yaml") + "pending:\n  - { files: \"in/{store}/*.csv\", entity: Price }\n"
        try job.folder.write(policy, to: "retention.yaml")
        try FileManager.default.createDirectory(atPath: job.path("in/b"), withIntermediateDirectories: true)
        try job.folder.write("at\n\(Int(Date().timeIntervalSince1970))\n", to: "in/b/1.csv")
        #expect(try job.retention("run").status == 0)
        #expect(try count("a.sqlite", job) == 1)
        #expect(try count("b.sqlite", job) == 2)
    }

    /// Runs that change nothing are recorded together, in the order of the stores.
    @Test func aNightWithoutExpiredRowsIsRecorded() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        #expect(try job.retention("run").status == 0)
        try job.change(Sample.rows(5, daysAgo: 100), in: "data/b.sqlite")
        let night = try job.retention("run", "--format", "json")
        #expect(night.status == 0)
        let reports = try #require(try JSONSerialization.jsonObject(with: Data(night.output.utf8)) as? [[String: Any]])
        let runs = try job.log()
        #expect(
            runs.map { $0.store.suffix(8) } == ["a.sqlite", "b.sqlite", "c.sqlite", "a.sqlite", "b.sqlite", "c.sqlite"])
        #expect(runs.suffix(3).map(\.run) == reports.compactMap { $0["run"] as? String })
        let proof = try job.retention("log", "--verify")
        #expect(proof.status == 0 && proof.output.contains("intact: 6 runs"), "\(proof)")
        // Each hash is in the chain.
        for hash in reports.map({ $0["ledger_hash"] as? String }) {
            #expect(try job.retention("log", "--verify", "--head", #require(hash)).status == 0)
        }
        let other = try job.retention("run", "--store", "data/a.sqlite", "--format", "json")
        #expect(other.status == 0)
        #expect(try job.retention("log", "--verify").output.contains("intact: 7 runs"))
    }

    /// What was deleted before a kill is recorded, and the ledger is whole.
    @Test func aKillLosesNoRecordOfWhatWasDeleted() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite", "d.sqlite"])
        try job.folder.write(
            try job.text("retention.yaml").replacing("100ms", with: "60s"), to: "retention.yaml")
        try job.change("DELETE FROM Price WHERE at < strftime('%s', 'now', '-9 days')", in: "data/a.sqlite")
        try job.change("DELETE FROM Price WHERE at < strftime('%s', 'now', '-9 days')", in: "data/c.sqlite")
        let other = try DatabaseQueue(path: job.path("data/d.sqlite"), configuration: .init())
        let end = try other.inDatabase { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            defer { try? db.execute(sql: "ROLLBACK") }
            return try LaunchedProgram.shell(
                "retention run & p=$!; until grep -qs $p data/d.sqlite.retention-lock; do sleep 0.1; done; sleep 0.5; kill -9 $p",
                in: job.folder.url)
        }
        #expect(end.status == 0, "\(end)")
        #expect(try count("b.sqlite", job) == 1)
        let runs = try job.log()
        #expect(runs.map { $0.store.suffix(8) } == ["a.sqlite", "b.sqlite"])
        #expect(runs.allSatisfy { $0.outcome == "completed" })
        #expect(try job.retention("log", "--verify").status == 0)
        let next = try job.retention("run")
        #expect(next.status == 0 && next.output.contains("4 completed; deleted 10 rows"), "\(next)")
        #expect(try job.retention("log", "--verify").output.contains("intact: 6 runs"))
    }

    @Test func twoRunsAtOnceHaveOneChain() throws {
        let job = try job((1...12).map { "\($0).sqlite" })
        _ = try LaunchedProgram.shell("retention run & retention run & retention run; wait", in: job.folder.url)
        for store in 1...12 { #expect(try count("\(store).sqlite", job) == 1) }
        let proof = try job.retention("log", "--verify")
        #expect(proof.status == 0 && proof.output.contains("intact"), "\(proof)")
        let deleted = try job.number("SELECT sum(deleted) FROM run_rule", in: "retention.ledger.sqlite")
        #expect(deleted == 120)
    }

    @Test func withLittleTimeThoseThatWaitedLongestComeFirst() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        #expect(try job.retention("run", "--store", "data/b.sqlite").status == 0)
        #expect(try job.retention("run", "--store", "data/a.sqlite").status == 0)
        let run = try job.retention("run", "--max-runtime", "1h", "--format", "json")
        let reports = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]])
        #expect(
            reports.compactMap { $0["store"] as? String } == ["data/c.sqlite", "data/b.sqlite", "data/a.sqlite"])
    }

    /// A figure has its series together, with those of all stores.
    @Test func theFiguresHaveTheStoreAsLabel() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        try job.folder.write(
            try job.text("retention.yaml") + "metrics: { textfile: f.prom }\n", to: "retention.yaml")
        try job.change("DROP TABLE Price", in: "data/c.sqlite")
        #expect(try job.retention("run").status == 78)
        let lines = try job.text("f.prom").split(separator: "\n").map(String.init)
        let store = { (name: String) in "store=\"\(job.path("data/\(name).sqlite"))\"" }
        for (name, code) in [("a", 0), ("b", 0), ("c", 78)] {
            #expect(
                lines.contains { $0.hasPrefix("retention_run_exit_code{\(store(name)),") && $0.hasSuffix("} \(code)") })
        }
        #expect(lines.count { $0.hasPrefix("retention_rule_deleted_rows{") && $0.hasSuffix("} 10") } == 2)
        var seen: [Substring] = []
        for line in lines {
            let name = line.hasPrefix("#") ? line.split(separator: " ")[2] : line.prefix { $0 != "{" }
            if line.hasPrefix("# HELP") {
                #expect(!seen.contains(name), "\(name) begins twice")
                seen.append(name)
            }
            #expect(seen.last == name, "\(line)")
        }
        // A run of one store keeps the figures of the others.
        #expect(try job.retention("run", "--store", "data/a.sqlite").status == 0)
        #expect(try job.text("f.prom").split(separator: "\n").map(String.init) == lines)
    }

    @Test func theReviewIsOfAllStores() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        try job.folder.write(String(repeating: "no database ", count: 100), to: "data/b.sqlite")
        let text = try job.retention("report")
        #expect(text.status == 74)
        #expect(text.output.contains("Last run: none is recorded\n"), "\(text)")
        #expect(text.output.contains("Stores: 3, of which 1 is not as it should be, and "), "\(text)")
        let names = text.output.matches(of: /(?m)^data\/.\.sqlite/).map { String($0.output) }
        #expect(names == ["data/b.sqlite", "data/a.sqlite", "data/c.sqlite"])
        #expect(text.output.contains(/(?m)^2 of 3 stores +22 +20/), "\(text)")
        let json = try job.retention("report", "--json")
        let reviews = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
        #expect(reviews.map { $0["error"] != nil } == [true, false, false])
        #expect(try job.retention("report", "--html", "r.html").status == 74)
        let page = try job.text("r.html")
        #expect(page.contains("<h2 id=\"stores\">Stores</h2>") && page.contains("data/b.sqlite"))
        // The ledger knows the run that failed.
        try job.folder.write(try job.text("retention.yaml") + "expected_every: 1d\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 74)
        let after = try job.retention("report").output
        #expect(after.contains(/(?m)^Last run: 20\d\d-/), "\(after)")
        #expect(after.contains("the job did not run\nStores: 3"), "\(after)")
        #expect(after.contains(/(?m)^data\/b\.sqlite( +\?){4} +20\d\d-\d\d-\d\d \d\d:\d\d/), "\(after)")
        // A new store waits for its first run.
        try add("d.sqlite", to: job)
        let new = try job.retention("report").output
        #expect(new.contains("\nStores: 4, of which 1 is not") && !new.contains("MISSED"), "\(new)")
    }

    @Test func withADamagedLedgerTheReviewHasTheStores() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        #expect(try job.retention("run").status == 0)
        try job.folder.write(String(repeating: "no database ", count: 600), to: "retention.ledger.sqlite")
        let end = try job.retention("report")
        #expect(end.status == 74 && end.words.contains("Last run: not known: the ledger cannot be read"), "\(end)")
        #expect(end.output.matches(of: /the ledger cannot be read, so a run now would fail/).count == 1, "\(end)")
        #expect(end.output.contains(/(?m)^data\/a\.sqlite +1 +0\b/), "\(end)")
    }

    @Test func inspectShowsWhatDiffers() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        try job.change("ALTER TABLE Price ADD COLUMN extra; CREATE TABLE Other(i)", in: "data/c.sqlite")
        let all = try job.retention("inspect", "data/*.sqlite")
        #expect(all.status == 0 && all.output.contains("3 stores"), "\(all)")
        #expect(all.output.contains("also Other; Price with extra"), "\(all)")
        #expect(all.output.matches(of: /(?m)^data\/.\.sqlite/).count == 3)
        #expect(try job.retention("inspect", "none/*.sqlite").status == 66)
    }

    @Test func whyFindsTheStoresOfTheRow() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        try job.change("INSERT INTO Price(id, at) VALUES(7777, 0)", in: "data/b.sqlite")
        let why = try job.retention("why", "Price", "id=7777")
        #expect(why.status == 0 && why.output.hasPrefix("data/b.sqlite:\n  prices:"), "\(why)")
        #expect(!why.output.contains("data/a") && !why.output.contains("data/c"))
        #expect(try job.retention("why", "Price", "id=9999").status == 66)
    }
}
