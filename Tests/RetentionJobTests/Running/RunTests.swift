import Foundation
import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

@Suite struct RunTests {
    private let bench = RunBench()

    /// Puts a pending file with a row of 60 days ago beside the store.
    private func pend(besides file: PriceFile) throws {
        let text = "at,symbol\n\(1_795_219_200 - 60 * 86_400),XAU\n"
        try Data(text.utf8).write(to: file.folder.appending(path: "new.csv"))
    }

    @Test func aRunOfOneRuleForgetsNothingOfTheOthers() throws {
        let file = try PriceFile(daysOld: 0..<100)
        bench.remember(try bench.run(file, .prices("a"), .prices("b")))
        bench.now = PriceFile.now.advanced(byMicroseconds: 40 * 86_400_000_000)
        bench.options.ruleNames = ["b"]
        let second = try bench.run(file, .prices("a"), .prices("b"))
        #expect(second.rules.map(\.name) == ["b"])
        bench.remember(second)
        let known = bench.recorder.past.rules.map(\.record.rule.name)
        #expect(known == ["a", "b"], "also if the rule was last carried out long ago")
    }

    @Test func theResidueOfARefusedRuleIsWhatALaterRuleLeft() throws {
        let file = try PriceFile(daysOld: 0..<100)
        try file.addPrices(daysOld: 0..<100, symbol: "EUR")
        let limited = Rule.prices("limited") { $0.limits.maxRows = 1 }
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        let report = try bench.run(file, limited, gold)
        #expect(report.rules.map(\.planned.expired) == [138, 69])
        #expect(report.rules.map(\.left.expired) == [69, 0])
    }

    // MARK: Stopping

    @Test func aSignalStopsAfterTheBatchInHand() throws {
        let file = try PriceFile(daysOld: 0..<100)
        bench.afterBatch = { if $0 == 2 { self.bench.signal = 15 } }
        let report = try bench.run(
            file, .prices(), .prices("next") { $0.filter = .compare("id", .greater, .integer(0)) })
        #expect(report.rules.map(\.outcome) == [.interrupted, .completed])
        #expect(report.rules.map(\.done.deleted) == [20, 0])
        #expect(report.rules.map(\.left.expired) == [49, 0])
        #expect(report.rules[0].message == "stopped by SIGTERM; 49 expired rows are left")
        #expect(report.exitCode == 143)
        #expect(try file.count() == 80)
        #expect(try file.count("at < 1795219200 - 80 * 86400") == 0, "the oldest went first")
        #expect(bench.recorder.finished.map(\.exitCode) == [143])
    }

    /// A server ends the running statement. Here the task is cancelled, which ends it on a file.
    @Test func aStatementThatASignalEndsInterruptsTheRule() async throws {
        let file = try PriceFile(daysOld: 0..<100)
        let bench = RunBench()
        bench.afterBatch = { _ in
            bench.signal = 15
            withUnsafeCurrentTask { $0?.cancel() }
        }
        nonisolated(unsafe) let (used, store) = (bench, file)
        let report = try await Task { try used.run(store, .prices()) }.value
        #expect(report.exitCode == 143 && report.rules[0].outcome == .interrupted)
        #expect(report.rules[0].message == "stopped by SIGTERM; 10 rows are deleted and committed before it")
    }

    @Test(arguments: [false, true]) func aSignalWithNothingLeftToDoChangesNothing(pending: Bool) throws {
        let file = try PriceFile(daysOld: 0..<10)
        bench.signal = 15
        #expect(try bench.run(file, .prices(), pending: pending).exitCode == 0)
    }

