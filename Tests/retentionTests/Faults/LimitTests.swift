import Foundation
@preconcurrency import Glibc
import Testing

/// What the system allows a process runs out: the program ends with an exit code, and what it had to say is said.
struct LimitTests {
    private func job(_ more: String = "", head: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0) + more,
            policy: Sample.policy(
                Sample.rule(),
                head: head + "\nlog: { file: my.log }\npending: [ { files: 'new/*.csv', entity: Price } ]"))
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\nXAUUSD,soon\n", to: "new/a.csv")
        chmod(job.path("new"), 0o755)
        return job
    }

    static let commands = [
        "run", "run --dry-run", "check", "report --html -", "log", "log --verify", "inspect prices.sqlite",
        "init prices.sqlite",
    ]

    /// Statuses of errors; 127 is the loader's, before the program begins.
    private static let errors: Set<Int32> = [0, 65, 66, 73, 74, 75, 127]

    @Test(arguments: commands) func tooFewOpenFilesAreAnError(_ command: String) throws {
        let job = try job()
        // What is tried at the start is the same for all commands; only a run opens nearly as much as is tried.
        for limit in command == "run" ? Array(3...40) : [3, 4, 5, 6, 9, 20, 27, 28, 32] {
            let line = "ulimit -n \(limit) || exit 127; exec retention \(command)"
            let end = try LaunchedProgram.shell(line, in: job.folder.url)
            #expect(Self.errors.contains(end.status), "\(limit): \(end)")
            #expect(limit < 9 || end.status != 127, "\(limit): \(end)")
            #expect(limit > 25 || end.status == 127 || end.status == 74 && end.errors.contains("ulimit"), "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price WHERE at > unixepoch() - 5 * 86400") >= 3)
    }

    @Test func openFilesOfTheParentProcessCountToo() throws {
        let job = try job()
        let held = (3...9).map { "exec \($0)</dev/null; " }.joined()
        let end = try LaunchedProgram.shell("ulimit -n 30; \(held) exec retention run", in: job.folder.url)
        #expect(end.status == 74 && end.errors.contains("ulimit"), "\(end)")
    }

    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
    func aClosedStreamIsNoFileOfTheJob(_ closed: String) throws {
        let job = try job()
        for _ in 1...2 { _ = try LaunchedProgram.shell("exec retention run \(closed)", in: job.folder.url) }
        #expect(try job.text("prices.sqlite.retention-lock").isEmpty)
        #expect(try job.text("my.log").split(separator: "\n").allSatisfy { $0.hasPrefix("2") })
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
        #expect(try job.retention("check").status == 0)
    }

    @Test(arguments: [0, 8, 64, 256])
    func aLargestFileSizeIsAnErrorAndLosesNothing(_ limit: Int) throws {
        let job = try job(Sample.rows(40000, daysAgo: 50), head: "ledger: none")
        // A run that fails may leave a journal, which a command that only reads cannot play back.
        for (arguments, statuses) in [
            ("report --html page.html", [limit > 8 ? 0 : 73]), ("check", limit > 0 ? [0] : [0, 74]),
            ("run", limit > 64 ? [65, 74] : [74]), ("run --format json", limit > 64 ? [0, 65, 74] : [74]),
        ] as [(String, [Int32])] {
            let line = "ulimit -f \(limit); exec retention \(arguments)"
            let end = try LaunchedProgram.shell(line, in: job.folder.url)
            #expect(statuses.contains(end.status), "\(arguments) \(end)")
        }
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
        #expect(try job.number("SELECT count(*) FROM Price WHERE at > unixepoch() - 5 * 86400") >= 3)
        #expect(try [0, 65].contains(job.retention("run").status))
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }
}
