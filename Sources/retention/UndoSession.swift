import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// Everything that an undo needs, opened in the right order: store, lock, ledger.
struct UndoSession {
    let policy: Policy
    let request: Undo.Request
    let log: LogOpening.Log
    private let console: Console
    private let started: Instant
    private let runID: String
    /// The command line's time budget; nil: none.
    var maxRuntime: Duration?
    var observer: (any RunObserver)?

    init(console: Console, policy: Policy, request: Undo.Request, log: LogOpening.Log) {
        (self.console, self.policy, self.request) = (console, policy, request)
        started = SystemClock.now()
        runID = RunID.random(at: started)
        self.log = log.naming(runID, of: policy.store)
    }

    /// Predicts what the undo would restore.
    func dryRun() throws -> RunReport {
        let opening = StoreOpening(policy)
        let reader = try opening.reader()
        try opening.checkLock()
        try opening.requireAccess()
        return try Undo.predict(request, setup: setup(policy), reader: reader)
    }

    func run() throws -> RunReport {
        let opening = StoreOpening(policy)
        try opening.requireDatabase()
        let lock = try opening.lock()
        let interruption = Interruption()
        defer { withExtendedLifetime(lock) {} }
        let writer = try opening.writer()
        let ledger = try opening.ledgerUnderLock(log, console)
        return try Undo(
            request, setup: setup(try policy.completed(from: writer)), writer: writer, recorder: ledger,
            logger: log.logger, signal: { interruption.signal }
        ).perform()
    }

    private func setup(_ policy: Policy) -> RunSetup {
        var setup = RunSetup(
            policy: policy, runID: runID, asOf: started.toSecond, clock: SystemClock.now,
            uptime: SystemClock.uptime, sleep: SystemClock.sleep,
            observer: observer)
        // The policy's budget is for the nightly run.
        setup.maxRuntime = maxRuntime
        return setup
    }
}
