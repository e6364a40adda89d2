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

    /// The commands with their own statuses: of the first time with enough open files, and of the times after it.
    static let commands: [(String, Int32, Int32)] = [
        ("run", 65, 0), ("run --dry-run", 65, 65), ("check", 0, 0), ("report --html -", 0, 0), ("log", 0, 0),
        ("log --verify", 66, 66), ("inspect prices.sqlite", 0, 0), ("init prices.sqlite", 0, 0),
    ]

    @Test(arguments: commands) func tooFewOpenFilesAreAnError(_ command: String, first: Int32, next: Int32) throws {
        let job = try job()
        var hasWorked = false
        // What is tried at the start is the same for all commands; only a run opens nearly as much as is tried.
        for limit in command == "run" ? Array(3...40) : [3, 4, 5, 6, 9, 20, 27, 28, 32] {
            let line = "ulimit -n \(limit) || exit 127; exec retention \(command)"
            let end = try LaunchedProgram.shell(line, in: job.folder.url)
            // 127 is the loader's, before the program begins.
            if limit < 9, end.status == 127 { continue }
            if limit <= 25 || end.status == 74 {
                #expect(end.status == 74 && end.errors.contains("ulimit") && !hasWorked, "\(limit): \(end)")
            } else {
                #expect(end.status == (hasWorked ? next : first), "\(limit): \(end)")
                hasWorked = true
            }
        }
        #expect(hasWorked)
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
        // With pending files, what a dry run counts is in a copy of the store, which is larger than every limit here.
        let page = "ulimit -f \(limit); retention report --html page.html"
        #expect(try LaunchedProgram.shell(page, in: job.folder.url).status == 65)
        let aside = try LaunchedProgram.shell(
            "mv new/a.csv aside; (\(page)); s=$?; mv aside new/a.csv; exit $s", in: job.folder.url)
        #expect(aside.status == (limit > 8 ? 0 : 73), "\(aside)")
        // A run that fails may leave a journal, which a command that only reads cannot play back.
        for (arguments, status) in [("check", limit > 0 ? 0 : 74), ("run", 74), ("run --format json", 74)] {
            let line = "ulimit -f \(limit); exec retention \(arguments)"
            let end = try LaunchedProgram.shell(line, in: job.folder.url)
            #expect(Int(end.status) == status, "\(arguments) \(end)")
        }
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
        #expect(try job.number("SELECT count(*) FROM Price WHERE at > unixepoch() - 5 * 86400") >= 3)
        #expect(try job.retention("run").status == 65)
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }
}
