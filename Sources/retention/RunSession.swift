import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// Everything that a run needs, opened in the right order: store, lock, ledger.
struct RunSession {
    let console: Console
    let policy: Policy
    let asOf: Instant
    let options: Planner.Options
    var log: LogOpening.Log {
        didSet { log = log.naming(runID, of: policy.store) }
    }
    /// How the log of the policy is opened by ``prepare()``; nil: there is nothing to prepare.
    var logOpening: LogOpening?
    /// Whether root may use what others can change.
    var allowsInsecure = false
    /// Whether the command of the policy can be run: no other user can change it.
    private(set) var mayNotify = true
    /// Whether the ledger and the figures can be written: they are not files that must not be.
    private(set) var mayRecord = true
    /// The ledger that is open for many stores; nil: the run opens it.
    var ledger: OpenLedger?
    /// Whether a dry run is made without what the ledger knows, because it cannot be read.
    var ignoresLedger = false
    var figuresOfMany: StoresFigures?
    /// Throws if the store cannot be one of many.
    var requirement: () throws -> Void = {}
    /// The command line's time budget; nil: the policy's.
    var maxRuntime: Duration?
    /// How long to wait for a locked store before the run begins; nil: not longer than `busy_timeout`.
    var wait: Duration?
    var observer: (any RunObserver)?
    /// The plan to carry out; nil: the policy decides.
    var planFile: PlanFile?
    /// How many rows of each kind a dry run shows.
    var sampleCount = 0
    /// When the next run is due, up to which a dry run counts the rows that will expire; nil: it does not.
    var due: Instant?
    /// Whether each distinct statement is shown with its query plan.
    var isVerbose = false
    /// When it began: a run that cannot begin may have waited for its store.
    var started = SystemClock.now()
    let runID = RunID.random(at: SystemClock.now())

    init(console: Console, policy: Policy, asOf: Instant, options: Planner.Options, log: LogOpening.Log) {
        self.console = console
        self.policy = policy
        self.asOf = asOf
        self.options = options
        self.log = log.naming(runID, of: policy.store)
    }

    /// Checks the files that a run writes and who can change what it uses, and opens the log.
    mutating func prepare() throws {
        guard var logOpening else { return }
        mayNotify = (try? PolicyAccess.checkPrograms(of: policy, allowsInsecure: allowsInsecure)) != nil
        mayRecord = false
        let outputs = try opening.outputs()
        try outputs.check()
        mayRecord = true
        if logOpening.isDryRun { try outputs.checkFolders() }
        logOpening.settings = policy.log
        log = try logOpening.open(console)
        try PolicyAccess.check(policy, allowsInsecure: allowsInsecure)
    }

    /// Predicts what a run would do.
    func dryRun(planValidity: Duration? = nil, needsAccess: Bool = true) throws -> (report: RunReport, plan: SavedPlan?)
    {
        try requirement()
        if let mistakes = policy.mistakes { throw mistakes }
        let opening = opening
        let reader = try opening.reader()
        try opening.checkLock()
        let ledger = ignoresLedger ? nil : try opening.history()
        let memory = ignoresLedger ? RunMemory() : try opening.memory(of: ledger, reader)
        try planFile?.check(reader, ledger)
        var dryRun = DryRun(
            setup: setup(try policy.completed(from: reader)), memory: memory, logger: log.logger)
        (dryRun.sampleCount, dryRun.due, dryRun.needsAccess) = (sampleCount, due, needsAccess)
        var plan: SavedPlan?
        dryRun.planValidity = planValidity
        dryRun.takePlan = { plan = $0 }
        let report: RunReport
        do {
            report = try dryRun.perform(rehearsal: reader)
        } catch let rule as UnplannableRule {
            throw CommandFailure(
                exitCode: 65,
                message: "no plan is saved: the rule \(rule.name) cannot be planned, because \(rule.reason)",
                hint:
                    "plan only the other rules, with --rule NAME for each of them; a table without a primary key needs one"
            )
        }
        if planValidity != nil, report.pending.saved > 0 || !report.pending.failures.isEmpty {
            throw CommandFailure(
                exitCode: 65, message: "a plan cannot be saved while there are pending files: a run imports them first",
                hint: "run without --save-plan first, or move the files away")
        }
        plan?.ledgerHash = try ledger?.chainHead()
        return (report, plan)
    }

