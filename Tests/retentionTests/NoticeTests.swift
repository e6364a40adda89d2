import Foundation
import RetentionJob
import TestSupport
import Testing

@testable import retention

/// Figures and commands of a run beside a signal and other programs. The rest is in the cases `figures-of-runs`, `notices-of-runs`,
/// `commands-of-the-policy` and `run-beside-another-at-work`.
struct NoticeTests {
    private func job(_ head: String) throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 40) + Sample.rows(5, daysAgo: 1),
            policy: Sample.policy(Sample.rule(), head: head))
    }

    // MARK: Metrics

    private func figure(_ name: String, of job: LaunchedJob) throws -> String? {
        try job.text("retention.prom").split(separator: "\n").first { $0.hasPrefix("retention_run_\(name){") }?
            .split(separator: " ").last.map(String.init)
    }

    /// It takes longer than the 15 seconds after which the file is written again.
    @Test func aLongRunShowsHowFarItIs() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(500, daysAgo: 40) + Sample.rows(5, daysAgo: 1),
            policy: Sample.policy(
                Sample.rule("batch: { rows: 1, pause: 1s }"), head: "metrics: { textfile: retention.prom }"))
        let run = try RunningProgram(job, "run")
        defer {
            run.send(SIGKILL)
            _ = run.wait()
        }
        let isShown = (0..<4).contains { _ in eventually { (try? figure("in_progress", of: job)) == "1" } }
        try #require(isShown)
        let text = try job.text("retention.prom")
        let figures = text.matches(of: #/retention_rule_(?:deleted|residue)_rows\{[^}]*\} (\d+)/#)
        let counts = figures.compactMap { Int($0.1) }
        #expect(counts.count == 2 && counts.reduce(0, +) == 500 && !counts.contains(0), "\(text)")
    }

    private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Debian has it in the package `prometheus`.
    @Test(.enabled(if: promtool != nil, "promtool is not installed"), arguments: ["Price", "a\"b\\c\nd é"])
    func promtoolFindsNothingWrong(entity: String) throws {
        let table = "\"" + entity.replacing("\"", with: "\"\"") + "\""
        let quoted = try #require(String(data: JSONEncoder().encode(entity), encoding: .utf8))
        let job = try LaunchedJob(
            "CREATE TABLE \(table)(at INTEGER); INSERT INTO \(table) VALUES (unixepoch()), (unixepoch() - 4000000)",
            policy: Sample.policy(Sample.rule(entity: quoted), head: "metrics: { textfile: retention.prom }"))
        #expect(try job.retention("run").status == 0)
        let text = try job.text("retention.prom")
        let end = try LaunchedProgram.shell(
            "\(try #require(Self.promtool)) check metrics < retention.prom", in: job.folder.url)
        #expect(
            end.status == 0 && end.output.isEmpty && end.errors.isEmpty, "\(end)\n\(text)")
    }

    /// The alert rules of docs/operations.md.
    @Test(.enabled(if: promtool != nil, "promtool is not installed"))
    func theAlertRulesAreValidAndNameFiguresThatThereAre() throws {
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/operations.md"), encoding: .utf8)
        let rules = try #require(CodeBlock.blocks(of: page).first { $0.text.hasPrefix("groups:") }).text
        let job = try job("metrics: { textfile: retention.prom }\nexpected_every: 1d")
        try job.folder.write(rules, to: "rules.yml")
        let end = try LaunchedProgram.shell("\(try #require(Self.promtool)) check rules rules.yml", in: job.folder.url)
        #expect(end.status == 0, "\(end)")
        #expect(try job.retention("run").status == 0)
        let text = try job.text("retention.prom")
        let names = Set(rules.matches(of: /retention_[a-z_]+/).map { String($0.0) })
        try #require(names.count > 3)
        for name in names { #expect(text.contains("\n\(name){"), "\(name)") }
    }

    // MARK: Commands

    /// The run is over then, and its report is not printed yet.
    @Test(arguments: [SIGTERM, SIGINT], [1, 2])
    func aSignalDuringACommandIsWaitedThroughAndASecondOneEndsTheRun(signal: Int32, count: Int) throws {
        let job = try job(
            "on_success: [/bin/sh, -c, 'echo began >began; until test -e go; do sleep 0.01; done; echo ended >ended']")
        let run = try RunningProgram(job, "run")
        #expect(eventually { (try? job.listing().contains("began")) ?? false })
        for _ in 0..<count {
            run.send(signal)
            #expect(run.hasTakenItsSignals())
        }
        // What the command holds open keeps the run from being seen to end.
        try job.folder.write("", to: "go")
        #expect(run.wait() == (count == 1 ? 0 : 128 + signal))
        #expect(try job.text("stdout.txt").contains("Deleted 3 rows") == (count == 1))
        if count == 1 { #expect(try job.listing().contains("ended")) }
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
    }
}
