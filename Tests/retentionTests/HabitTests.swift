import Foundation
import TestSupport
import Testing

@testable import RetentionJob
@testable import RetentionPolicy
@testable import retention

/// What people expect who know other programs.
@Suite(.tags(.clock)) struct HabitTests {
    private func job(_ head: String = "archive: { folder: archive }") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(20, daysAgo: 1),
            policy: Sample.policy(Sample.rule(), head: head))
        try job.makeFolder("archive")
        return job
    }

    @Test func shortOptionsAreThoseOfOtherPrograms() throws {
        let job = try job()
        let dry = try job.retention("run", "-n", "--json")
        #expect(dry.output.hasPrefix("{") && dry.output.contains("\"dry_run\""), "\(dry)")
        #expect(try job.number("SELECT count(*) FROM Price") == 30)
        let run = try job.retention("run", "-q")
        #expect(run.status == 0 && run.output.isEmpty, "\(run)")
        let log = try job.retention("log", "--json")
        #expect(log.output.hasPrefix("{") && log.output.contains("retention.log/1"), "\(log)")
    }

    @Test func theNewestRunIsCalledLast() throws {
        let job = try job()
        _ = try job.retention("run", "-q")
        // It deletes nothing, so it is not what is undone.
        _ = try job.retention("run", "-q")
        let ids = try job.log().map(\.run)
        try #require(ids.count == 2)
        let shown = try job.retention("log", "--run", "LAST")
        #expect(shown.status == 0 && shown.output.contains(ids[1]), "\(shown)")
        let dry = try job.retention("undo", "Last", "-n")
        #expect(dry.status == 0 && dry.output.contains(ids[0]), "\(dry)")
        #expect(try job.retention("undo", "last").status == 0)
        #expect(try job.number("SELECT count(*) FROM Price") == 30)
    }

    @Test func aPatternInPlaceOfTheStoreHasItsOwnKey() throws {
        let job = try job()
        try job.folder.write(
            try job.text("retention.yaml").replacing("store: prices.sqlite", with: "store: '*.sqlite'"),
            to: "retention.yaml")
        let end = try job.retention("check")
        #expect(end.status == 66 && end.errors.contains("write store: { files: \"*.sqlite\" }"), "\(end)")
    }

    @Test func aDashIsStandardOutput() throws {
        let draft = try job().retention("init", "prices.sqlite", "--output", "-")
        #expect(draft.status == 0 && draft.output.contains("\nversion: 1\n"), "\(draft)")
    }

    /// Digits may be numbers or texts in a column without a type.
    @Test func aRowIsFoundByAColumnWithoutAType() throws {
        let job = try job()
        try job.change("ALTER TABLE Price ADD COLUMN tag; UPDATE Price SET tag = 7 WHERE id = 3")
        try job.change("UPDATE Price SET tag = '8' WHERE id = 4")
        for value in ["7", "8"] {
            let end = try job.retention("why", "Price", "tag=\(value)")
            #expect(end.status == 0 && end.output.hasPrefix("gold: "), "\(end)")
        }
    }

    @Test func sinceTakesAnAge() throws {
        let job = try job()
        _ = try job.retention("run", "-q")
        #expect(try job.log("--since", "7d").count == 1)
        #expect(try job.log("--since", "2999-01-01").isEmpty)
    }

    @Test func aRunWaitsForALockedStore() throws {
        let job = try job("store: { path: prices.sqlite, busy_timeout: 10ms }")
        try job.folder.write(
            Sample.policy(Sample.rule()).replacing(
                "store: prices.sqlite", with: "store: { path: prices.sqlite, busy_timeout: 10ms }"),
            to: "retention.yaml")
        let lock = """
            import sqlite3, sys, time
            c = sqlite3.connect("prices.sqlite", isolation_level=None)
            c.execute("BEGIN EXCLUSIVE")
            open("locked", "w").close()
            time.sleep(3)
            """
        try job.folder.write(lock, to: "lock.py")
        let end = try LaunchedProgram.shell(
            """
            retention run -q; python3 lock.py & while [ ! -e locked ]; do sleep 0.05; done
            retention run -q; echo $?; retention run -q --wait 1s; echo $?; retention run -q --wait 1min; echo $?; wait
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

    @Test(arguments: ["run -n", "check", "log", "undo --list", "report --html page.html"])
    func theEnvironmentNamesThePolicy(command: String) throws {
        let job = try job()
        try job.move("retention.yaml", to: "other.yaml")
        let end = try LaunchedProgram.shell("RETENTION_CONFIG=other.yaml retention \(command)", in: job.folder.url)
        #expect(end.status == 0, "\(end)")
    }

    // MARK: Completions

    @Test func completionsOfferRulesAndRuns() throws {
        let job = try job()
        _ = try job.retention("run", "-q")
        let run = try #require(try job.log().last?.run)
        let script = try job.retention("completion", "bash").output
        #expect(script.contains("policy_widened") && script.contains("---completion"), "\(script.prefix(500))")
        func offered(_ words: String) throws -> [Substring] {
            try LaunchedProgram.shell("retention ---completion \(words)", in: job.folder.url).output.split(
                separator: "\n")
        }
        #expect(try offered("run -- --rule 0 0 retention run --rule ''") == ["gold"])
        #expect(try offered("log -- --run 0 0 retention log --run ''") == ["last", Substring(run)])
        #expect(try offered("undo -- positional@0 0 0 retention undo ''") == ["last", Substring(run)])
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

    @Test func anExplanationSaysWhoMayAccept() throws {
        func explain(_ code: String) throws -> String {
            try LaunchedProgram.perform(["explain", code], in: LaunchedProgram.project).words
        }
        #expect(try explain("policy_widened").contains("Accept: by hand, with --accept policy_widened"))
        #expect(try explain("not_archivable").hasSuffix("Accept: no"))
        #expect(try explain("feed_stopped").contains("write accept: [feed_stopped] in the rule; if it has long pauses"))
        #expect(try explain("75").hasSuffix("see docs/operations.md: \"It does not keep up\""))
        #expect(try explain("held").hasPrefix("restored_rows: "), "the name in earlier versions")
    }
}
