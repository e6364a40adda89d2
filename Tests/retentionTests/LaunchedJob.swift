import Foundation
@preconcurrency import Glibc
import GRDB
import TestSupport

/// A store that SQL made, a policy for it and pending files, in a folder of their own; and the program run on them.
final class LaunchedJob {
    let folder: TemporaryFolder
    private var mounted: [String] = []

    /// Makes the store `prices.sqlite` from SQL, and `retention.yaml`.
    init(_ sql: String, policy: String, inMemory: Bool = false) throws {
        folder = try TemporaryFolder(inMemory: inMemory)
        try change(sql)
        try folder.write(policy, to: "retention.yaml")
    }

    /// Makes a store of real prices: the table `Gold` with `day`, which is the first of each month since 1833, and `price`.
    static func gold() throws -> LaunchedJob {
        let file = try String(contentsOf: RealData.gold, encoding: .utf8)
        let rows = file.split(whereSeparator: \.isNewline).dropFirst().map { "('\($0.replacing(",", with: "-01', ")))" }
            .joined(separator: ", ")
        return try LaunchedJob(
            """
            CREATE TABLE Gold(day DATE NOT NULL, price REAL NOT NULL);
            CREATE INDEX Gold_day ON Gold(day);
            INSERT INTO Gold VALUES \(rows);
            """, policy: "")
    }

    deinit { for name in mounted { _ = try? LaunchedProgram.shell("umount -l \(name)", in: folder.url) } }

    func path(_ name: String) -> String { folder.url.appending(path: name).path }

    /// Opens a database of the folder, and waits for a program that is at work on it. What a test writes need not be on the disk.
    private func open(_ file: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(2)
        // As the sqlite3 shell reads a store's SQL.
        configuration.acceptsDoubleQuotedStringLiterals = true
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        return try DatabaseQueue(path: path(file), configuration: configuration)
    }

    /// Changes a database of the folder.
    func change(_ sql: String, in file: String = "prices.sqlite") throws {
        let queue = try open(file)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// The rows of a query, each as its values in text with bars between; NULL is empty.
    func rows(_ sql: String, in file: String = "prices.sqlite") throws -> [String] {
        let queue = try open(file)
        defer { try? queue.close() }
        return try queue.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { value in
                    switch value.storage {
                    case .null: ""
                    case .int64(let number): String(number)
                    case .double(let number): String(number)
                    case .string(let text): text
                    case .blob(let data): data.base64EncodedString()
                    }
                }.joined(separator: "|")
            }
        }
    }

    /// The one number that a query finds.
    func number(_ sql: String, in file: String = "prices.sqlite") throws -> Int {
        try rows(sql, in: file).first.flatMap { Int($0) } ?? -1
    }