    /// A budget that is spent with the last row is no error.
    @Test(arguments: [(100, 3), (41, 1)]) func theBudgetStopsTheRun(days: Int, batches: Int) throws {
        let file = try PriceFile(daysOld: 0..<days)
        bench.maxRuntime = .seconds(batches)
        bench.afterBatch = { _ in self.bench.uptime += .seconds(1) }
        let report = try bench.run(file, .prices())
        let left = days - 31 - batches * 10
        #expect(report.rules.map(\.outcome) == [left > 0 ? .interrupted : .completed])
        #expect(report.rules.map(\.done.deleted) == [batches * 10] && report.rules.map(\.left.expired) == [left])
        #expect(report.rules[0].done.elapsed == .seconds(batches))
        #expect(report.exitCode == (left > 0 ? 75 : 0))
    }

    /// What a run would delete is not known.
    @Test func aBudgetThatEndsBeforeThePendingRowsLeavesADryRunWithoutCounts() throws {
        let file = try PriceFile(daysOld: 0..<100)
        try pend(besides: file)
        bench.maxRuntime = .zero
        let report = try bench.dryRun(file, .prices(), pending: true)
        #expect(report.exitCode == 75 && report.rules.isEmpty && report.warnings.isEmpty)
        #expect(report.failure?.contains("before all pending files were read; nothing was counted") == true)
        #expect(try bench.run(file, .prices(), pending: true).exitCode == 75)
        #expect(try file.count() == 100)
    }

