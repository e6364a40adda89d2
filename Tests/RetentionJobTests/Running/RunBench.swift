import Foundation
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// Keeps what a run records in its ledger, and fails where the ledger would.
final class RunKeeper: RunRecorder {
    var past = RunMemory()
    var finished: [RunReport] = []
    var failsAtEnd = false
    /// The reading of the past that fails, from 1.
    var failingMemory = 0
    private var memories = 0

    func memory(archived: (String) -> String?) throws -> RunMemory {
        memories += 1
        if memories == failingMemory { throw StoreError(.inputOutput, store: "ledger", message: "no past") }
        return past
    }

    func begin(_ report: RunReport, isChanging: Bool) throws {}

    func finish(_ report: RunReport) throws {
        if failsAtEnd { throw StoreError(.cannotCreate, store: "ledger", message: "no end") }
        finished.append(report)
    }

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
final class RunBench {
    var signal: Int32?
    var maxRuntime: Duration?
    var uptime = Duration.zero
    var now = PriceFile.now
    var options = Planner.Options()
    var recorder = RunKeeper()
    var log = LogCapture()
    var afterBatch: (Int) throws -> Void = { _ in }
    lazy var observer = BetweenBatches { [unowned self] in try afterBatch($0) }

    private func setup(_ policy: Policy) -> RunSetup {
        RunSetup(
            policy: policy, runID: "01TEST", asOf: now, options: options, maxRuntime: maxRuntime,
            clock: { self.now }, uptime: { self.uptime }, observer: observer)
    }

    func run(
        _ file: PriceFile, _ rules: Rule..., pending: Bool = false, archive: String? = nil,
        writer: (any RetentionWriter)? = nil
    ) throws -> RunReport {
        var policy = policy(file, rules, pending)
        policy.archive = archive.map { ArchiveSettings(place: .folder($0)) }
        return try Run(
            setup: setup(policy), writer: try writer ?? file.writer(), recorder: recorder,
            logger: Logger(label: "test") { _ in self.log }, signal: { self.signal }
        ).perform()
    }

    func dryRun(_ file: PriceFile, _ rules: Rule..., pending: Bool = false) throws -> RunReport {
        try DryRun(
            setup: setup(policy(file, rules, pending)), memory: recorder.past,
            logger: Logger(label: "test") { _ in self.log }
        ).perform(rehearsal: try file.reader())
    }

    /// Has the next run know of a run.
    func remember(_ report: RunReport) {
        var records = RecordedRules()
        recorder.past.rules = report.ruleLines.compactMap { RunMemory.CarriedOut(line: $0, &records) }
        recorder.past.agreed = report.agreedLines?.compactMap(AgreedRule.init) ?? []
    }

    /// A run so many days later. The next one remembers it.
    func night(_ number: Int64, _ file: PriceFile, _ rule: Rule = .prices()) throws -> RunReport.RuleReport {
        now = PriceFile.now.advanced(byMicroseconds: number * 86_400_000_000)
        let report = try run(file, rule)
        remember(report)
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