    /// The names of all files and folders, in order.
    func listing() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).sorted() }

    func text(_ file: String) throws -> String { try String(contentsOfFile: path(file), encoding: .utf8) }

    /// Waits until a run has deleted a row of ``Sample/slowDeletes(steps:)``; false if it has not after ten seconds.
    func hasBegunSlowDeletes(in file: String = "prices.sqlite") -> Bool {
        eventually { ((try? number("SELECT n FROM Note", in: file)) ?? 0) > 0 }
    }

    /// Carries a command out in this process.
    @discardableResult
    func retention(_ arguments: String...) throws -> LaunchedProgram.Ending { try perform(arguments) }

    func perform(_ arguments: [String]) throws -> LaunchedProgram.Ending {
        try LaunchedProgram.perform(arguments, in: folder.url)
    }

    /// Makes a folder that nobody else may use, as one of archives must be.
    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: path(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// Mounts a small disk in the folder, which goes with the job, and moves files to it.
    func mount(_ name: String, _ options: String, with files: String = "") throws {
        let end = try LaunchedProgram.shell(
            "mkdir -p \(name) && mount -t tmpfs -o \(options) none \(name)"
                + (files.isEmpty ? "" : " && mv \(files) \(name)/"), in: folder.url)
        guard end.status == 0 else { throw NoReport(status: end.status, errors: end.errors) }
        mounted.append(name)
    }

    /// Runs the program to its end.
    func launch(_ arguments: [String]) throws -> LaunchedProgram.Ending {
        try LaunchedProgram.run("retention", arguments, in: folder.url)
    }

    /// Runs `retention run --format json` and reads its report.
    @discardableResult
    func report(_ arguments: String...) throws -> Report { try report(arguments) }

    func report(_ arguments: [String]) throws -> Report {
        let end = try perform(["run", "--format", "json"] + arguments)
        guard !end.output.isEmpty else { throw NoReport(status: end.status, errors: end.errors) }
        let report = try Report(json: end.output)
        guard report.exitCode == end.status, !report.rules.isEmpty || report.failure != nil else {
            throw NoReport(status: end.status, errors: "\(report)")
        }
        return report
    }

    /// The ledger, as `retention log` shows it.
    func log(_ arguments: String...) throws -> [Report] { try log(arguments) }

    func log(_ arguments: [String]) throws -> [Report] {
        struct Log: Decodable { var runs: [Report] }
        let end = try perform(["log", "--format", "json"] + arguments)
        guard end.status == 0 else { throw NoReport(status: end.status, errors: end.errors) }
        return try Report.decoder.decode(Log.self, from: Data(end.output.utf8)).runs
    }

    /// Takes a run back, and answers with the report of that.
    func undo(_ arguments: String...) throws -> UndoReport {
        let end = try perform(["undo", "--format", "json"] + arguments)
        guard !end.output.isEmpty else { throw NoReport(status: end.status, errors: end.errors) }
        let report = try Report.decoder.decode(UndoReport.self, from: Data(end.output.utf8))
        guard report.exitCode == end.status else { throw NoReport(status: end.status, errors: "\(report)") }
        return report
    }

    /// The program ended without the expected report, without a rule in it, or with another status.
    struct NoReport: Error {
        var status: Int32
        var errors: String
    }
}

/// The fields of `retention.run/1` that tests use, and those of `retention.log/1`.
struct Report: Decodable {
    struct Pending: Decodable, Equatable {
        var files, saved, ignored, rejected: Int?
    }

    struct Rule: Decodable {
        var name, outcome, cutoff: String
        var refusal, message, oldest, newest, newestExpired, dateFormat, methodReason: String?
        var rows: Int?
        var keptByRule, deleted, cascaded, nullified, batches: Int
        var expired, residue, unreadable: Int?
        var overdueSeconds: Double?
        var archived, unpriced, candlesCreated, candlesChanged: Int?
        var advice: [String]?
    }

    struct Totals: Decodable, Equatable {
        var expired, deleted, residue: Int?
    }

    var run, mode, store: String
    var pending: Pending
    var rules: [Rule]
    var totals: Totals
    var exitCode: Int32?
    var failure, outcome: String?
    var pid: Int?
    var warnings: [String]?

    static let decoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()

    init(json: String) throws { self = try Self.decoder.decode(Report.self, from: Data(json.utf8)) }
}

/// The fields of an undo's `retention.run/1` that tests use.
struct UndoReport: Decodable {
    struct Undo: Decodable {
        var ruleNames: [String]?
        var archived, restored, present, skipped, candlesRestored, candlesDeleted: Int
    }

    var exitCode: Int32
    var undo: Undo
}

/// The running program, to send signals to it.
final class RunningProgram {
    private let process = Process()
    private let scratch: TemporaryFolder
    private let pipe = Pipe()

    /// Starts a program of this package, or one of the system's by its whole path.
    init(_ name: String, _ arguments: [String], in folder: URL) throws {
        scratch = try TemporaryFolder()
        process.executableURL = name.hasPrefix("/") ? URL(filePath: name) : LaunchedProgram.folder.appending(path: name)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = pipe
        try process.run()
    }

    convenience init(_ job: LaunchedJob, _ arguments: String...) throws {
        // Only a shell can send the two streams into files without this class holding them.
        let line = "exec \"$0\" \"$@\" >\"stdout.txt\" 2>\"stderr.txt\""
        let program = LaunchedProgram.folder.appending(path: "retention").path
        try self.init("/bin/sh", ["-c", line, program] + arguments, in: job.folder.url)
    }

