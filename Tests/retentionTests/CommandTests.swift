import Foundation
@preconcurrency import Glibc
import Testing

/// What each command prints, and the exit codes of wrong usage.
struct CommandTests {
    /// Ten old and three new gold prices.
    private func job(head: String = "", keys: String = "") throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule(keys), head: head))
    }

    private func rowCount(_ job: LaunchedJob) throws -> Int { try job.number("SELECT count(*) FROM Price") }

    private func json(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func theDryRunReportsAndChangesNothingThenTheRunDoesIt() throws {
        let job = try job()
        let before = try Data(contentsOf: URL(filePath: job.path("prices.sqlite")))
        let dry = try job.retention("run", "--dry-run")
        #expect(dry.status == 0)
        #expect(dry.output.hasPrefix("dry run · prices.sqlite · as of "))
        #expect(dry.output.hasSuffix("Nothing was changed. A run would delete 10 rows.\n"))
        #expect(try Data(contentsOf: URL(filePath: job.path("prices.sqlite"))) == before)
        #expect(try job.listing() == ["prices.sqlite", "retention.yaml"])

        let run = try job.retention("run", "--format", "json")
        #expect(run.status == 0)
        let report = try json(run.output)
        #expect(
            (report["totals"] as? [String: Int]) == [
                "expired": 10, "deleted": 10, "residue": 0, "cascaded": 0, "archived": 0, "nullified": 0,
                "trigger_deleted": 0,
            ])
        #expect(run.errors.contains("info rule finished rule=gold entity=Price"))
        #expect(try rowCount(job) == 3)

        let again = try json(try job.retention("run", "--format", "json").output)
        #expect((again["totals"] as? [String: Int])?["deleted"] == 0)
    }

    @Test func quietPrintsNothingWhenAllWentWellAndTheReportWhenNot() throws {
        let job = try job()
        let good = try job.retention("run", "--quiet")
        #expect(good.status == 0 && good.output.isEmpty && good.errors.isEmpty)
        let refused = try self.job(keys: "limits: { max_rows: 5 }")
        let bad = try refused.retention("run", "--quiet")
        #expect(bad.status == 65 && bad.output.contains("too_many_rows") && bad.errors.contains("warning"))
        #expect(!bad.errors.contains(" info "))
        #expect(try rowCount(refused) == 13)
        #expect(try refused.retention("run", "--accept", "too_many_rows").status == 0)
        #expect(try rowCount(refused) == 3)
    }

    @Test func logFileTakesTheLogAndStandardErrorOnlyTrouble() throws {
        let job = try job(head: "log: { file: job.log, format: json }")
        #expect(try job.retention("run", "--dry-run").status == 0)
        #expect(!FileManager.default.fileExists(atPath: job.path("job.log")))
        #expect(try job.retention("run").errors.isEmpty)
        let lines = try job.text("job.log").split(separator: "\n")
        let finished = try lines.map { try json(String($0)) }.filter { $0["message"] as? String == "rule finished" }
        #expect(finished.count == 1 && finished.first?["deleted"] as? Int == 10)
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
        Usage(arguments: ["log", "--missed", "--verify"], says: "are mutually exclusive"),
        Usage(arguments: ["log", "--outcome", "refusd"], says: "did you mean 'refused'?"),
        Usage(arguments: ["log", "--last", "0"], says: "must be greater than zero"),
    ])
    func wrongUsageExits64AndTouchesNothing(_ usage: Usage) throws {
        let job = try job()
        let result = try job.perform(usage.arguments)
        #expect(result.status == 64, "\(result)")
        #expect(result.errors.contains(usage.says), "\(result.errors)")
        #expect(result.output.isEmpty)
        #expect(try rowCount(job) == 13)
    }

    @Test func whatIsNotThereExits66() throws {
        let job = try job()
        #expect(try job.retention("run", "-c", "no.yaml").status == 66)
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        for arguments in [["run"], ["run", "--dry-run"], ["check"]] {
            let result = try job.perform(arguments)
            #expect(result.status == 66 && result.errors.contains("not found"), "\(arguments): \(result)")
        }
        #expect(try job.retention("check", "--offline").status == 0)
    }

    @Test func aWrongPolicyExits78WithEveryMistake() throws {
        let job = try job(keys: "max_agee: 3d, wher: {}")
        let check = try job.retention("check")
        #expect(check.status == 78 && check.output.contains("max_agee") && check.output.contains("wher"))
        #expect(check.output.hasSuffix("2 errors\n") && check.errors.isEmpty)
        let run = try job.retention("run")
        #expect(run.status == 78 && run.errors.contains("max_agee") && run.output.isEmpty)
        let misnamed = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule(entity: "Prices")))
        #expect(try misnamed.retention("check").output.contains("did you mean 'Price'?"))
        #expect(try misnamed.retention("run").status == 78 && misnamed.retention("run", "--dry-run").status == 78)
    }

    @Test func aSecondRunExits75AndNamesTheFirst() throws {
        let job = try job()
        let lock = job.path("prices.sqlite.retention-lock")
        let descriptor = open(lock, O_RDWR | O_CREAT, 0o640)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect("4711\n".withCString { Glibc.write(descriptor, $0, 5) } == 5)
        let result = try job.retention("run")
        #expect(result.status == 75 && result.errors.contains("4711"))
        #expect(try job.retention("run", "--dry-run").status == 0)
        #expect(try rowCount(job) == 13)
    }

    @Test func logShowsRunsNewestLast() throws {
        let job = try job()
        #expect(try job.retention("log").output == "No recorded run matches.\n")
        for _ in 1...2 { _ = try job.retention("run") }
        let table = try job.retention("log").output.split(separator: "\n")
        let deleted = table.dropFirst().prefix(2).map { $0.split(separator: " ").last }
        #expect(deleted == ["10", "0"])
        let runs = try #require(
            try json(try job.retention("log", "--format", "json").output)["runs"] as? [[String: Any]])
        let identifier = try #require(runs.last?["run"] as? String)
        #expect(runs.count == 2 && runs.last?["outcome"] as? String == "completed")
        let full = try job.retention("log", "--run", identifier)
        #expect(full.status == 0 && full.output.contains("run       \(identifier)\n"))
        #expect(try job.retention("log", "--run", "ZZZ").status == 66)
    }

    @Test func verbosePrintsStatementsWithTheirPlans() throws {
        let job = try job()
        let result = try job.retention("run", "--verbose")
        #expect(result.status == 0 && result.errors.contains("statement: ") && result.errors.contains("plan: "))
        #expect(result.errors.contains("Price_at"))
    }

    @Test func helpGoesToStandardOutput() throws {
        let job = try job()
        for arguments in [["--help"], ["run", "--help"], ["check", "--help"], ["log", "--help"], ["--version"]] {
            let result = try job.perform(arguments)
            #expect(result.status == 0 && !result.output.isEmpty && result.errors.isEmpty, "\(arguments)")
        }
    }
}
