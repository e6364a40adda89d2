import Logging
package import PriceStore
package import RetentionPolicy

/// What a run or a dry run needs before it begins.
package struct RunSetup {
    package var policy: Policy
    /// The identifier of the run, see ``RunID``.
    package var runID: String
    /// The instant at which ages are computed.
    package var asOf: Instant
    package var options: Planner.Options
    /// The time budget, from the command line or the policy; nil: no budget.
    package var maxRuntime: Duration?
    /// The system clock.
    package var clock: () -> Instant
    /// A clock that never jumps, for budgets and durations.
    package var uptime: () -> Duration
    /// Waits for a duration.
    package var sleep: (Duration) -> Void
    package var observer: (any RunObserver)?
    /// Called with the unfinished report after each batch; nil: nobody asks.
    package var didProgress: ((RunReport) -> Void)?
    /// Writes the figures of a run that is about to be recorded, so that its record knows if they cannot be written; nil: there are none.
    package var willRecord: ((RunReport) throws(StoreError) -> Void)?
    /// How long the store was waited for before the run began.
    package var waited = Duration.zero
    /// Whether the run is one of all stores of the policy.
    package var isForAll = true
    /// The SHA-256 of the file of ``Planner/Options/savedPlan``.
    package var planSHA256: String?
    /// Opens an archive's file for reading; throws if it does not have the application id of archives. Nil: old archives are not searched
    /// for.
    package var openArchive: ((String) throws -> any RetentionReader)?

    package init(
        policy: Policy, runID: String, asOf: Instant, options: Planner.Options = Planner.Options(),
        maxRuntime: Duration? = nil, clock: @escaping () -> Instant, uptime: @escaping () -> Duration,
        sleep: @escaping (Duration) -> Void = { _ in },
        observer: (any RunObserver)? = nil
    ) {
        self.policy = policy
        self.runID = runID
        self.asOf = asOf
        self.options = options
        self.maxRuntime = maxRuntime ?? policy.maxRuntime
        self.clock = clock
        self.uptime = uptime
        self.sleep = sleep
        self.observer = observer
    }

    /// An empty report of a run that begins now.
    func report(mode: RunReport.Mode, engine: String) -> RunReport {
        var report = RunReport(
            runID: runID, mode: mode, asOf: asOf, started: clock(), config: policy.file.path,
            configSHA256: policy.file.sha256, store: policy.store.written, engine: engine)
        if policy.isOneOfMany, let file = policy.store.kind.file { report.storeOption = ["--store", file] }
        report.hasPendingSources = !policy.pending.isEmpty
        (report.hasArchive, report.hasLedger) = (policy.archive != nil, policy.ledger != .none)
        report.planSHA256 = planSHA256
        report.onlyRules = options.onlyRules(of: policy)
        report.note(wait: waited, because: "a locked store")
        return report
    }

    /// Imports the pending files into a store or a rehearsal of it.
    ///
    /// - Parameter note: called with notes for the operator that are not errors, each a sentence.
    func importPending(
        into inserter: any RetentionInserter, logger: Logger, mayContinue: @escaping () -> Bool,
        note: @escaping (String) -> Void
    ) throws -> RunReport.Pending {
        guard !policy.pending.isEmpty else { return RunReport.Pending() }
        observer?.runDidBegin(stage: "reading pending files")
        defer { observer?.runDidEnd() }
        return try PendingFolder(policy).save(
            into: inserter, sparing: HoldPlan.rowsToSpare(policy, clock: clock(), reader: inserter), now: clock(),
            logger: logger, uptime: uptime, sleep: sleep, mayContinue: mayContinue,
            note: note)
    }

    /// Whether the time budget is spent, counted from a time of `uptime`.
    func isBudgetSpent(since began: Duration) -> Bool { maxRuntime.map { uptime() - began >= $0 } ?? false }

    func plan(
        _ reader: any RetentionReader, memory: RunMemory, after report: RunReport, countsAllRows: Bool
    ) throws -> Plan {
        observer?.runDidBegin(stage: "counting")
        defer { observer?.runDidEnd() }
        var planner = Planner(
            policy: policy, asOf: asOf, clock: clock(), memory: memory, options: options, countsAllRows: countsAllRows)
        planner.pendingFailures = report.pending.failures
        // A first run says which part of all rows it deletes.
        planner.knownEntities = memory.knownEntities(for: report)
        return try planner.plan(reader: reader, uptime: uptime)
    }
}