    /// The rest of a file is imported by the next run, and none of its rows has come back.
    @Test func aRunThatIsStoppedBeforeTheLastPendingRowDoesNotSayThatItLeftNone() throws {
        let file = try PriceFile(daysOld: 0..<10)
        let rule = Rule.prices { $0.limits.maxLateRows = 0 }
        try pend(besides: file)
        bench.maxRuntime = .zero
        let stopped = try bench.run(file, rule, pending: true)
        #expect(stopped.rules.map(\.outcome) == [.completed] && stopped.runOutcome == .interrupted)
        bench.remember(stopped)
        #expect(bench.recorder.past.rules.map(\.leftNone) == [false])
        bench.maxRuntime = nil
        let next = try bench.run(file, rule, pending: true)
        #expect(next.rules.map(\.outcome) == [.completed] && next.deletedCount == 1 && next.pending.saved == 1)
        #expect(
            bench.observer.stages.suffix(4) == ["reading pending files", "counting", "prices", "reclaiming"])
    }

    // MARK: Rows that arrive

    /// Rows that the first rule leaves expire by the second, too, and are the oldest.
    @Test func whatALaterRuleDeletesIsNotLeft() throws {
        let file = try PriceFile(daysOld: 0..<60)
        try file.addPrices(daysOld: 31..<41, symbol: "XAG")
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        let all = Rule.prices("all", line: 9) { $0.filter = .isNotNull("symbol") }
        bench.afterBatch = { if $0 == 2 { try file.addPrices(daysOld: [300, 301, 302]) } }
        let report = try bench.run(file, gold, all)
        #expect(report.rules.map(\.outcome) == [.completed, .completed])
        #expect(report.rules.map(\.done.deleted) == [29, 10] && report.rules.map(\.left.expired) == [0, 3])
        #expect(report.residueCount == 3)
        #expect(report.rules.map(\.left.oldest) == [nil, Instant(unixSeconds: 1_795_219_200 - 33 * 86_400)])
        #expect(report.warnings.map { $0.prefix(10) } == ["rows left:"] && report.warnings[0].contains("all leaves 3"))
    }

    /// A run deletes as many rows as its plan counted, whatever other programs insert meanwhile.
    @Test(arguments: [true, false], [72, nil])
    func expiredRowsThatArriveWaitForTheNextRun(indexed: Bool, maxRows: Int?) throws {
        let file = try PriceFile(indexed: indexed)
        // Without an index they arrive behind the last expired row, where no batch looks.
        try file.addPrices(daysOld: Array((0..<100).reversed()))
        bench.afterBatch = { if $0 < 4 { try file.addPrices(daysOld: [31, 200]) } }
        let report = try bench.run(file, .prices { $0.limits.maxRows = maxRows })
        #expect(report.rules.map(\.outcome) == [.completed])
        #expect(report.rules.map(\.planned.expired) == [69] && report.rules.map(\.done.deleted) == [69])
        #expect(report.residueCount == 6)
        #expect(report.warnings.count == 1 && report.exitCode == 0, "\(report.warnings)")
        #expect(try file.count() == 37)
    }

    /// Also where a batch of a window would delete more than the plan has counted.
    @Test func theLastWindowDeletesNoMoreThanThePlanCounted() throws {
        let file = try PriceFile(indexed: false)
        try file.addPrices(daysOld: Array((0..<100).reversed()))
        bench.afterBatch = {
            if $0 == 6 {
                try file.execute(
                    "UPDATE price SET at = (SELECT at FROM price WHERE id = 69) WHERE id BETWEEN 70 AND 75")
            }
        }
        let report = try bench.run(file, .prices())
        #expect(report.rules.map(\.done.deleted) == [69])
        #expect(try file.count() == 31)
    }

    // MARK: Trouble

    @Test func aStoreThatStaysLockedEndsTheRun() throws {
        let file = try PriceFile(daysOld: 0..<100)
        bench.afterBatch = { if $0 == 2 { try file.execute("BEGIN IMMEDIATE") } }
        let report = try bench.run(file, .prices(), .prices("next"))
        try file.execute("ROLLBACK")
        #expect(report.rules[0].outcome == .interrupted)
        #expect(report.rules[0].done.deleted == 20)
        #expect(report.exitCode == 75)
        #expect(report.failure?.contains("20 rows are deleted and committed") == true)
        #expect(try file.count() == 80)
    }

    /// A writer that fails once before a step.
    private func failing(
        _ file: PriceFile, before step: HookedWriter.Change, _ kind: StoreError.Kind
    ) throws -> HookedWriter {
        var hasFailed = false
        return HookedWriter(try file.writer()) { change throws(StoreError) in
            guard change == step, !hasFailed else { return }
            hasFailed = true
            throw StoreError(kind, store: "prices", message: "no")
        }
    }

    @Test func aDiskThatFailsEndsTheRunBeforeTheNextRule() throws {
        let file = try PriceFile()
        for symbol in ["XAU", "XAG"] { try file.addPrices(daysOld: 0..<100, symbol: symbol) }
        func rule(_ symbol: String) -> Rule {
            .prices(symbol) { $0.filter = .compare("symbol", .equal, .text(symbol)) }
        }
        let report = try bench.run(
            file, rule("XAU"), rule("XAG"), writer: try failing(file, before: .delete, .inputOutput))
        #expect(report.rules.map(\.outcome) == [.failed, .interrupted])
        #expect(report.rules.map(\.left.expired) == [69, 69])
        // The age of what is left is known although the store does not answer.
        let oldest = Instant(unixSeconds: 1_795_219_200 - 99 * 86_400)
        #expect(report.rules.map(\.left.oldest) == [oldest, oldest])
        #expect(
            report.rules[1].message == "the run ended before this rule was completed; 69 expired rows are left")
        #expect(report.failure?.hasSuffix("no; nothing was deleted") == true)
        #expect(report.exitCode == 74)
        #expect(try file.count() == 200)
    }

    @Test func withoutItsArchiveARunDeletesNothing() throws {
        let file = try PriceFile(daysOld: 0..<100)
        let report = try bench.run(
            file, .prices { $0.isArchived = true }, archive: file.folder.path,
            writer: try failing(file, before: .archive, .cannotCreate))
        #expect(report.rules.map(\.outcome) == [.planned] && report.archive == nil)
        #expect(report.failure?.hasSuffix("no; nothing was deleted") == true)
        #expect(report.exitCode == 73)
        #expect(try file.count() == 100)
    }

    /// An archive that could not be written cannot be completed either.
    @Test func theFirstErrorIsTheReason() throws {
        let file = try PriceFile(daysOld: 0..<100)
        let writer = HookedWriter(try file.writer()) { change throws(StoreError) in
            guard change == .delete || change == .complete else { return }
            throw StoreError(.inputOutput, store: "prices", message: change == .delete ? "first" : "second")
        }
        let report = try bench.run(file, .prices { $0.isArchived = true }, archive: file.folder.path, writer: writer)
        #expect(report.failure?.hasSuffix("first; nothing was deleted") == true)
        #expect(report.archive?.isComplete == false && report.exitCode == 74)
    }

    @Test func anArchiveThatCannotBeCompletedIsNamed() throws {
        let file = try PriceFile(daysOld: 0..<100)
        let report = try bench.run(
            file, .prices { $0.isArchived = true }, archive: file.folder.path,
            writer: try failing(file, before: .complete, .inputOutput))
        #expect(report.archive?.path == file.folder.path + "/01TEST.sqlite")
        #expect(report.archive?.rows == 69 && report.archive?.isComplete == false)
        #expect(report.failure?.hasSuffix("no; 69 rows are deleted and committed") == true)
        #expect(report.exitCode == 74)
        #expect(try file.count() == 31)
    }

    /// Why space is not given back, the exit code, and what is said.
    @Test(arguments: [(StoreError.Kind.busy, Int32(0)), (.inputOutput, 74)])
    func spaceThatIsNotReclaimedFailsTheRunUnlessTheStoreIsBusy(_ kind: StoreError.Kind, _ exitCode: Int32) throws {
        let file = try PriceFile(daysOld: 0..<100)
        let report = try bench.run(
            file, .prices { $0.reclaim = .vacuum }, writer: try failing(file, before: .reclaim, kind))
        #expect(report.deletedCount == 69 && report.exitCode == exitCode)
        #expect((report.failure == nil) == (exitCode == 0))
        #expect(
            report.warnings.contains { $0.hasPrefix("space not reclaimed") } == (exitCode == 0), "\(report.warnings)")
    }

    @Test func aLedgerThatCannotBeginStopsTheRunBeforeAnything() throws {
        let file = try PriceFile(daysOld: [0, 50])
        bench.recorder.failingMemory = 1
        #expect(throws: StoreError.self) { try bench.run(file, .prices()) }
        #expect(try file.count() == 2)
    }

    // MARK: Reclaim

    @Test func theStrongestReclaimOfTheRulesThatDeletedIsCarriedOutOnce() throws {
        let file = try PriceFile("CREATE TABLE blank (data BLOB)")
        try file.addPrices(daysOld: 0..<5000)
        let report = try bench.run(
            file,
            .prices {
                $0.batch = .fixed(rows: 5000); $0.reclaim = .vacuum
            }, .prices("b"))
        #expect(report.deletedCount == 4969)
        #expect(report.reclaimedBytes > 0)
        #expect(bench.observer.stages.filter { $0 == "reclaiming" }.count == 1)
    }

    @Test func nothingIsReclaimedIfNothingWasDeletedOrReclaimIsOff() throws {
        let file = try PriceFile(daysOld: 0..<20)
        _ = try bench.run(file, .prices { $0.reclaim = .vacuum })
        try file.addPrices(daysOld: [50])
        _ = try bench.run(file, .prices { $0.reclaim = .none })
        #expect(!bench.observer.stages.contains("reclaiming"))
    }

    @Test func anInterruptedRunDoesNotReclaim() throws {
        let file = try PriceFile(daysOld: 0..<41)
        bench.afterBatch = { _ in self.bench.signal = 2 }
        let report = try bench.run(file, .prices { $0.reclaim = .vacuum })
        #expect(report.rules.map(\.outcome) == [.completed])
        #expect(!bench.observer.stages.contains("reclaiming"))
        #expect(report.exitCode == 130, "the signal left the reclaim undone")
    }
}
