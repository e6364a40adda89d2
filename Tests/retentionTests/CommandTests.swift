import Foundation
@preconcurrency import Glibc
import GRDB
import Testing

/// The launched program, in a folder of its own.
final class Launch {
    let folder: URL

    /// Makes a folder with a store of `expired` old and 3 new gold prices and a policy file.
    init(expired: Int = 10, policy: String? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("retention-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let now = Int64(Date().timeIntervalSince1970)
        try DatabaseQueue(path: path("prices.sqlite")).write { db in
            try db.execute(sql: "CREATE TABLE Price(id INTEGER PRIMARY KEY, price REAL, at INTEGER)")
            try db.execute(sql: "CREATE INDEX ix_at ON Price(at)")
            for index in 0..<expired + 3 {
                let at = index < expired ? now - 100 * 86_400 + Int64(index) : now - Int64(index)
                try db.execute(sql: "INSERT INTO Price(price, at) VALUES (1.5, ?)", arguments: [at])
            }
        }
        try write("retention.yaml", policy ?? Self.policy())
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    static func policy(head: String = "", rule: String = "") -> String {
        """
        version: 1
        store: prices.sqlite
        \(head)
        rules:
          - name: gold
            entity: Price
            date_attribute: at
            date_format: unix_seconds
            max_age: 30d
            \(rule)
        """
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path(name))
    }

    func rowCount() throws -> Int {
        try DatabaseQueue(path: path("prices.sqlite")).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM Price") ?? -1
        }
    }

    struct Result {
        var status: Int32
        var out: String
        var err: String
    }

    func callAsFunction(_ arguments: String...) throws -> Result { try launch(arguments) }

    func launch(_ arguments: [String]) throws -> Result {
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("retention")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        // Into files: a pipe that nobody reads yet would stop a program that prints much.
        let (out, err) = (path("stdout-\(UUID().uuidString)"), path("stderr-\(UUID().uuidString)"))
        for file in [out, err] { try Data().write(to: URL(fileURLWithPath: file)) }
        process.standardOutput = FileHandle(forWritingAtPath: out)
        process.standardError = FileHandle(forWritingAtPath: err)
        try process.run()
        process.waitUntilExit()
        defer { for file in [out, err] { try? FileManager.default.removeItem(atPath: file) } }
        return Result(
            status: process.terminationStatus, out: try String(contentsOfFile: out, encoding: .utf8),
            err: try String(contentsOfFile: err, encoding: .utf8))
    }
}

struct CommandTests {
    private func json(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func dryRunTellsAndChangesNothingThenTheRunDoesIt() throws {
        let retention = try Launch()
        let before = try Data(contentsOf: URL(fileURLWithPath: retention.path("prices.sqlite")))
        let dry = try retention("run", "--dry-run")
        #expect(dry.status == 0)
        #expect(dry.out.hasPrefix("dry run · prices.sqlite · as of "))
        #expect(dry.out.hasSuffix("Nothing was changed. A run would delete 10 rows.\n"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: retention.path("prices.sqlite"))) == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: retention.folder.path).sorted()
                == ["prices.sqlite", "retention.yaml"])

        let run = try retention("run", "--format", "json")
        #expect(run.status == 0)
        let report = try json(run.out)
        #expect(
            (report["totals"] as? [String: Int]) == [
                "expired": 10, "deleted": 10, "residue": 0, "cascaded": 0, "deleted_by_triggers": 0,
            ])
        #expect(run.err.contains("info rule finished rule=gold entity=Price"))
        #expect(try retention.rowCount() == 3)