    /// Carries out a run.
    ///
    /// - Parameter tell: gets the report of a run that could not begin, or that ended without one, before its error is thrown.
    mutating func run(orTell tell: (RunReport) -> Void = { _ in }) throws -> RunReport {
        var hasBegun = false
        do {
            let prepared = Result { try prepare() }
            if let mistakes = policy.mistakes { throw mistakes }
            try prepared.get()
            var report = try runLocked(&hasBegun)
            writeMetrics(&report)
            notify(&report)
            if let lost = log.file?.lostCount, lost > 0 {
                console.diagnose("retention: warning: \(Figures.count(lost, "record")) of the log could not be written")
            }
            return report
        } catch {
            var report = reportOfRunNotCarriedOut(error)
            log.fileLogger?.error("run not carried out", metadata: ["reason": "\(report.failure ?? "")"])
            if !hasBegun {
                record(&report, because: error)
            } else if error is PolicyError, policy.ledger != .none {
                // The run has recorded that the policy does not fit the store. Any other error is one of the ledger.
                report.runID = runID
            }
            log.namesRun = !report.runID.isEmpty
            let code = report.exitCode
            // The figures are those of the run that holds the lock.
            if (error as? RunLock.Failure)?.isHeld != true, mayRecord || policy.isOneOfMany { writeMetrics(&report) }
            // The process ends with the code of the error.
            report.exitCode = code
            // No report is printed.
            if log.isSilent, !policy.isOneOfMany {
                for warning in report.warnings { console.diagnose("warning", warning, of: log.origin) }
            }
            notifyOfRunNotCarriedOut(report)
            tell(report)
            if !policy.isOneOfMany { console.introduce(log.origin, exitCode: code) }
            throw error
        }
    }

    /// - Parameter hasBegun: set once the run itself records its outcome.
    private func runLocked(_ hasBegun: inout Bool) throws -> RunReport {
        try requirement()
        let opening = opening
        try opening.requireDatabase()
        let began = SystemClock.uptime()
        let (lock, writer) = try open(opening)
        let interruption = Interruption()
        defer { withExtendedLifetime(lock) {} }
        let ledger = try opening.ledgerUnderLock(log, console)
        try planFile?.check(writer, ledger?.history)
        var setup = self.setup(try policy.completed(from: writer))
        if wait != nil, SystemClock.uptime() - began > .seconds(1) { setup.waited = SystemClock.uptime() - began }
        if let write = try figuresInProgress(after: ledger?.history) {
            setup.willRecord = write
            var last = SystemClock.uptime()
            setup.didProgress = { report in
                guard SystemClock.uptime() - last >= Self.timeBetweenFigures else { return }
                last = SystemClock.uptime()
                // If it cannot be written now, the end of the run says so.
                try? write(report)
            }
        }
        let run = Run(
            setup: setup, writer: writer, recorder: ledger, logger: log.logger, signal: { interruption.signal })
        hasBegun = true
        return try run.perform()
    }

    /// Takes the run lock and opens the store. While they are locked it is tried again each second, until the time to wait is over.
    private func open(_ opening: StoreOpening) throws -> (RunLock?, any RetentionWriter) {
        guard let wait else { return (try opening.lock(), try opening.writer()) }
        let end = SystemClock.uptime() + wait
        while true {
            do {
                let found = (try opening.lock(), try opening.writer())
                // Only a change shows whether the store is locked.
                try found.1.transaction(.normal) {}
                return found
            } catch {
                guard ExitStatus(of: error).code == 75, SystemClock.uptime() < end else { throw error }
                SystemClock.sleep(.seconds(1))
            }
        }
    }

    var opening: StoreOpening {
        guard isVerbose else { return StoreOpening(policy, ledger: ledger) }
        return StoreOpening(policy, ledger: ledger) { [console] statement, plan in
            console.diagnose((["statement: " + statement] + plan.map { "  plan: " + $0 }).joined(separator: "\n"))
        }
    }

    private func setup(_ policy: Policy) -> RunSetup {
        var setup = RunSetup(
            policy: policy, runID: runID, asOf: asOf, options: options, maxRuntime: maxRuntime,
            clock: SystemClock.now, uptime: SystemClock.uptime, sleep: SystemClock.sleep, observer: observer)
        setup.planSHA256 = planFile?.sha256
        setup.isForAll = opening.isForAll
        setup.openArchive = { try StoreOpening.archiveReader($0) }
        return setup
    }
}
