import Foundation
import PriceStore
import RetentionPolicy
import RetentionReports
import SQLiteStore
import Testing

@testable import RetentionJob

struct RunLedgerTests {
    private let hour: Int64 = 3_600_000_000

    /// What the ledger does not have is null, and everything else is what the run reported.
    @Test func aRunIsReadAsItWasRecorded() throws {
        let file = try LedgerFile()
        var report = LedgerFile.report("01A", hour: 0, rules: [ReportSample.full, ReportSample.refused])
        report.pending.files = 1
        report.pending.rejected = 2
        report.pending.problems = ["a\u{2028}b"]
        report.hasPendingSources = true
        (report.reclaimedBytes, report.storeBytesBefore, report.storeSizeBytes) = (4096, 10_000, 5904)
        report.warnings = ["no room"]
        (report.failure, report.planSHA256) = ("disk full", "ab")
        report.exitCode = 74
        report.archive = .init(
            path: "/a", rows: 1, references: 2, sizeBytes: 3, sha256: "cd", isComplete: true, until: report.asOf)
        var undo = RunReport.Undo(run: "01B", archive: "/b", rules: ["x y"], tables: [.init(name: "a table")])
        (undo.tables[0].done.restoredCount, undo.tables[0].done.skippedReferenceCount) = (7, 8)
        undo.tables[0].changed = 9
        undo.unarchived = [.init(rule: "x y", rows: 5)]
        (undo.triggers, undo.triggerChoice) = (["t of a"], .skip)
        report.undo = undo
        try file.ledger().record(report)

        let run = try #require(try file.runs().first)
        #expect(run.outcome == .failed && run.number == 1)
        #expect(run.process == LedgerProcess(pid: 42, host: "gold", user: "cron", version: "1.2.3"))
        #expect(run.report.store == "/data/prices.sqlite" && run.report.hasPendingSources)
        let unknown: Set = [
            "widened", "forecast", "sample", "holds", "by_triggers", "skipped_rows", "waiting",
        ]
        func compare(_ read: JSONText, _ told: JSONText, _ path: String) {
            if case .object(let read) = read, case .object(let told) = told {
                for (read, told) in zip(read, told) where read.name != "store" && read.name != "example" {
                    if unknown.contains(read.name) {
                        #expect(read.value == .null, "\(path).\(read.name)")
                    } else {
                        compare(read.value, told.value, "\(path).\(read.name)")
                    }
                }
            } else if case .array(let read) = read, case .array(let told) = told, read.count == told.count {
                for (read, told) in zip(read, told) { compare(read, told, path) }
            } else {
                #expect(
                    read.description.replacing("\\", with: "") == told.description.replacing("\\", with: ""), "\(path)")
            }
        }
        report.config = FilePlace(report.config).path
        #expect(run.report.ledgerHash?.count == 64)
        report.ledgerHash = run.report.ledgerHash
        compare(run.report.json, report.json, "")
    }

    /// A ledger of an earlier version opens, and what it does not have is null, not nothing.
    @Test func whatAnEarlierLedgerLacksIsNull() throws {
        let file = try LedgerFile()
        try file.ledger().record(LedgerFile.report("01A", hour: 0, rules: [ReportSample.full]))
        for column in ["held", "cascaded", "kept_by_hold", "late", "oldest", "oldest_us"] {
            try file.tamper("ALTER TABLE run_rule DROP COLUMN \(column)")
        }
        func json() throws -> String { LogReport(try file.runs()).json }
        let before = try json()
        for name in ["held", "cascaded", "kept_by_hold", "late", "oldest"] {
            #expect(before.contains("\"\(name)\": null"), "\(before)")
        }
        #expect(before.contains("\"deleted\": 499999"))
        // Once it is opened for writing, it has the columns.
        _ = try file.ledger()
        #expect(try json() == before)
    }

    @Test func examplesOfUnreadableValuesAreNotRecorded() throws {
        let file = try LedgerFile()
        var rule = ReportSample.gold
        rule.planned.unreadable = [.init(reason: .notADate, rowCount: 3, example: .text("top secret"))]
        try file.ledger().record(LedgerFile.report("01A", hour: 0, rules: [rule]))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
        #expect(bytes.range(of: Data("top secret".utf8)) == nil && bytes.range(of: Data("notADate".utf8)) != nil)
    }

    @Test func aRunWithoutAnEndIsCrashedUnlessItIsAtWork() throws {
        let file = try LedgerFile()
        try file.ledger().begin(LedgerFile.report("01A", hour: 0))
        try file.ledger().begin(LedgerFile.report("01B", hour: 1))
        #expect(try file.runs().map(\.outcome) == [.crashed, .crashed])
        #expect(try file.runs { $0 == "/data/prices.sqlite" }.map(\.outcome) == [.crashed, .running])
        let table = LogReport(try file.runs()).table()
        #expect(table.contains("CRASHED  process 42 on gold ended without a record"))
        #expect(LogReport(try file.runs()).json.contains(#""outcome": "crashed""#))
        // Another one that could not begin is recorded meanwhile.
        try file.ledger().finish(LedgerFile.report("01C", hour: 2))
        #expect(try file.runs { _ in true }.map(\.outcome).prefix(2) == [.crashed, .running])
    }

    @Test func markingCrashedRunsDoesNotChangeOtherStores() throws {
        let file = try LedgerFile()
        try file.ledger().begin(LedgerFile.report("01A", hour: 0))
        try file.ledger(store: "/data/other.sqlite").begin(LedgerFile.report("01B", hour: 0))
        let ledger = try file.ledger()
        try ledger.begin(LedgerFile.report("01C", hour: 2))
        #expect(try ledger.markCrashed() == 1)
        #expect(try file.runs { _ in true }.map(\.outcome) == [.crashed, .running, .running])
        #expect(try ledger.markCrashed() == 0)
    }

    @Test func memoryIsOfThisStoreAndLeavesTheRunInHandOut() throws {
        let file = try LedgerFile()
        #expect(try file.ledger().memory() == RunMemory())
        try file.ledger().record(LedgerFile.report("01A", hour: 0))
        try file.ledger().record(LedgerFile.report("01B", hour: 10))
        try file.ledger().record(LedgerFile.report("01C", hour: 13))
        try file.ledger(store: "/data/other.sqlite").record(LedgerFile.report("01D", hour: 500))
        let ledger = try file.ledger()
        try ledger.begin(LedgerFile.report("01E", hour: 20))
        let memory = try ledger.memory()
        #expect(memory.lastRun == LedgerFile.instant(14))
        #expect(memory.longestGap() == .seconds(36_000))
        let reader = try SQLiteReader(path: file.path)
        #expect(try OpenLedger(reader: reader).history().memory(store: "/data/prices.sqlite", before: 5) == memory)
    }

    @Test func aCrashedRunIsRememberedByItsStart() throws {
        let file = try LedgerFile()
        try file.ledger().record(LedgerFile.report("01A", hour: 0))
        try file.ledger().begin(LedgerFile.report("01B", hour: 5))
        let ledger = try file.ledger()
        try ledger.markCrashed()
        #expect(try ledger.memory().lastRun == LedgerFile.instant(5))
        #expect(try ledger.memory().crashedAsOf == ReportSample.asOf)
    }

    /// Also of a run that did not finish. A table may be named with its schema.
    @Test func memoryKnowsHowFarRowsWereDeleted() throws {
        let file = try LedgerFile()
        var rules = [ReportSample.refused, ReportSample.refused, ReportSample.refused]
        for (index, entity) in ["public.Ticks", "ticks", "untouched"].enumerated() {
            rules[index].entity = entity
            rules[index].outcome = .failed
            rules[index].done.deleted = index < 2 ? 1 : 0
            rules[index].cutoff = ReportSample.asOf.advanced(byMicroseconds: Int64(index) * hour)
        }
        try file.ledger().record(LedgerFile.report("01A", hour: 0, rules: rules))
        let memory = try file.ledger().memory()
        #expect(memory.deletedBefore == ["ticks": rules[1].cutoff] && memory.crashedAsOf == nil)
    }

    @Test(arguments: [RefusalCode.clockMovedBack, .clockJumped])
    func aRefusedClockIsNotRemembered(code: RefusalCode) throws {
        let file = try LedgerFile()
        try file.ledger().record(LedgerFile.report("01A", hour: 100))
        var rule = ReportSample.refused
        rule.refusal = code
        try file.ledger().record(LedgerFile.report("01B", hour: 5, rules: [rule]))
        #expect(try file.ledger().memory().lastRun == LedgerFile.instant(101))
        // Once the clock is accepted it is the one that counts.
        rule.refusal = nil
        rule.outcome = .completed
        rule.accepted = [code]
        try file.ledger().record(LedgerFile.report("01C", hour: 6, rules: [rule]))
        #expect(try file.ledger().memory().lastRun == LedgerFile.instant(7))
    }

    @Test func moreRunsThanAPageAreAllRead() throws {
        let file = try LedgerFile()
        let ledger = try file.ledger()
        for index in 0..<205 { try ledger.record(LedgerFile.report("R\(index)", hour: Int64(index))) }
        let runs = try file.runs()
        #expect(runs.count == 205 && runs.first?.report.runID == "R0" && runs.last?.report.runID == "R204")
        #expect(runs.allSatisfy { $0.report.rules.count == 1 })
    }

    /// The run before the shown ones began in the same millisecond.
    @Test func theShownIDOfARunFindsIt() throws {
        let file = try LedgerFile()
        for id in ["01JD0000000A", "01JD0000000B", "01JE00000000"] {
            try file.ledger().record(LedgerFile.report(id, hour: 0))
        }
        let history = OpenLedger(reader: try SQLiteReader(path: file.path)).history()
        let table = LogReport(try file.runs(.init(last: 2)), names: RunNames(try history.identifiers())).table()
        #expect(table.contains(" 01JD0000000B\n") && table.contains(" 01JE00000000\n"), "\(table)")
    }

    @Test func theLastSuccessIsFoundBehindAFailure() throws {
        let file = try LedgerFile()
        for (hour, code) in [(0, 0), (2, 0), (4, 75)] as [(Int64, Int32)] {
            var report = LedgerFile.report("0\(hour)", hour: hour)
            report.exitCode = code
            try file.ledger().record(report)
        }
        try file.ledger(store: "/data/other.sqlite").record(LedgerFile.report("09", hour: 9))
        try file.ledger().begin(LedgerFile.report("10", hour: 10))
        let ends = try OpenLedger(reader: try SQLiteReader(path: file.path)).history().ends(
            store: "/data/prices.sqlite")
        #expect(ends.last == LedgerFile.instant(5) && ends.exitCode == 75 && ends.success == LedgerFile.instant(3))
    }

    /// A monitoring system must not take a run of one rule for the night, nor miss a schedule for each rule.
    @Test func runsOfSomeRulesAreOneOnceEachRuleHasHadOne() throws {
        let file = try LedgerFile()
        func ends() throws -> LedgerHistory.Ends {
            try OpenLedger(reader: try SQLiteReader(path: file.path)).history().ends(
                of: ReviewSample.policy(["gold", "silver"]), store: "/data/prices.sqlite")
        }
        for (hour, rules, last) in [(0, [], 1), (2, ["gold"], 1), (4, ["gold"], 1), (6, ["silver"], 7)]
            as [(Int64, [String], Int64)]
        {
            var report = LedgerFile.report("0\(hour)", hour: hour)
            report.onlyRules = rules
            try file.ledger().record(report)
            #expect(try ends().last == LedgerFile.instant(last) && ends().success == LedgerFile.instant(last))
        }
    }

    @Test func anEmptyStoreHasNoRuns() throws {
        let file = try LedgerFile()
        _ = try SQLiteWriter(path: file.path, create: true)
        #expect(try file.runs().isEmpty)
        #expect(LogReport([]).table() == "No recorded run matches.\n")
    }

    @Test func tableHasALineForEachRunAndHidesNothingHostile() throws {
        let file = try LedgerFile()
        var evil = ReportSample.refused
        evil.name = "a\u{1B}[2Jb"
        try file.ledger().record(LedgerFile.report("01A", hour: 0, rules: [ReportSample.gold, evil]))
        let runs = try file.runs()
        let lines = LogReport(runs).table().split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasPrefix("    STARTED (UTC)  OUTCOME"), "\(lines)")
        #expect(
            lines[1].hasPrefix("21 Nov 2026 00:00  REFUSED  a\\u{1B}[2Jb: wrong_unit")
                && lines[1].hasSuffix("1 h 00 min  01A"), "\(lines)")
        let full = LogReport.full(try #require(runs.first), .init(width: 300))
        #expect(
            full.contains("process   42 on gold, user cron\n") && full.contains("Is date_format right? (wrong_unit)"))
        #expect(!full.unicodeScalars.contains("\u{1B}"))
    }

    /// Records wait until something changes, goes wrong, or a second has passed.
    @Test func aRunThatChangedNothingWaits() throws {
        let file = try LedgerFile()
        let ledger = try OpenLedger(writer: file.writer(), ofMany: true)
        func night(_ id: String, _ store: String, seconds: Int64 = 0, code: Int32 = 0) throws {
            var report = LedgerFile.report(id, hour: 0)
            report.finished = Instant(microseconds: hour + seconds * 1_000_000)
            report.exitCode = code
            let run = try file.run(of: store, in: ledger, waits: true)
            try run.begin(report, isChanging: false)
            try run.finish(report)
        }
        func known() throws -> [String] { try file.runs().map(\.report.runID) }
        try night("01A", "/data/a")
        #expect(try known() == [])
        // A run that changes something.
        let changing = try file.run(of: "/data/b", in: ledger, waits: true)
        try changing.begin(LedgerFile.report("01B", hour: 0), isChanging: true)
        #expect(try known() == ["01A", "01B"])
        #expect(try file.verification().fault == nil)
        try night("01C", "/data/c")
        try changing.finish(LedgerFile.report("01B", hour: 0))
        #expect(try known() == ["01A", "01B"])
        try night("01D", "/data/d", code: 65)
        #expect(try known() == ["01A", "01B", "01C", "01D"])
        try night("01E", "/data/e")
        try night("01F", "/data/f", seconds: 1)
        #expect(try known().count == 6)
        try night("01G", "/data/g")
        #expect(try known().count == 6)
        try ledger.flush()
        #expect(try known() == ["01A", "01B", "01C", "01D", "01E", "01F", "01G"])
        let proof = try file.verification()
        #expect(proof.fault == nil && proof.runCount == 7)
        #expect(try proof.head == ledger.chainHead())
    }

    /// A record that waited does not hide what another run has carried out since.
    @Test func aRecordThatWaitedIsOlderThanThatOfAnotherRun() throws {
        let file = try LedgerFile()
        let ledgers = try (1...2).map { _ in try OpenLedger(writer: file.writer(), ofMany: true) }
        func run(_ id: String, _ ledger: OpenLedger, rules: [String]) throws {
            var report = LedgerFile.report(id, hour: 0)
            report.ruleLines = rules
            let run = try file.run(of: "/data/a", in: ledger, waits: true)
            _ = try run.memory()
            try run.finish(report)
        }
        try run("01A", ledgers[0], rules: ["old"])
        try run("01B", ledgers[1], rules: ["new"])
        try ledgers[1].flush()
        try ledgers[0].flush()
        #expect(try file.runs().map(\.report.runID) == ["01B", "01A"])
        let memory = try OpenLedger(reader: SQLiteReader(path: file.path)).history().memory(store: "/data/a")
        #expect(memory.damagedRules == ["new"])
        #expect(try ledgers[0].history().memory(store: "/data/a") == memory)
        #expect(try file.verification().fault == nil)
    }
}