        let again = try json(try retention("run", "--format", "json").out)
        #expect((again["totals"] as? [String: Int])?["deleted"] == 0)
    }

    @Test func quietPrintsNothingWhenAllWentWellAndTheReportWhenNot() throws {
        let retention = try Launch()
        let good = try retention("run", "--quiet")
        #expect(good.status == 0 && good.out.isEmpty && good.err.isEmpty)
        let refused = try Launch(policy: Launch.policy(rule: "limits: { max_rows: 5 }"))
        let bad = try refused("run", "--quiet")
        #expect(bad.status == 65 && bad.out.contains("too_many_rows") && bad.err.contains("warning"))
        #expect(!bad.err.contains(" info "))
        #expect(try refused.rowCount() == 13)
        #expect(try refused("run", "--accept", "too_many_rows").status == 0)
        #expect(try refused.rowCount() == 3)
    }

    @Test func logFileTakesTheLogAndStandardErrorOnlyTrouble() throws {
        let retention = try Launch(policy: Launch.policy(head: "log: { file: job.log, format: json }"))
        #expect(try retention("run", "--dry-run").status == 0)
        #expect(!FileManager.default.fileExists(atPath: retention.path("job.log")))
        #expect(try retention("run").err.isEmpty)
        let lines = try String(contentsOfFile: retention.path("job.log"), encoding: .utf8).split(separator: "\n")
        let finished = try lines.map { try json(String($0)) }.filter { $0["message"] as? String == "rule finished" }
        #expect(finished.count == 1 && finished.first?["deleted"] as? Int == 10)
        let blocked = try Launch(policy: Launch.policy(head: "log: { file: no/such/folder/job.log }"))
        let result = try blocked("run")
        #expect(result.status == 73 && result.err.contains("log file") && result.out.isEmpty)
        #expect(try blocked.rowCount() == 13)
    }

    struct Usage {
        var arguments: [String]
        var says: String
    }

    @Test(arguments: [
        Usage(arguments: ["prune"], says: "prune"),
        Usage(arguments: ["run", "--no-such-flag"], says: "no-such-flag"),
        Usage(arguments: ["run", "--rule", "glod"], says: "did you mean 'gold'?"),
        Usage(arguments: ["run", "--accept", "future_date"], says: "did you mean 'future_dates'?"),
        Usage(arguments: ["run", "--strategy", "range"], says: "--strategy"),
        Usage(arguments: ["run", "--as-of", "yesterday"], says: "ISO 8601"),
        Usage(arguments: ["run", "--as-of", "2999-01-01"], says: "later than the clock"),
        Usage(arguments: ["run", "--max-runtime", "10m"], says: "--max-runtime"),
        Usage(arguments: ["log", "--follow", "--verify"], says: "are mutually exclusive"),
        Usage(arguments: ["log", "--outcome", "refusd"], says: "did you mean 'refused'?"),
        Usage(arguments: ["log", "--last", "0"], says: "must be greater than zero"),
    ])
    func wrongUsageExits64AndTouchesNothing(_ usage: Usage) throws {
        let retention = try Launch()
        let result = try retention.launch(usage.arguments)
        #expect(result.status == 64, "\(result)")
        #expect(result.err.contains(usage.says), "\(result.err)")
        #expect(result.out.isEmpty)
        #expect(try retention.rowCount() == 13)
    }

    @Test func whatIsNotThereExits66() throws {
        let retention = try Launch()
        #expect(try retention("run", "-c", "no.yaml").status == 66)
        try FileManager.default.removeItem(atPath: retention.path("prices.sqlite"))
        for arguments in [["run"], ["run", "--dry-run"], ["check"]] {
            let result = try retention.launch(arguments)
            #expect(result.status == 66 && result.err.contains("not found"), "\(arguments): \(result)")
        }
        #expect(try retention("check", "--offline").status == 0)
    }

    @Test func aWrongPolicyExits78WithEveryMistake() throws {
        let retention = try Launch(policy: Launch.policy(rule: "max_agee: 3d\n    wher: {}"))
        let check = try retention("check")
        #expect(check.status == 78 && check.out.contains("max_agee") && check.out.contains("wher"))
        #expect(check.out.hasSuffix("2 errors\n") && check.err.isEmpty)
        let run = try retention("run")
        #expect(run.status == 78 && run.err.contains("max_agee") && run.out.isEmpty)
        let misnamed = try Launch(policy: Launch.policy().replacing("entity: Price", with: "entity: Prices"))
        #expect(try misnamed("check").out.contains("did you mean 'Price'?"))
        #expect(try misnamed("run").status == 78 && misnamed("run", "--dry-run").status == 78)
        #expect(try misnamed.rowCount() == 13)
    }

    @Test func whatIsNoDatabaseExits74() throws {
        let retention = try Launch()
        try retention.write("prices.sqlite", String(repeating: "this is no database ", count: 100))
        #expect(try retention("run").status == 74 && retention("run", "--dry-run").status == 74)
    }

    @Test func aLedgerThatCannotBeMadeExits73() throws {
        let retention = try Launch(policy: Launch.policy(head: "ledger: no/such/folder/h.sqlite"))
        let result = try retention("run")
        #expect(result.status == 73, "\(result)")
        #expect(try retention.rowCount() == 13)
    }

    @Test func aSecondRunExits75AndNamesTheFirst() throws {
        let retention = try Launch()
        let lock = retention.path("prices.sqlite.retention-lock")
        let descriptor = open(lock, O_RDWR | O_CREAT, 0o640)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect("4711\n".withCString { Glibc.write(descriptor, $0, 5) } == 5)
        let result = try retention("run")
        #expect(result.status == 75 && result.err.contains("4711"))
        #expect(try retention("run", "--dry-run").status == 0)
        #expect(try retention.rowCount() == 13)
    }

    @Test(.enabled(if: geteuid() == 0, "only root is asked to be careful"))
    func rootDoesNotRunAPolicyThatOthersMayWrite() throws {
        let retention = try Launch()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o666], ofItemAtPath: retention.path("retention.yaml"))
        let result = try retention("run")
        #expect(result.status == 77 && result.err.contains("--allow-insecure"))
        #expect(try retention("run", "--dry-run", "--allow-insecure").status == 0)
    }

    @Test func logShowsRunsNewestLast() throws {
        let retention = try Launch()
        #expect(try retention("log").out == "No recorded run matches.\n")
        for _ in 1...2 { _ = try retention("run") }
        let table = try retention("log").out.split(separator: "\n")
        let deleted = table.dropFirst().prefix(2).map { $0.split(separator: " ").last }
        #expect(deleted == ["10", "0"])
        let runs = try #require(try json(try retention("log", "--format", "json").out)["runs"] as? [[String: Any]])
        let identifier = try #require(runs.last?["run"] as? String)
        #expect(runs.count == 2 && runs.last?["outcome"] as? String == "completed")
        let full = try retention("log", "--run", identifier)
        #expect(full.status == 0 && full.out.contains("run       \(identifier)\n"))
        #expect(try retention("log", "--run", "ZZZ").status == 66)
    }

    @Test func verbosePrintsStatementsWithTheirPlans() throws {
        let retention = try Launch()
        let result = try retention("run", "--verbose")
        #expect(result.status == 0 && result.err.contains("statement: ") && result.err.contains("plan: "))
        #expect(result.err.contains("ix_at"))
    }

    @Test func helpGoesToStandardOutput() throws {
        let retention = try Launch()
        for arguments in [["--help"], ["run", "--help"], ["check", "--help"], ["log", "--help"], ["--version"]] {
            let result = try retention.launch(arguments)
            #expect(result.status == 0 && !result.out.isEmpty && result.err.isEmpty, "\(arguments)")
        }
    }
}
