package import PriceStore
package import RetentionPolicy

/// What a run and a dry run need to know before they begin.
package struct RunSetup {
    package var policy: Policy
    /// The name of the run, see ``RunID``.
    package var runID: String
    /// The instant from which ages are counted.
    package var asOf: Instant
    package var options: Planner.Options
    /// The time budget; nil: none. The command line's, or the policy's.
    package var maxRuntime: Duration?
    /// The system clock.
    package var clock: () -> Instant
    /// A clock that never jumps, for budgets and for how long things take.
    package var uptime: () -> Duration
    /// Waits for a time.
    package var sleep: (Duration) -> Void
    /// Saves the pending files into a store, or into a rehearsal of one. Not called where the policy names none.
    package var savePending: (any StoreInserter) throws -> RunReport.Pending
    package var observer: (any RunObserver)?

    package init(
        policy: Policy, runID: String, asOf: Instant, options: Planner.Options = Planner.Options(),
        maxRuntime: Duration? = nil, clock: @escaping () -> Instant, uptime: @escaping () -> Duration,
        sleep: @escaping (Duration) -> Void = { _ in },
        savePending: @escaping (any StoreInserter) throws -> RunReport.Pending,
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
        self.savePending = savePending
        self.observer = observer
    }

    /// An empty report of a run that begins now.
    func report(mode: RunReport.Mode, engine: String) -> RunReport {
        var report = RunReport(
            runID: runID, mode: mode, asOf: asOf, started: clock(), config: policy.file.path,
            configSHA256: policy.file.sha256, store: policy.store.written, engine: engine)
        report.hasPendingSources = !policy.pending.isEmpty
        return report
    }

    /// Throws every mistake of the policy that only the store shows.
    func check(_ reader: any StoreReader) throws {
        let mistakes = try StoreCheck.diagnostics(
            policy: policy, reader: reader, clock: clock(), includingAdvice: false
        ).filter { $0.severity == .error }
        guard mistakes.isEmpty else { throw PolicyError.invalid(mistakes, policy.file) }
    }

    /// Saves, or rehearses to save, the pending files.
    func pending(_ inserter: any StoreInserter) throws -> RunReport.Pending {
        guard !policy.pending.isEmpty else { return RunReport.Pending() }
        observer?.runDidBegin(stage: "reading pending files")
        defer { observer?.runDidEnd() }
        return try savePending(inserter)
    }

    func plan(_ reader: any StoreReader, memory: RunMemory, countsAllRows: Bool) throws -> Plan {
        observer?.runDidBegin(stage: "counting")
        defer { observer?.runDidEnd() }
        return try Planner(
            policy: policy, asOf: asOf, clock: clock(), memory: memory, options: options, countsAllRows: countsAllRows
        ).plan(reader: reader, uptime: uptime)
    }
}