    deinit {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    }

    var processID: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    func send(_ signal: Int32) { Glibc.kill(process.processIdentifier, signal) }

    /// Waits until no signal is pending that was sent to the program; false if one still is after ten seconds.
    func hasTakenItsSignals() -> Bool {
        eventually {
            let status = try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
            return status?.firstMatch(of: /ShdPnd:\t0*\n/) != nil || !isRunning
        }
    }

    /// Waits until the program has paused so often: as often as SQLite's steps of the wait for a lock, a tenth of a second each in
    /// the end. False if it ends before, or does not pause within ten seconds.
    func waits(times: Int) -> Bool {
        func pauses() -> Int {
            let status = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)) ?? ""
            return status.firstMatch(of: /\nvoluntary_ctxt_switches:\t(\d+)/).flatMap { Int($0.1) } ?? 0
        }
        let before = pauses()
        return eventually { !isRunning || pauses() >= before + times } && isRunning
    }

    /// Gives the program a line on standard input.
    func type(_ line: String) throws { try pipe.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// The status with which it ends, or 128 and the number of the signal that ended it.
    func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal
            ? 128 + process.terminationStatus : process.terminationStatus
    }
}

/// SQL that changes a ledger.
enum LedgerChange {
    /// The first run, and the time of its archive, are over so many hours earlier than they were.
    static func hoursBack(_ hours: Int) -> String {
        let length = "\(hours) * 3600000000"
        return "UPDATE run SET finished_us = finished_us - \(length), archive_until_us = archive_until_us - \(length) "
            + "WHERE number = 1"
    }
}

/// Pieces of stores and policies.
enum Sample {
    static let day = 86_400

    /// The beginning of this day in UTC, as it was when the tests began, in seconds since 1970.
    private static let today = Int(Date().timeIntervalSince1970) / day * day

    /// The beginning of the day that was so many days ago, in seconds since 1970.
    static func unixSeconds(_ daysAgo: Int) -> Int { today - daysAgo * day }

    /// A day by how many days ago it was, in UTC: `2026-11-20`.
    static func date(_ daysAgo: Int) -> String { String(midnight(daysAgo).prefix(10)) }

    /// The beginning of that day: `2026-11-20T00:00:00Z`.
    static func midnight(_ daysAgo: Int) -> String {
        Date(timeIntervalSince1970: Double(unixSeconds(daysAgo))).formatted(.iso8601)
    }

    /// A table of gold prices, with an index on the date.
    static let price = """
        CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
        CREATE INDEX Price_at ON Price(at);
        """

    /// SQL that makes each delete from `Price` take some milliseconds, so that a test can meet a run at its work.
    static func slowDeletes(steps: Int) -> String {
        """
        CREATE VIEW Slow AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(steps))
        SELECT max(n) AS n FROM c;
        CREATE TABLE Note(n);
        INSERT INTO Note VALUES (0);
        CREATE TRIGGER Price_slow AFTER DELETE ON Price BEGIN UPDATE Note SET n = (SELECT n FROM Slow); END;

        """
    }

    /// SQL that adds rows of some age, a second apart.
    static func rows(_ count: Int, daysAgo: Int, symbol: String = "XAUUSD", in table: String = "Price") -> String {
        """
        WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < \(count))
        INSERT INTO \(table)(symbol, price, at) SELECT '\(symbol)', 1.5, unixepoch() - \(daysAgo * day) - n FROM c;

        """
    }

    /// A rule in one line.
    static func rule(
        _ more: String = "", name: String = "gold", entity: String = "Price", date: String = "at",
        format: String = "unix_seconds", age: String = "30d"
    ) -> String {
        "{ name: \(name), entity: \(entity), date_attribute: \(date), date_format: \(format), max_age: \(age)"
            + (more.isEmpty ? " }" : ", \(more) }")
    }

    /// A policy for `prices.sqlite`.
    static func policy(_ rules: String..., head: String = "") -> String {
        "version: 1\nstore: prices.sqlite\n\(head)\nrules:\n" + rules.map { "  - \($0)\n" }.joined()
    }
}
