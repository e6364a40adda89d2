import Foundation
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

@Suite struct RunTests {
    /// Keeps what a run records in its ledger.
    final class Recorder: RunRecorder {
        var past = RunMemory()
        var begun: [RunReport] = []
        var finished: [RunReport] = []
        func memory() throws -> RunMemory { past }
        func begin(_ report: RunReport, isChanging: Bool) throws { if begun.isEmpty { begun.append(report) } }
        func finish(_ report: RunReport) throws { finished.append(report) }
        func chainHead() throws -> String? { nil }
        func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun] { [:] }
    }

    /// Does something after each batch, as another process would.
    final class BetweenBatches: RunObserver {
        var stages: [String] = []
        private let afterBatch: (Int) throws -> Void
        private var batches = 0
        init(_ afterBatch: @escaping (Int) throws -> Void) { self.afterBatch = afterBatch }
        func runDidBegin(stage: String) { stages.append(stage) }
        func runDidBegin(rule: String, expiredCount: Int) { stages.append(rule) }
        func runDidDelete(deletedCount: Int, expiredCount: Int) {
            batches += 1
            #expect(throws: Never.self) { try afterBatch(batches) }
        }
        func runDidEnd() {}
    }

    /// Everything that a test may set, and a run of it.
    final class Bench {
        var signal: Int32?
        var maxRuntime: Duration?
        var uptime = Duration.zero
        var now = PriceFile.now
        var options = Planner.Options()
        var recorder = Recorder()
        var log = LogCapture()
        var afterBatch: (Int) throws -> Void = { _ in }
        lazy var observer = BetweenBatches { [unowned self] in try afterBatch($0) }

        private func setup(_ policy: Policy, _ other: (any RunObserver)? = nil) -> RunSetup {
            RunSetup(
                policy: policy, runID: "01TEST", asOf: now, options: options, maxRuntime: maxRuntime,
                clock: { self.now }, uptime: { self.uptime }, observer: other ?? observer)
        }

        func run(
            _ file: PriceFile, _ rules: Rule..., pending: Bool = false, observer: (any RunObserver)? = nil,
            archive: String? = nil, writer: (any RetentionWriter)? = nil
        ) throws -> RunReport {
            var policy = policy(file, rules, pending)
            policy.archive = archive.map { ArchiveSettings(place: .folder($0)) }
            return try Run(
                setup: setup(policy, observer), writer: try writer ?? file.writer(), recorder: recorder,
                logger: Logger(label: "test") { _ in self.log }, signal: { self.signal }
            ).perform()
        }

        func dryRun(_ file: PriceFile, _ rules: Rule..., pending: Bool = false) throws -> RunReport {
            try DryRun(
                setup: setup(policy(file, rules, pending)), memory: recorder.past,
                logger: Logger(label: "test") { _ in self.log }
            ).perform(rehearsal: try file.reader())
        }

        /// A run so many days later. The next one remembers it.
        func night(_ number: Int64, _ file: PriceFile, _ rule: Rule = .prices()) throws -> RunReport.RuleReport {
            now = PriceFile.now.advanced(byMicroseconds: number * 86_400_000_000)
            let report = try run(file, rule)
            var records = RecordedRules()
            recorder.past.rules = report.ruleLines.compactMap { RunMemory.CarriedOut(line: $0, &records) }
            recorder.past.agreed = report.agreedLines?.compactMap(AgreedRule.init) ?? []
            recorder.past.ends.insert(now, at: 0)
            return report.rules[0]
        }

        private func policy(_ file: PriceFile, _ rules: [Rule], _ hasPending: Bool) -> Policy {
            var policy = file.policy()
            policy.rules = rules
            guard hasPending else { return policy }
            policy.pending = [
                PendingSource(
                    files: "*.csv", baseFolder: file.folder.path, entity: "price",
                    marks: Marks(whole: Mark(line: 3, column: 5)))
            ]
            return policy
        }
    }

    private let bench = Bench()

    /// Puts a pending file beside the store.
    @discardableResult
    private func pend(_ text: String, besides file: PriceFile) throws -> URL {
        let url = file.folder.appending(path: "new.csv")
        try Data(text.utf8).write(to: url)
        return url
    }

    @Test func aRunOfOneRuleForgetsNothingOfTheOthers() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        let first = try bench.run(file, .prices("a"), .prices("b"))
        var records = RecordedRules()
        bench.recorder.past.rules = first.ruleLines.compactMap { RunMemory.CarriedOut(line: $0, &records) }
        bench.recorder.past.agreed = first.agreedLines?.compactMap(AgreedRule.init) ?? []
        bench.now = PriceFile.now.advanced(byMicroseconds: 40 * 86_400_000_000)
        bench.options.ruleNames = ["b"]
        let second = try bench.run(file, .prices("a"), .prices("b"))
        #expect(second.rules.map(\.name) == ["b"])
        let known = second.ruleLines.compactMap { RunMemory.CarriedOut(line: $0, &records) }
        #expect(known.map(\.record.rule.name) == ["a", "b"], "also if the rule was last carried out long ago")
    }

    @Test func pendingRowsAreSavedBeforeAnythingIsDeleted() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: [0, 50])
        try pend("at,symbol\n\(1_795_219_200 - 86_400),XAU\n\(1_795_219_200 - 60 * 86_400),XAU\n", besides: file)
        #expect(try bench.dryRun(file, .prices(), pending: true).rules.map(\.planned.expired) == [2])
        #expect(try file.count() == 2, "a rehearsal saves nothing")
        let report = try bench.run(file, .prices(), pending: true)
        #expect(report.pending.saved == 2)
        #expect(report.deletedCount == 2)
        #expect(try file.count() == 2)
        #expect(
            bench.observer.stages.suffix(4) == ["reading pending files", "counting", "prices", "reclaiming"])
    }

    @Test func theResidueOfARefusedRuleIsWhatALaterRuleLeft() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100, symbol: "XAU")
        try file.addPrices(daysOld: 0..<100, symbol: "EUR")
        let limited = Rule.prices("limited") { $0.limits.maxRows = 1 }
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        let report = try bench.run(file, limited, gold)
        #expect(report.rules.map(\.planned.expired) == [138, 69])
        #expect(report.rules.map(\.left.expired) == [69, 0])
    }

    // MARK: Stopping

    @Test func aSignalStopsAfterTheBatchInHand() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
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
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        let bench = Bench()
        bench.afterBatch = { _ in
            bench.signal = 15
            withUnsafeCurrentTask { $0?.cancel() }
        }
        nonisolated(unsafe) let (used, store) = (bench, file)
        let report = try await Task { try used.run(store, .prices()) }.value
        #expect(report.exitCode == 143 && report.rules[0].outcome == .interrupted)
        #expect(report.rules[0].message == "stopped by SIGTERM; 10 rows are deleted and committed before it")
    }

    @Test func rulesThatWereNotBegunAreInterruptedWithTheirOwnResidue() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100, symbol: "XAU")
        try file.addPrices(daysOld: 0..<100, symbol: "EUR")
        bench.signal = 2
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        let report = try bench.run(file, gold, .prices())
        #expect(report.rules.map(\.outcome) == [.interrupted, .interrupted])
        #expect(report.rules.map(\.left.expired) == [69, 69], "each row is residue of one rule")
        #expect(report.exitCode == 130)
        #expect(try file.count() == 200)
    }

    @Test func aSignalWithNothingLeftToDoChangesNothing() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<10)
        bench.signal = 15
        #expect(try bench.run(file, .prices()).exitCode == 0)
    }

    @Test func theBudgetStopsTheRun() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        bench.maxRuntime = .seconds(3)
        bench.afterBatch = { _ in self.bench.uptime += .seconds(1) }
        let report = try bench.run(file, .prices())
        #expect(report.rules.map(\.outcome) == [.interrupted])
        #expect(report.rules.map(\.done.deleted) == [30])
        #expect(report.rules.map(\.left.expired) == [39])
        #expect(report.rules[0].done.elapsed == .seconds(3))
        #expect(report.exitCode == 75)
    }

    /// What a run would delete is not known.
    @Test func aBudgetThatEndsBeforeThePendingRowsLeavesADryRunWithoutCounts() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        try pend("at,symbol\n\(1_795_219_200 - 60 * 86_400),XAU\n", besides: file)
        bench.maxRuntime = .zero
        let report = try bench.dryRun(file, .prices(), pending: true)
        #expect(report.exitCode == 75 && report.rules.isEmpty && report.warnings.isEmpty)
        #expect(report.failure?.contains("before all pending files were read; nothing was counted") == true)
        #expect(try bench.run(file, .prices(), pending: true).exitCode == 75)
        #expect(try file.count() == 100)
    }

    /// The rest of a file is imported by the next run, and none of its rows has come back.
    @Test func aRunThatIsStoppedBeforeTheLastPendingRowDoesNotSayThatItLeftNone() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<10)
        let rule = Rule.prices { $0.limits.maxLateRows = 0 }
        try pend("at,symbol\n\(1_795_219_200 - 60 * 86_400),XAU\n", besides: file)
        bench.maxRuntime = .zero
        let stopped = try bench.run(file, rule, pending: true)
        #expect(stopped.rules.map(\.outcome) == [.completed] && stopped.runOutcome == .interrupted)
        var records = RecordedRules()
        bench.recorder.past.rules = stopped.ruleLines.compactMap { RunMemory.CarriedOut(line: $0, &records) }
        #expect(bench.recorder.past.rules.map(\.leftNone) == [false])
        bench.recorder.past.agreed = stopped.agreedLines?.compactMap(AgreedRule.init) ?? []
        bench.maxRuntime = nil
        let next = try bench.run(file, rule, pending: true)
        #expect(next.rules.map(\.outcome) == [.completed] && next.deletedCount == 1 && next.pending.saved == 1)
    }

    @Test func aSignalWithNoPendingFileLeftChangesNothing() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<10)
        bench.signal = 15
        #expect(try bench.run(file, .prices(), pending: true).exitCode == 0)
    }

    @Test func aBudgetSpentWithTheLastRowIsNoError() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<41)
        bench.maxRuntime = .seconds(1)
        bench.afterBatch = { _ in self.bench.uptime += .seconds(1) }
        let report = try bench.run(file, .prices())
        #expect(report.rules.map(\.outcome) == [.completed])
        #expect(report.exitCode == 0)
    }

    // MARK: Rows that arrive

    /// Rows that the first rule leaves expire by the second, too, and are the oldest.
    @Test func whatALaterRuleDeletesIsNotLeft() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<60)
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
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
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
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
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
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        let writer = HookedWriter(try file.writer()) { change throws(StoreError) in
            guard change == .delete || change == .complete else { return }
            throw StoreError(.inputOutput, store: "prices", message: change == .delete ? "first" : "second")
        }
        let report = try bench.run(file, .prices { $0.isArchived = true }, archive: file.folder.path, writer: writer)
        #expect(report.failure?.hasSuffix("first; nothing was deleted") == true)
        #expect(report.archive?.isComplete == false && report.exitCode == 74)
    }

    @Test func anArchiveThatCannotBeCompletedIsNamed() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
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
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        let report = try bench.run(
            file, .prices { $0.reclaim = .vacuum }, writer: try failing(file, before: .reclaim, kind))
        #expect(report.deletedCount == 69 && report.exitCode == exitCode)
        #expect((report.failure == nil) == (exitCode == 0))
        #expect(
            report.warnings.contains { $0.hasPrefix("space not reclaimed") } == (exitCode == 0), "\(report.warnings)")
    }

    @Test func aPolicyThatDoesNotFitIsRecordedAndDeletesNothing() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        let pending = try pend("at,symbol\n1795219200,XAU\n", besides: file)
        #expect(throws: PolicyError.self) {
            try bench.run(file, .prices(), .prices("b") { $0.entity = "prce" }, pending: true)
        }
        #expect(bench.recorder.finished.map(\.exitCode) == [78])
        let failure = bench.recorder.finished.first?.failure
        #expect(failure?.hasPrefix("the store has no entity 'prce'") == true, "\(failure ?? "")")
        #expect(try file.count() == 100)
        #expect(FileManager.default.fileExists(atPath: pending.path), "no pending file was taken")
    }

    @Test func aLedgerThatCannotBeginStopsTheRunBeforeAnything() throws {
        final class Broken: RunRecorder {
            func memory() throws -> RunMemory { throw StoreError(.cannotCreate, store: "ledger", message: "no") }
            func begin(_ report: RunReport, isChanging: Bool) throws {}
            func finish(_ report: RunReport) throws {}
            func chainHead() throws -> String? { nil }
            func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun] { [:] }
        }
        let file = try PriceFile()
        try file.addPrices(daysOld: [0, 50])
        let setup = RunSetup(
            policy: file.policy(.prices()), runID: "01TEST", asOf: PriceFile.now, clock: { PriceFile.now },
            uptime: { .zero })
        let run = Run(
            setup: setup, writer: try file.writer(), recorder: Broken(),
            logger: Logger(label: "test") { _ in LogCapture() },
            signal: { nil })
        #expect(throws: StoreError.self) { try run.perform() }
        #expect(try file.count() == 2)
    }

    /// The rows of a feed that has died stay, until rows arrive again.
    @Test func aFeedThatHasStoppedKeepsItsRows() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<60)
        func night(_ number: Int64) throws -> RunReport.RuleReport { try bench.night(number, file) }
        #expect(try night(0).done.deleted == 29)
        #expect(bench.recorder.past.rules.count == 1)
        for number in 1...7 { #expect(try night(Int64(number)).done.deleted == 1) }
        for number in 8...9 {
            let rule = try night(Int64(number))
            #expect(rule.refusal == .feedStopped && rule.done.deleted == 0)
            // That row may be gone.
            let day = "2026-11-21 00:00:00Z"
            #expect(rule.message?.contains("no row newer than \(day) has arrived since \(day), and limits") == true)
        }
        try file.addPrices(daysOld: [-9])
        #expect(try night(10).done.deleted == 3)
        // From here on this row is the newest.
        #expect(try night(17).refusal == nil)
        #expect(try night(18).refusal == .feedStopped)
    }

    /// A rule that waits for another reason still sees how far its rows have come.
    @Test func aFeedStopsAlsoWhileItsRuleWaits() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<60)
        func night(_ number: Int64, accept: Set<RefusalCode> = []) throws -> RefusalCode? {
            bench.options.accept = accept
            return try bench.night(number, file, .prices { $0.limits.maxRows = 1 }).refusal
        }
        #expect(try night(0, accept: [.tooManyRows]) == nil)
        try file.addPrices(daysOld: [-1])
        for number in 2...9 { #expect(try night(Int64(number)) == .tooManyRows) }
        #expect(try night(10, accept: [.tooManyRows]) == .feedStopped)
    }

    /// A row of the future does not make a feed live.
    @Test func aFeedWithARowOfTheFutureHasStoppedToo() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: Array(0..<60) + [-400])
        bench.options.accept = [.futureDates]
        func night(_ number: Int64) throws -> RefusalCode? { try bench.night(number, file).refusal }
        #expect(try [0, 7, 8].map(night) == [nil, nil, .feedStopped])
    }

    /// What a rule keeps of its rows says nothing about their feed.
    @Test(arguments: [
        Rule.prices { $0.keepLast = Rule.KeepLastSetting(count: 3, per: []) },
        .prices { $0.thin = Rule.ThinSetting(tiers: [.init(.year, age: nil)]) },
        .prices { $0.latest = Instant(unixSeconds: 1_900_000_000) },
    ]) func aFeedHasStoppedAlsoForARuleThatChanges(_ changed: Rule) throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<60)
        for number in [0, 5] { #expect(try bench.night(Int64(number), file).refusal == nil) }
        for number in 8...9 {
            let rule = try bench.night(Int64(number), file, changed)
            #expect(rule.refusal == .feedStopped && rule.done.deleted == 0)
        }
    }

    /// The time without runs began after the last row had come, so it does not count as one between two runs.
    @Test func aFeedThatStoppedBeforeATimeWithoutRunsIsRefusedInEachRun() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<60)
        bench.options.accept = [.clockJumped]
        func night(_ number: Int64) throws -> RefusalCode? { try bench.night(number, file).refusal }
        #expect(try [0, 1, 25, 25, 26].map(night) == [nil, nil, .feedStopped, .feedStopped, .feedStopped])
    }

    // MARK: Reports

    @Test func theLedgerRecordsTheStartAndTheEnd() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<100)
        let report = try bench.run(file, .prices())
        #expect(bench.recorder.begun.map(\.deletedCount) == [0])
        #expect(bench.recorder.finished.map(\.deletedCount) == [69])
        #expect(bench.recorder.finished.map(\.runID) == [report.runID])
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
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<20)
        _ = try bench.run(file, .prices { $0.reclaim = .vacuum })
        try file.addPrices(daysOld: [50])
        _ = try bench.run(file, .prices { $0.reclaim = .none })
        #expect(!bench.observer.stages.contains("reclaiming"))
    }

    @Test func anInterruptedRunDoesNotReclaim() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<41)
        bench.afterBatch = { _ in self.bench.signal = 2 }
        let report = try bench.run(file, .prices { $0.reclaim = .vacuum })
        #expect(report.rules.map(\.outcome) == [.completed])
        #expect(!bench.observer.stages.contains("reclaiming"))
        #expect(report.exitCode == 130, "the signal left the reclaim undone")
    }
}
