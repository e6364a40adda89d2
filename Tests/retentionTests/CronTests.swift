import Foundation
import GRDB
import PriceStore
import TestSupport
import Testing

/// The shipped crontab fragment, taken as cron takes it: its own variables and no others, a plain shell, no terminal.
@Suite(.tags(.clock)) struct CronTests {
    private let folder: TemporaryFolder
    private let fragment: CronFragment

    init() throws {
        folder = try TemporaryFolder()
        fragment = try CronFragment(text: Self.shipped("cron/retention.cron"))
    }

    private static func shipped(_ path: String) throws -> String {
        try String(contentsOf: LaunchedProgram.project.appending(path: path), encoding: .utf8)
    }

    /// Runs the fragment's command over the policy in the test's folder.
    private func run() throws -> LaunchedProgram.Ending {
        var environment = fragment.variables
        let shell = try #require(environment["SHELL"])
        environment["PATH"] = LaunchedProgram.folder.path + ":" + (environment["PATH"] ?? "")
        environment["HOME"] = folder.url.path
        environment["LOGNAME"] = fragment.user
        let command = fragment.command.replacing(
            "/etc/retention/retention.yaml", with: folder.url.appending(path: "retention.yaml").path)
        return try LaunchedProgram.run(
            URL(filePath: shell), ["-c", command], in: folder.url, environment: environment)
    }

    private func makeStore() throws {
        for name in ["pending", "archive"] {
            try FileManager.default.createDirectory(
                at: folder.url.appending(path: name), withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        let end = try LaunchedProgram.run(
            "goldprices",
            [
                "prices.sqlite", "--rows", "1200", "--every", "3600", "--pending", "pending/day.csv", "--pending-rows",
                "24",
            ],
            in: folder.url)
        try #require(end.status == 0)
    }

    private func number(_ value: String = "count(*)") throws -> Int {
        let queue = try DatabaseQueue(path: folder.url.appending(path: "prices.sqlite").path)
        return try queue.read { try Int.fetchOne($0, sql: "SELECT \(value) FROM YahooGoldPricePoint") ?? -1 }
    }

    @Test func namesTheInstalledProgramAndPolicy() throws {
        #expect(fragment.command == "retention run --quiet -c /etc/retention/retention.yaml")
        #expect(fragment.user == "retention")
        #expect(try #require(fragment.variables["PATH"]).split(separator: ":").contains("/usr/local/bin"))
        // A percent sign means a new line to cron.
        #expect(!fragment.command.contains("%"))
    }

    @Test func saysNothingAfterAGoodNight() throws {
        try makeStore()
        try folder.write(Self.shipped("retention.yaml"), to: "retention.yaml")
        let end = try run()
        #expect(end.status == 0)
        #expect(end.output == "")
        #expect(end.errors == "")
        let log = try String(contentsOf: folder.url.appending(path: "retention.log"), encoding: .utf8)
        func seconds(_ member: String) throws -> Int {
            let text = try #require(log.firstMatch(of: try Regex("\"\(member)\":\"([^\"]+)\""))?[1].substring)
            return Int(try #require(Instant(iso8601: String(text))).microseconds / 1_000_000)
        }
        let cutoff = try seconds("cutoff")
        #expect(try seconds("as_of") - cutoff == 30 * Sample.day)
        // A row of each hour from the cutoff on.
        #expect(try number() == (number("max(updateTime)") - cutoff) / 3600 + 1)
        #expect(try number("min(updateTime)") >= cutoff)
    }

    /// With the sample nothing is deleted without a copy, nor most rows at once.
    @Test func theSamplePolicyIsCareful() throws {
        try makeStore()
        let policy = try Self.shipped("retention.yaml")
        #expect(policy.contains("\ndefaults: { limits: { max_fraction: 0.5 } }\n"))
        try folder.write(policy, to: "retention.yaml")
        try FileManager.default.removeItem(at: folder.url.appending(path: "archive"))
        let end = try run()
        #expect(end.status == 73 && end.words.contains("create it: mkdir -m 700"), "\(end)")
        #expect(try number("min(updateTime)") < number("max(updateTime)") - 40 * Int(Sample.day))
    }

    struct Trouble: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Nil: there is no policy file.
        var policy: String?
        var status: Int32
        var word: String
    }

    @Test(arguments: [
        Trouble(testDescription: "no policy", policy: nil, status: 66, word: "retention.yaml"),
        Trouble(testDescription: "a mistake in the policy", policy: policy(age: "30m"), status: 78, word: "'30m'"),
        Trouble(
            testDescription: "a rule that would delete everything", policy: policy(age: "1s"), status: 65,
            word: "would_empty_entity"),
    ])
    func saysWhatIsWrongAfterABadNight(_ trouble: Trouble) throws {
        try makeStore()
        if let policy = trouble.policy { try folder.write(policy, to: "retention.yaml") }
        let end = try run()
        #expect(end.status == trouble.status)
        #expect((end.output + end.errors).contains(trouble.word))
        #expect(try number() == 1200)
    }

    private static func policy(age: String) -> String {
        """
        version: 1
        store: prices.sqlite
        log: { file: retention.log }
        rules:
          - name: yahoo-gold
            entity: YahooGoldPricePoint
            date_attribute: updateTime
            date_format: unix_seconds
            max_age: \(age)

        """
    }

    @Test func theSystemdServiceRunsTheSameCommand() throws {
        let lines = try Self.shipped("cron/retention.service").split(separator: "\n")
        #expect(lines.contains("ExecStart=/usr/local/bin/\(fragment.command)"))
        #expect(lines.contains("User=\(fragment.user)"))
    }
}

/// A file for /etc/cron.d with one job.
struct CronFragment {
    var variables: [String: String] = [:]
    var user = ""
    var command = ""

    /// Reads the lines as cron does: comments, `NAME=value`, and five fields of time, the user and the rest.
    init(text: String) throws {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        var jobs: [[Substring]] = []
        for line in lines {
            let fields = line.split(separator: " ", maxSplits: 6)
            if let sign = line.firstIndex(of: "="), !line[..<sign].contains(" ") {
                variables[String(line[..<sign])] = String(line[line.index(after: sign)...])
            } else {
                jobs.append(fields)
            }
        }
        let job = try #require(jobs.first)
        try #require(jobs.count == 1 && job.count == 7)
        user = String(job[5])
        command = job[6].trimmingCharacters(in: .whitespaces)
    }
}
