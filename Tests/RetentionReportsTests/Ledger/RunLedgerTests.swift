import Foundation
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports
import SQLiteStore
import Testing

struct RunLedgerTests {
    private let hour: Int64 = 3_600_000_000

    private func report(_ id: String, hour start: Int64, rules: [RunReport.RuleReport] = [ReportSample.gold])
        -> RunReport
    {
        LedgerFile.report(id, hour: start, rules: rules)
    }

    private func record(_ report: RunReport, in ledger: RunLedger) throws {
        try ledger.begin(report)
        try ledger.finish(report)
    }

    @Test func aRunIsReadAsItWasRecorded() throws {
        let file = try LedgerFile()
        var rule = ReportSample.gold
        rule.deleted = 499_999
        rule.residue = 1
        rule.keptByRule = 3
        rule.keptByTier = [.init(unit: .day, rowCount: 2), .init(unit: .year, rowCount: 1)]
        (rule.unpriced, rule.candlesCreated, rule.candlesChanged) = (6, 7, 8)
        rule.cascaded = 4
        rule.nullified = 5
        rule.batches = 100
        rule.elapsed = .microseconds(1_234_567)
        rule.oldest = Instant(microseconds: -1)
        rule.newest = ReportSample.asOf
        rule.newestExpired = ReportSample.asOf.advanced(byMicroseconds: -7)
        rule.accepted = [.futureDates, .mixedFormats]
        rule.advice = ["one\nline", "two"]
        rule.unreadable = [
            .init(reason: .null, rowCount: 2, example: .null),
            .init(reason: .notADate, rowCount: 3, example: .text("secret")),
        ]
        var report = report("01A", hour: 0, rules: [rule, ReportSample.refused])
        report.pending.files = 1
        report.pending.rejected = 2
        report.hasPendingSources = true
        report.reclaimedBytes = 4096
        report.warnings = ["no room"]
        report.exitCode = 65
        try record(report, in: file.ledger())

        let run = try #require(try file.runs().first)
        #expect(run.outcome == .refused && run.number == 1)
        #expect(run.process == LedgerProcess(pid: 42, host: "gold", user: "cron", version: "0.1.0"))
        let read = run.report
        #expect(read.runID == "01A" && read.exitCode == 65 && read.configSHA256 == "3f2a91c0")
        #expect(read.store == "/data/prices.sqlite")
        #expect(read.started == report.started && read.finished == report.finished && read.asOf == report.asOf)
        #expect(read.pending == report.pending && read.hasPendingSources && read.reclaimedBytes == 4096)
        #expect(read.warnings == ["no room"])
        let first = try #require(read.rules.first)
        #expect(first.rows == rule.rows && first.expired == rule.expired && first.deleted == 499_999)
        #expect(
            first.residue == 1 && first.keptByRule == 3 && first.keptByTier == rule.keptByTier && first.cascaded == 4
                && first.nullified == 5)
        #expect(first.unpriced == 6 && first.candlesCreated == 7 && first.candlesChanged == 8)
        #expect(first.batches == 100 && first.elapsed == rule.elapsed && first.cutoff == rule.cutoff)
        #expect(first.oldest == rule.oldest && first.newest == rule.newest && first.newestExpired == rule.newestExpired)
        #expect(first.accepted == rule.accepted && first.advice == ["one\\nline", "two"])
        #expect(first.unreadableCount == 5 && first.method == "range batches" && first.index == "ix_time")
        #expect(read.rules.last?.refusal == .wrongUnit && read.rules.last?.message == ReportSample.refused.message)
    }

    @Test func examplesOfUnreadableValuesAreNotRecorded() throws {
        let file = try LedgerFile()
        var rule = ReportSample.gold
        rule.unreadable = [.init(reason: .notADate, rowCount: 3, example: .text("top secret"))]
        try record(report("01A", hour: 0, rules: [rule]), in: file.ledger())
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
        #expect(bytes.range(of: Data("top secret".utf8)) == nil && bytes.range(of: Data("notADate".utf8)) != nil)
    }

    @Test func aRunWithoutAnEndIsCrashedUnlessItIsAtWork() throws {
        let file = try LedgerFile()
        try file.ledger().begin(report("01A", hour: 0))
        try file.ledger().begin(report("01B", hour: 1))
        #expect(try file.runs().map(\.outcome) == [.crashed, .crashed])
        #expect(try file.runs { $0 == "/data/prices.sqlite" }.map(\.outcome) == [.crashed, .running])
        let table = LogReport(try file.runs()).table()
        #expect(table.contains("CRASHED: process 42 on gold"))
        #expect(LogReport(try file.runs()).json.contains(#""outcome": "crashed""#))
    }

    @Test func markingCrashedRunsDoesNotChangeOtherStores() throws {
        let file = try LedgerFile()
        try file.ledger().begin(report("01A", hour: 0))
        try file.ledger(store: "/data/other.sqlite").begin(report("01B", hour: 0))
        let ledger = try file.ledger()
        try ledger.begin(report("01C", hour: 2))
        #expect(try ledger.markCrashed() == 1)
        #expect(try file.runs { _ in true }.map(\.outcome) == [.crashed, .running, .running])
        #expect(try ledger.markCrashed() == 0)
    }

    @Test func memoryIsOfThisStoreAndLeavesTheRunInHandOut() throws {
        let file = try LedgerFile()
        #expect(try file.ledger().memory() == RunMemory())
        try record(report("01A", hour: 0), in: file.ledger())
        try record(report("01B", hour: 10), in: file.ledger())
        try record(report("01C", hour: 13), in: file.ledger())
        try record(report("01D", hour: 500), in: file.ledger(store: "/data/other.sqlite"))
        let ledger = try file.ledger()
        try ledger.begin(report("01E", hour: 20))
        let memory = try ledger.memory()
        #expect(memory.lastRun == ReportSample.asOf.advanced(byMicroseconds: 14 * hour))
        #expect(memory.longestGap == .seconds(36_000))
        let reader = try SQLiteReader(path: file.path)
        #expect(try LedgerHistory(reader: reader).memory(store: "/data/prices.sqlite", before: 5) == memory)
    }

    @Test func memoryHasTheStoresNotes() throws {
        let file = try LedgerFile()
        var first = report("01A", hour: 0)
        first.ruleLines = ["rule"]
        first.storeNotes = ["q": "1:2: 3 4=5", "a\\nb": "2"]
        try record(first, in: file.ledger())
        #expect(try file.ledger().memory().storeNotes == first.storeNotes)
        // A run that was not carried out, and one of another store.
        try record(report("01B", hour: 10), in: file.ledger())
        first.storeNotes = [:]
        try record(first, in: file.ledger(store: "/data/other.sqlite"))
        #expect(try file.ledger().memory().storeNotes.count == 2)
    }

    @Test func aCrashedRunIsRememberedByItsStart() throws {
        let file = try LedgerFile()
        try record(report("01A", hour: 0), in: file.ledger())
        try file.ledger().begin(report("01B", hour: 5))
        let ledger = try file.ledger()
        try ledger.markCrashed()
        #expect(try ledger.memory().lastRun == ReportSample.asOf.advanced(byMicroseconds: 5 * hour))
    }

    @Test(arguments: [RefusalCode.clockMovedBack, .clockJumped])
    func aRefusedClockIsNotRemembered(code: RefusalCode) throws {
        let file = try LedgerFile()
        try record(report("01A", hour: 100), in: file.ledger())
        var rule = ReportSample.refused
        rule.refusal = code
        try record(report("01B", hour: 5, rules: [rule]), in: file.ledger())
        #expect(try file.ledger().memory().lastRun == ReportSample.asOf.advanced(byMicroseconds: 101 * hour))
        // Once the clock is accepted it is the one that counts.
        rule.refusal = nil
        rule.outcome = .completed
        rule.accepted = [code]
        try record(report("01C", hour: 6, rules: [rule]), in: file.ledger())
        #expect(try file.ledger().memory().lastRun == ReportSample.asOf.advanced(byMicroseconds: 7 * hour))
    }

    @Test func queriesNarrowTheRuns() throws {
        let file = try LedgerFile()
        for index in 0..<5 {
            let rules = index == 2 ? [ReportSample.gold, ReportSample.refused] : [ReportSample.gold]
            try record(
                report("01\("ABCDE".map(String.init)[index])", hour: Int64(index) * 2, rules: rules), in: file.ledger())
        }
        func names(_ query: LedgerHistory.Query) throws -> [String] { try file.runs(query).map(\.report.runID) }
        #expect(try names(.init()) == ["01A", "01B", "01C", "01D", "01E"])
        #expect(try names(.init(last: 2)) == ["01D", "01E"])
        #expect(try names(.init(rule: "old-fx")) == ["01C"])
        #expect(try file.runs(.init(rule: "old-fx")).first?.report.rules.map(\.name) == ["old-fx"])
        #expect(try names(.init(since: ReportSample.asOf.advanced(byMicroseconds: 6 * hour))) == ["01D", "01E"])
        #expect(try names(.init(outcome: "refused")) == ["01C"])
        #expect(try names(.init(last: 1, outcome: "completed")) == ["01E"])
        #expect(try names(.init(run: "01b")) == ["01B"])
    }

    @Test func moreRunsThanAPageAreAllRead() throws {
        let file = try LedgerFile()
        let ledger = try file.ledger()
        for index in 0..<205 { try record(report("R\(index)", hour: Int64(index)), in: ledger) }
        let runs = try file.runs()
        #expect(runs.count == 205 && runs.first?.report.runID == "R0" && runs.last?.report.runID == "R204")
        #expect(runs.allSatisfy { $0.report.rules.count == 1 })
    }

    @Test func anEmptyStoreHasNoRuns() throws {
        let file = try LedgerFile()
        _ = try SQLiteWriter(path: file.path, create: true)
        #expect(try file.runs().isEmpty)
        #expect(LogReport([]).table() == "No recorded run matches.\n")
    }

    @Test func tableHasALineForEachRuleAndHidesNothingHostile() throws {
        let file = try LedgerFile()
        var evil = ReportSample.gold
        evil.name = "a\u{1B}[2Jb"
        try record(report("01A", hour: 0, rules: [evil, ReportSample.refused]), in: file.ledger())
        let runs = try file.runs()
        let lines = LogReport(runs).table().split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("RUN "))
        #expect(lines[1].contains("a\\u{1B}[2Jb") && lines[2].contains("refused: wrong_unit"))
        let full = LogReport.full(try #require(runs.first), width: 300)
        #expect(
            full.contains("process   42 on gold, user cron\n") && full.contains("Is date_format right? (wrong_unit)"))
        #expect(!full.unicodeScalars.contains("\u{1B}"))
    }
}
