package import Logging
package import PriceStore
import RetentionPolicy

/// The job: imports pending files, plans, deletes, reclaims space, and reports.
///
/// The caller, who knows the engines, opens the lock, the ledger and the store. This class orders everything else.
package final class Run {
    let setup: RunSetup
    let writer: any RetentionWriter
    let logger: Logger
    let recorder: (any RunRecorder)?
    private let signal: () -> Int32?
    private let began: Duration
    /// Whether the last run crashed, or later ones failed after a crash.
    private(set) var isAfterCrash = false
    var report: RunReport
    var status = RunStatus()
    /// Whether the log already says that the store makes the run wait.
    var isWaitReported = false
    /// Where the archive of the run is; nil: none has begun.
    var archivePath: String?
    /// Whether there is a plan, and no past run raises doubts about the clock: without that no age is known.
    var trustsClock = false
    /// Whether an error has ended the run; no step begins after it.
    var isOver = false

    /// Creates a run; nothing happens before ``perform()``.
    ///
    /// - Parameters:
    ///   - recorder: the ledger; nil: the run is not recorded and the guards have no memory.
    ///   - signal: the number of the signal that asks the run to stop; nil: none has come.
    package init(
        setup: RunSetup, writer: any RetentionWriter, recorder: (any RunRecorder)?, logger: Logger,
        signal: @escaping () -> Int32?
    ) {
        self.setup = setup
        self.writer = writer
        self.logger = logger
        self.recorder = recorder
        self.signal = signal
        began = setup.uptime()
        report = setup.report(mode: .run, engine: writer.engine)
    }

    /// Carries out the run, once.
    ///
    /// - Returns: what was done, with the exit status, even after errors. Committed batches stay.
    /// - Throws: errors of the ledger before anything is done; ``PolicyError/invalid(_:_:)`` if the policy does not fit the store: this is
    ///   recorded and nothing is deleted.
    package func perform() throws -> RunReport {
        writer.isStopped = { [weak self] in self?.mayContinue == false }
        let memory =
            try recorder?.memory { store in
                setup.openArchive.flatMap { OldArchives.newest(of: store, setup.policy, in: writer, $0) }
            } ?? RunMemory()
        // Pending files and candles change the store before there is a plan.
        try recorder?.begin(
            report, isChanging: report.hasPendingSources || setup.policy.rules.contains { $0.rollup != nil })
        report.ruleLines = memory.ruleLines
        logger.info("run started", metadata: startMetadata)
        report.isFirst = memory.isBeforeFirstRun && recorder != nil
        if let text = memory.unknownStoreText(for: setup.policy) { report.warn(logger, "store not known", text) }
        var mistake: PolicyError?
        do {
            try StoreCheck.requireNoMistake(of: setup.policy, in: writer, clock: setup.clock())
            isAfterCrash = memory.hasCrash
            if isAfterCrash { try verify() }
            try savePending()
            try makeCandleTables()
            let plan = try setup.plan(
                writer, memory: memory, after: report, countsAllRows: setup.policy.metricsFile != nil)
            trustsClock = !plan.doubtsClock
            try ArchiveFolder.check(setup.policy, for: plan, in: writer)
            report.rules = plan.steps.map(\.report)
            memory.noteFirst(in: &report)
            if plan.steps.contains(where: { $0.disposition == .planned && $0.survey.expiredCount > 0 }) {
                try recorder?.begin(report, isChanging: true)
            }
            report.takeHolds(of: plan)
            // Another policy's run has not told what concerns this one.
            let told = memory.lastEnd(of: setup.policy)
            for warning in plan.warnings where warning.isNew(after: told, clock: setup.clock()) {
                report.warn(logger, "\(warning.title)", warning.text)
            }
            measureStore(before: plan)
            carryOut(plan)
            forecast(plan)
            report.ruleLines = memory.ruleLines(
                after: plan, report, policy: setup.policy, setup.options, clock: setup.clock())
            report.agreedLines = memory.agreedLines(
                after: report.runID, plan, of: setup.policy, setup.options, isForAll: setup.isForAll,
                clock: setup.clock())
            reclaim(after: plan)
        } catch let error as PolicyError {
            mistake = error
            status.note(RunStatus.wrongPolicy)
            report.failure = error.reason
        } catch {
            end(because: error)
        }
        finish(writesFigures: mistake == nil)
        if let mistake { throw mistake }
        return report
    }

    // MARK: Stages

    /// Checks for damage in what this run will change. What crashed the last run, a machine or its disk, may have damaged the store too,
    /// and a wrong index would delete the wrong rows.
    private func verify() throws(StoreError) {
        setup.observer?.runDidBegin(stage: "checking the store")
        writer.didBeginPhase = { [observer = setup.observer] in observer?.runDidBegin(stage: $0) }
        defer {
            writer.didBeginPhase = nil
            setup.observer?.runDidEnd()
        }
        var seen: Set<String> = []
        for name in setup.policy.rules.filter(\.isEnabled).map(\.entity) + setup.policy.pending.map(\.entity) {
            guard let entity = try writer.entity(named: name) else { continue }
            for name in [entity.name] + entity.incomingRelationships.map(\.source) where seen.insert(name).inserted {
                try writer.verify(entity: name)
            }
        }
        logger.info("store verified after a crash", metadata: ["entities": .init(seen.count)])
    }

    private func savePending() throws {
        guard report.hasPendingSources else { return }
        report.pending = try setup.importPending(
            into: writer, logger: logger, mayContinue: { self.mayContinue }, note: { self.report.warnings.append($0) })
        if report.pending.isInterrupted { noteInterruption(rowsRemain: true) }
    }

    private func carryOut(_ plan: Plan) {
        guard beginArchive(of: plan) else { return }
        for index in plan.steps.indices where plan.steps[index].disposition == .planned {
            writer.rowsToKeep = plan.steps[index].rowsToKeep
            let name = plan.steps[index].rule.name
            writer.didBeginPhase = { [observer = setup.observer] in observer?.runDidBegin(stage: "\(name): \($0)") }
            carryOut(index, of: plan)
        }
        writer.rowsToKeep = RowsToKeep()
        writer.didBeginPhase = nil
        compareArchived()
        completeArchive()
        flush()
        reportTriggerDeletes()
        recountResidue(plan)
        reportRowsLeft()
        noteDatesOfRefused(plan)
        for rule in report.rules.inFamilies { log(rule) }
    }

    private func flush() {
        guard !isOver, report.rules.contains(where: { $0.done.deleted > 0 }) else { return }
        do {
            try writer.flush()
        } catch {
            end(because: error)
        }
    }

    /// Reclaims space once for the whole file, in the strongest mode of the rules that deleted something.
    private func reclaim(after plan: Plan) {
        let strength: [ReclaimMode] = [.none, .auto, .incremental, .vacuum]
        let modes = zip(plan.steps, report.rules)
            .filter { $1.done.deleted > 0 || $1.done.cascaded > 0 }.map(\.0.rule.reclaim)
        guard !isOver,
            let mode = strength.last(where: modes.contains), mode != .none
        else { return }
        guard mayContinue else { return noteInterruption(rowsRemain: false) }
        setup.observer?.runDidBegin(stage: "reclaiming")
        defer { setup.observer?.runDidEnd() }
        do {
            let result = try writer.reclaim(
                ReclaimRequest(mode: mode, mayContinue: { self.mayContinue }, didFree: pauseAfterSlice))
            if let warning = result.warning { report.warn(logger, "space not reclaimed", warning) }
            if signal() != nil { noteInterruption(rowsRemain: false) }
        } catch  where error.kind == .busy {
            // All expired rows are deleted; the next run tries again to reclaim.
            report.warn(logger, "space not reclaimed", error.description)
        } catch {
            end(because: error)
        }
    }

    /// Pauses between two slices for as long as the last slice took.
    private func pauseAfterSlice(elapsed: Duration) {
        if (try? writer.isInUseByOthers()) != false { pauses.wait(elapsed) }
    }

    /// Measures the store, if something will be deleted.
    private func measureStore(before plan: Plan) {
        guard report.rules.contains(where: { $0.planned.expired > 0 && $0.outcome == .planned }) else { return }
        report.storeBytesBefore = try? writer.sizeBytes()
    }

    /// Records the run. If that fails, the deletes stay, and the exit status shows it.
    private func finish(writesFigures: Bool) {
        status.note(report)
        report.exitCode = status.exitCode
        report.finished = setup.clock()
        // An unreadable size is not a reason to fail.
        if !isOver { measure() }
        if writesFigures { tryFigures() }
        noteArchiveEnd()
        let old = findOldArchives()
        do {
            if !old.isEmpty { try recorder?.begin(report, isChanging: true) }
            try recorder?.finish(report)
            report.ledgerHash = try recorder?.chainHead()
            // Only after the run is recorded, so that no archive is removed without a record.
            remove(old)
        } catch {
            status.note(error)
            report.exitCode = status.exitCode
            report.warn(logger, "run not recorded", Self.text(of: error))
        }
        var metadata = report.metadata
        metadata["archive_path"] = report.archive.map { "\($0.path)" }
        metadata["archive_sha256"] = report.archive?.sha256.map { "\($0)" }
        logger.info("run finished", metadata: metadata)
    }

    /// Writes the figures once before the run is recorded. If that fails, the run stays done, and its exit status shows it.
    private func tryFigures() {
        guard let write = setup.willRecord else { return }
        do throws(StoreError) {
            try write(report)
        } catch {
            status.note(error)
            report.exitCode = status.exitCode
            report.warn(logger, "metrics not written", error.description)
        }
    }

    /// Counts the rows that expire next, which only monitoring asks a run for.
    private func forecast(_ plan: Plan) {
        guard !isOver, mayContinue, setup.policy.metricsFile != nil else { return }
        for index in plan.steps.indices {
            report.rules[index].planned.forecast = try? plan.forecast(
                of: index, asOf: setup.asOf, clock: setup.clock(), zone: setup.policy.timezone, reader: writer)
        }
    }

    private func measure() {
        report.storeSizeBytes = try? writer.sizeBytes()
        if let before = report.storeBytesBefore, let after = report.storeSizeBytes {
            report.reclaimedBytes = max(0, before - after)
        }
        guard setup.policy.metricsFile != nil else { return }
        // This reads all pages of the entity, so it needs a request for metrics.
        for index in report.rules.indices where report.rules[index].outcome != .disabled {
            report.rules[index].left.entityBytes = try? writer.sizeBytes(ofEntity: report.rules[index].entity)
        }
    }

    // MARK: Stopping

    /// Whether another batch, file or slice may begin.
    var mayContinue: Bool { !isOver && signal() == nil && !isBudgetSpent }

    private var isBudgetSpent: Bool { setup.isBudgetSpent(since: began) }

    /// Records why work remains: a signal, or the time budget. The budget matters only if rows remain.
    func noteInterruption(rowsRemain: Bool) {
        if let number = signal() {
            status.note(signal: number)
        } else if rowsRemain, isBudgetSpent {
            status.note(RunStatus.tryAgain)
        }
    }

    /// Why no batch may begin, for messages.
    var reasonToStop: String {
        isOver ? "the run ended before this rule was completed" : signalText ?? "the time budget ended"
    }

    private var signalText: String? {
        signal().map { "stopped by \($0 == 2 ? "SIGINT" : "SIGTERM")" }
    }

    /// Why an error ends a rule or the run: a signal or the end of the budget ends the running statement.
    func cause(_ error: any Error) -> String {
        let isStopped = (error as? StoreError)?.kind == .cancelled
        return isStopped && !mayContinue ? reasonToStop : Self.text(of: error)
    }

    /// Ends the run with an error, and says what is committed. Of several errors the first is the reason: others may follow from it.
    func end(because error: any Error) {
        let cause = cause(error)
        isOver = true
        status.note(error)
        if (error as? StoreError)?.kind == .cancelled { noteInterruption(rowsRemain: true) }
        let done =
            report.deletedCount == 0
            ? "nothing was deleted"
            : "\(Figures.count(report.deletedCount, "row", "is", "are")) deleted and committed"
        let failure = "\(cause); \(done)"
        report.failure = report.failure ?? failure
        logger.error("run failed", metadata: ["reason": "\(failure)"])
    }

    // MARK: Words

    private var startMetadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "engine": "\(report.engine)", "as_of": "\(report.asOf.rfc3339)", "config": "\(report.config)",
            "config_sha256": "\(report.configSHA256)",
        ]
        metadata["plan_sha256"] = report.planSHA256.map { "\($0)" }
        return metadata
    }

    private func log(_ rule: RunReport.RuleReport) {
        if let message = rule.message {
            let code = rule.refusal.map { Logger.MetadataValue.string($0.rawValue) }
            var metadata: Logger.Metadata = ["rule": "\(rule.name)", "reason": "\(message)"]
            metadata["refusal"] = code
            let codes = rule.refusalCodes
            if codes.count > 1 { metadata["refusals"] = "\(codes.map(\.rawValue).joined(separator: ","))" }
            logger.warning("rule not completed", metadata: metadata)
        }
        var metadata = rule.metadata
        metadata["rule"] = "\(rule.name)"
        logger.info("rule finished", metadata: metadata)
    }

    static func text(of error: any Error) -> String {
        (error as? StoreError)?.description ?? "an internal error: \(error)"
    }
}
