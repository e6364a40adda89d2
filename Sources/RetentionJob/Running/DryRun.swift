package import Logging
package import PriceStore
import RetentionPolicy

/// A rule whose rows a saved plan cannot name.
package struct UnplannableRule: Error {
    package var name: String
    package var reason: String
}

/// A run without deletes: it makes and reports the same plan. It never gets a writer.
package struct DryRun {
    package var setup: RunSetup
    /// The memory of past runs; a dry run reads the ledger and does not write it.
    package var memory: RunMemory
    package var logger: Logger
    /// The number of rows of each kind in a ``RowSample``; 0: none are read.
    package var sampleCount = 0
    /// When the next run is due, up to which the rows are counted that will expire; nil: they are not.
    package var due: Instant?
    /// How long a saved plan is valid; nil: no plan is saved.
    package var planValidity: Duration?
    /// Whether this user has to be able to write the store; a review is also for those who only read it.
    package var needsAccess = true
    /// Called with the plan to save.
    package var takePlan: (SavedPlan) -> Void = { _ in }

    package init(setup: RunSetup, memory: RunMemory = RunMemory(), logger: Logger) {
        self.setup = setup
        self.memory = memory
        self.logger = logger
    }

    /// Predicts what a run at this instant would import and delete.
    ///
    /// - Parameter rehearsal: the store, of which no byte may change, see ``RetentionInserter/rehearse(_:)``.
    /// - Returns: the report. If the store cannot be read, or the effects of the pending files cannot be counted, it has a `failure`, an
    ///   exit status and no rules. If a run could not write the store or make its archive, it has a `failure`, an exit status and the rules.
    /// - Throws: ``UnplannableRule`` if a plan is to be saved and cannot contain a rule; ``StoreError`` if the schema cannot be read;
    ///   ``PolicyError/invalid(_:_:)`` if the policy does not fit the store.
    package func perform(rehearsal: any RetentionInserter) throws -> RunReport {
        var report = setup.report(mode: .dryRun, engine: rehearsal.engine)
        try StoreCheck.requireNoMistake(of: setup.policy, in: rehearsal, clock: setup.clock())
        report.isFirst = memory.isBeforeFirstRun && setup.policy.ledger != .none
        if let text = memory.unknownStoreText(for: setup.policy) { report.warn(logger, "store not known", text) }
        var status = RunStatus()
        var obstacle: StoreError?
        do {
            // All counts are of one state of the store, whatever others write meanwhile.
            if PendingFolder(setup.policy).hasFiles {
                obstacle = try rehearsal.rehearse { try predict(&report, rehearsal) }
            } else {
                obstacle = try rehearsal.transaction(.normal) { try predict(&report, rehearsal) }
            }
            if report.pending.isInterrupted { status.note(RunStatus.tryAgain) }
        } catch let error as StoreError {
            report.rules = []
            obstacle = error
        }
        if let obstacle {
            report.failure = obstacle.description
            status.note(obstacle)
        }
        status.note(report)
        report.exitCode = status.exitCode
        report.finished = setup.clock()
        return report
    }

    /// Predicts the run.
    ///
    /// - Returns: why a run could not write the store or make its archive; nil: it could.
    private func predict(_ report: inout RunReport, _ rehearsal: any RetentionInserter) throws -> StoreError? {
        let began = setup.uptime()
        var notes: [String] = []
        defer { report.warnings += notes }
        report.pending = try setup.importPending(
            into: rehearsal, logger: logger, mayContinue: { !setup.isBudgetSpent(since: began) },
            note: { notes.append($0) })
        guard !report.pending.isInterrupted else {
            report.failure = "the time budget was spent before all pending files were read; nothing was counted"
            return nil
        }
        let plan = try setup.plan(rehearsal, memory: memory, after: report, countsAllRows: true)
        report.rules = plan.steps.map(\.predictedReport)
        memory.noteFirst(in: &report)
        report.takeHolds(of: plan)
        let rolledUp = plan.steps.indices.filter { plan.steps[$0].request?.deleting.rollup != nil }
        let candles = try rehearsal.candles(of: rolledUp.compactMap { plan.steps[$0].request })
        for (index, tally) in zip(rolledUp, candles) { report.rules[index].take(tally) }
        for index in plan.steps.indices {
            report.rules[index].planned.forecast = try plan.forecast(
                of: index, asOf: setup.asOf, clock: setup.clock(), due: due, zone: setup.policy.timezone,
                reader: rehearsal)
            guard sampleCount > 0 else { continue }
            report.rules[index].planned.sample = try plan.steps[index].sample(
                sampleCount, before: plan.steps[..<index], reader: rehearsal)
        }
        for warning in plan.warnings { report.warn(logger, "\(warning.title)", warning.text) }
        do throws(StoreError) {
            if needsAccess, let path = setup.policy.store.kind.file { try RunLock.requireAccess(storePath: path) }
            try ArchiveFolder.check(setup.policy, for: plan, in: rehearsal)
        } catch {
            return error
        }
        if let planValidity {
            takePlan(
                try saved(
                    plan, validUntil: report.started.advanced(byMicroseconds: planValidity.wholeMicroseconds), report,
                    rehearsal))
        }
        return nil
    }

    private func saved(
        _ plan: Plan, validUntil end: Instant, _ report: RunReport, _ reader: any RetentionReader
    ) throws -> SavedPlan {
        var saved = SavedPlan(
            policySHA256: setup.policy.file.sha256, store: reader.storeIdentifier, asOf: setup.asOf,
            made: report.started, validUntil: end)
        (saved.accept, saved.ruleNames) = (setup.options.accept, setup.options.ruleNames)
        for index in plan.steps.indices {
            do {
                if let step = try plan.saved(index, reader: reader) { saved.steps.append(step) }
            } catch {
                guard error.kind == .unsupported else { throw error }
                throw UnplannableRule(name: plan.steps[index].rule.name, reason: error.message)
            }
        }
        return saved
    }
}
