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
        try ledger.record(report)
    }

    /// What the ledger does not have is null, and everything else is what the run reported.
    @Test func aRunIsReadAsItWasRecorded() throws {
        let file = try LedgerFile()
        var report = report("01A", hour: 0, rules: [ReportSample.full, ReportSample.refused])
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
        try record(report, in: file.ledger())

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
        try record(report("01A", hour: 0, rules: [ReportSample.full]), in: file.ledger())
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
        #expect(table.contains("CRASHED  process 42 on gold ended without a record"))
        #expect(LogReport(try file.runs()).json.contains(#""outcome": "crashed""#))
        // Another one that could not begin is recorded meanwhile.
        try file.ledger().finish(report("01C", hour: 2))
        #expect(try file.runs { _ in true }.map(\.outcome).prefix(2) == [.crashed, .running])
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
        #expect(memory.longestGap() == .seconds(36_000))
        let reader = try SQLiteReader(path: file.path)
        #expect(try OpenLedger(reader: reader).history().memory(store: "/data/prices.sqlite", before: 5) == memory)
    }

    @Test func aCrashedRunIsRememberedByItsStart() throws {
        let file = try LedgerFile()
        try record(report("01A", hour: 0), in: file.ledger())
        try file.ledger().begin(report("01B", hour: 5))
        let ledger = try file.ledger()
        try ledger.markCrashed()
        #expect(try ledger.memory().lastRun == ReportSample.asOf.advanced(byMicroseconds: 5 * hour))
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
        try record(report("01A", hour: 0, rules: rules), in: file.ledger())
        let memory = try file.ledger().memory()
        #expect(memory.deletedBefore == ["ticks": rules[1].cutoff] && memory.crashedAsOf == nil)
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

    @Test func moreRunsThanAPageAreAllRead() throws {
        let file = try LedgerFile()
        let ledger = try file.ledger()
        for index in 0..<205 { try record(report("R\(index)", hour: Int64(index)), in: ledger) }
        let runs = try file.runs()
        #expect(runs.count == 205 && runs.first?.report.runID == "R0" && runs.last?.report.runID == "R204")
        #expect(runs.allSatisfy { $0.report.rules.count == 1 })
    }

    /// The run before the shown ones began in the same millisecond.
    @Test func theShownIDOfARunFindsIt() throws {
        let file = try LedgerFile()
        for id in ["01JD0000000A", "01JD0000000B", "01JE00000000"] {
            try record(report(id, hour: 0), in: file.ledger())
        }
        let history = OpenLedger(reader: try SQLiteReader(path: file.path)).history()
        let table = LogReport(try file.runs(.init(last: 2)), names: RunNames(try history.identifiers())).table()
        #expect(table.contains(" 01JD0000000B\n") && table.contains(" 01JE00000000\n"), "\(table)")
    }

    @Test func theLastSuccessIsFoundBehindAFailure() throws {
        let file = try LedgerFile()
        for (hour, code) in [(0, 0), (2, 0), (4, 75)] as [(Int64, Int32)] {
            var report = report("0\(hour)", hour: hour)
            report.exitCode = code
            try record(report, in: file.ledger())
        }
        try record(report("09", hour: 9), in: file.ledger(store: "/data/other.sqlite"))
        try file.ledger().begin(report("10", hour: 10))
        let instant = { (hour: Int64) in ReportSample.asOf.advanced(byMicroseconds: hour * LedgerFile.hour) }
        let ends = try OpenLedger(reader: try SQLiteReader(path: file.path)).history().ends(
            store: "/data/prices.sqlite")
        #expect(ends.last == instant(5) && ends.exitCode == 75 && ends.success == instant(3))
    }

    /// A monitoring system must not take a run of one rule for the night, nor miss a schedule for each rule.
    @Test func runsOfSomeRulesAreOneOnceEachRuleHasHadOne() throws {
        let file = try LedgerFile()
        func ends() throws -> LedgerHistory.Ends {
            try OpenLedger(reader: try SQLiteReader(path: file.path)).history().ends(
                of: ReviewSample.policy(["gold", "silver"]), store: "/data/prices.sqlite")
        }
        let instant = { (hour: Int64) in ReportSample.asOf.advanced(byMicroseconds: hour * LedgerFile.hour) }
        for (hour, rules, last) in [(0, [], 1), (2, ["gold"], 1), (4, ["gold"], 1), (6, ["silver"], 7)]
            as [(Int64, [String], Int64)]
        {
            var report = report("0\(hour)", hour: hour)
            report.onlyRules = rules
            try record(report, in: file.ledger())
            #expect(try ends().last == instant(last) && ends().success == instant(last))
        }
    }

    /// A run by hand of one rule says nothing about the others, and must not end their alerts.
    @Test func whatIsBadOfOneRuleStaysBadAfterARunOfAnother() throws {
        let file = try LedgerFile()
        func run(_ hour: Int64, _ rules: [RunReport.RuleReport], only: [String], code: Int32) throws -> String {
            var report = report("0\(hour)", hour: hour, rules: rules)
            (report.onlyRules, report.exitCode) = (only, code)
            try record(report, in: file.ledger())
            let ends = try OpenLedger(reader: try SQLiteReader(path: file.path)).history().ends(
                of: ReviewSample.policy(["gold", "silver"]), store: "/data/prices.sqlite", besides: only)
            return MetricsText(report, ends: ends).text
        }
        let refused = ReviewSample.rule("gold", .refused, expired: 5)
        let silver = ReviewSample.rule("silver", .completed, expired: 3)
        let night = try run(0, [refused, silver], only: [], code: 65)
        let byHand = try run(2, [ReviewSample.rule("silver", .completed, expired: 4)], only: ["silver"], code: 0)
        for text in [night, byHand] {
            #expect(text.contains("retention_run_outcome{store=") && text.contains(",outcome=\"refused\"} 1\n"))
            #expect(text.contains("rule=\"gold\",entity=\"Price\",outcome=\"refused\"} 1\n"), "\(text)")
            let lines = text.split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("retention_run_exit_code{") && $0.hasSuffix("} 65") }, "\(text)")
            #expect(lines.contains { $0.hasPrefix("retention_rule_residue_rows{") && $0.hasSuffix("} 5") }, "\(text)")
        }
        #expect(byHand.contains("rule=\"silver\",entity=\"Price\"} 4\n"), "\(byHand)")
        // Each rule has had a run since, and none of them is bad.
        let solved = try run(4, [ReviewSample.rule("gold", .completed)], only: ["gold"], code: 0)
        #expect(!solved.contains("outcome=\"refused\"} 1\n"), "\(solved)")
        #expect(solved.contains("rule=\"silver\",entity=\"Price\"} 4\n"), "\(solved)")
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
        try record(report("01A", hour: 0, rules: [ReportSample.gold, evil]), in: file.ledger())
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
            var report = report(id, hour: 0)
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
        try changing.begin(report("01B", hour: 0), isChanging: true)
        #expect(try known() == ["01A", "01B"])
        #expect(try file.verification().fault == nil)
        try night("01C", "/data/c")
        try changing.finish(report("01B", hour: 0))
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
            var report = report(id, hour: 0)
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
