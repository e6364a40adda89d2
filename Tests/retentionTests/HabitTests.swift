import Foundation
import TestSupport
import Testing

@testable import RetentionJob
@testable import RetentionPolicy
@testable import retention

/// A run that waits, where a policy is looked for, and that each code is explained. Other habits are in the case `habits-of-other-programs`.
@Suite(.tags(.clock)) struct HabitTests {
    @Test func aRunWaitsForALockedStore() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(20, daysAgo: 1),
            policy: Sample.policy(Sample.rule()).replacing(
                "store: prices.sqlite", with: "store: { path: prices.sqlite, busy_timeout: 10ms }"))
        let lock = """
            import os, sqlite3, time
            c = sqlite3.connect("prices.sqlite", isolation_level=None)
            c.execute("BEGIN EXCLUSIVE")
            open("locked", "w").close()
            while not os.path.exists("go"): time.sleep(0.05)
            """
        try job.folder.write(lock, to: "lock.py")
        let end = try LaunchedProgram.shell(
            """
            retention run -q; python3 lock.py & while [ ! -e locked ]; do sleep 0.05; done
            retention run -q; echo $?; retention run -q --wait 1s; echo $?
            (sleep 0.5; touch go) & retention run -q --wait 1min; echo $?; wait
            """, in: job.folder.url)
        #expect(end.output == "75\n75\n0\n", "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price") == 20)
        #expect(try job.retention("log", "--run", "last").output.contains("waited: "), "a locked store")
        // A run that could not begin took the time that it waited.
        let recorded = try job.rows("SELECT finished_us - started_us FROM run", in: "retention.ledger.sqlite")
        let lengths = recorded.compactMap { Int($0) }
        try #require(lengths.count == 4)
        #expect(lengths[1] >= 10_000 && lengths[2] >= 1_000_000, "\(lengths)")
    }

    // MARK: The policy

    struct Place: Sendable {
        var named: String?
        var environment: String?
        var files: [String]
        var orInstalled = true
        var path: String
    }

    private static let installed = "/etc/retention/retention.yaml"

    @Test(arguments: [
        Place(files: ["retention.yaml", installed], path: "retention.yaml"), Place(files: [installed], path: installed),
        Place(files: [], path: "retention.yaml"), Place(files: [installed], orInstalled: false, path: "retention.yaml"),
        Place(environment: "/a.yaml", files: ["retention.yaml"], orInstalled: false, path: "/a.yaml"),
        Place(environment: "", files: [installed], path: installed),
        Place(named: "b.yaml", environment: "/a.yaml", files: [installed], path: "b.yaml"),
    ])
    func thePolicyIsFound(_ place: Place) {
        let path = PolicyOption.path(
            place.named, orInstalled: place.orInstalled, environment: place.environment,
            exists: { place.files.contains($0) })
        #expect(path == place.path)
    }

    @Test func thatOnlyTheInstalledOneIsThereIsSaid() {
        let hint = PolicyOption.hint(for: "retention.yaml") { $0 == Self.installed }
        #expect(hint == "name the installed one: -c /etc/retention/retention.yaml")
        #expect(PolicyOption.hint(for: "retention.yaml") { _ in true } == nil)
        #expect(PolicyOption.hint(for: "b.yaml") { $0 == Self.installed } == nil)
    }

    // MARK: Explanations

    @Test func everyCodeIsExplainedAsOnThePages() throws {
        let pages = try ["docs/guards.md", "docs/output.md"].map {
            try String(contentsOf: LaunchedProgram.project.appending(path: $0), encoding: .utf8)
        }.joined(separator: "\n")
        let lines = Set(pages.split(separator: "\n"))
        for row in ExplainCommand.table.split(separator: "\n") { #expect(lines.contains(row), "\(row)") }
        let help = try LaunchedProgram.perform(["--help"], in: LaunchedProgram.project).output
        let codes = help.components(separatedBy: "Exit codes:").last?.components(separatedBy: "EXAMPLES").first ?? ""
        let exits = codes.matches(of: #/\b\d+\b/#).map { String($0.0) }
        #expect(exits.count > 10)
        for code in RefusalCode.allCases.map(\.rawValue) + exits {
            let end = try LaunchedProgram.perform(["explain", code], in: LaunchedProgram.project)
            #expect(
                end.status == 0 && end.output.hasPrefix("\(code): ") && end.words.contains("What to do: "), "\(end)")
            #expect(!end.output.contains("](") && !end.output.contains("`"), "\(end)")
        }
    }
}
