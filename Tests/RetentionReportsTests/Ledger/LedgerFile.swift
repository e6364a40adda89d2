import Foundation
import GRDB
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports
import SQLiteStore
import TestSupport
import Testing

/// A ledger file in a folder in memory, which is deleted with it.
final class LedgerFile {
    let folder: URL
    var path: String { folder.appendingPathComponent("retention.ledger.sqlite").path }

    init() throws {
        folder = .memory.appendingPathComponent("ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Makes a ledger of the bytes of another one.
    convenience init(_ bytes: Data) throws {
        try self.init()
        try bytes.write(to: URL(filePath: path))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    static let hour: Int64 = 3_600_000_000

    /// Some hours after the sample's instant.
    static func instant(_ hours: Int64) -> Instant { ReportSample.asOf.advanced(byMicroseconds: hours * hour) }

    func ledger(store: String = "/data/prices.sqlite", keep: MaxAge? = nil) throws -> RunLedger {
        try run(of: store, in: OpenLedger(writer: writer()), keep: keep)
    }

    func writer() throws -> SQLiteWriter { try SQLiteWriter(path: path, create: true, journal: .rollback) }

    func run(of store: String, in ledger: OpenLedger, keep: MaxAge? = nil, waits: Bool = false) throws -> RunLedger {
        let process = LedgerProcess(pid: 42, host: "gold", user: "cron", version: "1.2.3")
        return try #require(RunLedger(ledger, store: store, process: process, keep: keep, waits: waits))
    }

    func runs(_ query: LedgerHistory.Query = .init(), isAtWork: (String) -> Bool = { _ in false }) throws -> [LedgerRun]
    {
        try OpenLedger(reader: try SQLiteReader(path: path)).history().runs(query, isAtWork: isAtWork)
    }

    func verification(witness: String? = nil) throws -> LedgerVerification {
        try LedgerVerification.read(try SQLiteReader(path: path), witness: witness)
    }

    /// Changes the file behind the ledger's back.
    func tamper(_ sql: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// A report of a run that started some hours after the sample's instant and took an hour.
    static func report(_ id: String, hour start: Int64, rules: [RunReport.RuleReport] = [ReportSample.gold])
        -> RunReport
    {
        var report = RunReport(
            runID: id, mode: .run, asOf: ReportSample.asOf,
            started: instant(start),
            config: "retention.yaml", configSHA256: "3f2a91c0", store: "prices.sqlite", engine: "sqlite")
        report.finished = report.started.advanced(byMicroseconds: hour)
        report.rules = rules.map { rule in
            var rule = rule
            if rule.outcome == .planned { rule.outcome = .completed }
            return rule
        }
        return report
    }
}

extension RunLedger {
    /// Records a run from its beginning to its end.
    func record(_ report: RunReport) throws {
        try begin(report)
        try finish(report)
    }
}

extension MissedRuns {
    var text: String { lines.map { $0 + "\n" }.joined() }
}

extension LedgerVerification {
    var text: String { lines.map { $0 + "\n" }.joined() }
}
