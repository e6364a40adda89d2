import ArgumentParser
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention run`: imports pending files and deletes expired rows, or predicts both.
struct RunCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        // Because it is parsed alone, it is not asked for completion scripts.
        _superCommandName: RetentionCommand.name,
        abstract: "Imports pending files and deletes expired rows.",
        discussion: """
            With --dry-run nothing is changed. The counts are exact: a run at the same instant deletes these rows.

            EXAMPLES
              retention run --dry-run
              retention run -c prices.yaml --quiet --max-runtime 10min
            """)

    @OptionGroup var policyOption: PolicyOption
    @Flag(name: [.customShort("n"), .long], help: "Show what would be deleted; change nothing.")
    var dryRun = false
    @Option(
        help: ArgumentHelp(
            "With --dry-run: show this many of the oldest and the newest rows to delete, and of the first to stay.",
            valueName: "rows"))
    var sample: Int?
    @Option(
        help: ArgumentHelp("With --dry-run: save a plan, which --plan carries out.", valueName: "file"),
        completion: .file())
    var savePlan: String?
    @Option(help: ArgumentHelp("How long a saved plan is valid (default: 24h).", valueName: "duration"))
    var validFor: String?
    @Option(
        help: ArgumentHelp(
            "Carry out a saved plan: the same instant, policy, store and rows, or nothing.", valueName: "file"),
        completion: .file())
    var plan: String?
    @Option(help: ArgumentHelp("Only this rule; can be repeated.", valueName: "name"), completion: .rules)
    var rule: [String] = []
    @OptionGroup var asOfOption: AsOfOption
    @Option(
        help: ArgumentHelp("Accept this refusal in this run; can be repeated.", valueName: "code"),
        completion: .list(RefusalCode.acceptable.map(\.rawValue)))
    var accept: [String] = []
    @Flag(
        help: ArgumentHelp(
            "Rebuild a SQLite store without the expired rows. Use it when most rows are expired and all other programs are stopped."
        ))
    var rebuild = false
    @Option(
        help: ArgumentHelp("The method of the engine to use.", valueName: "name", visibility: .private))
    var method: String?
    @Option(help: ArgumentHelp("Wait up to this long while the store is locked.", valueName: "duration"))
    var wait: String?
    @Flag(help: "Print each distinct SQL statement and its query plan to standard error.")
    var verbose = false
    @OptionGroup var output: OutputOptions

    func run(_ console: Console) throws -> Int32 {
        let started = SystemClock.now()
        var options = Planner.Options()
        options.accept = Set(try accept.map(OptionValue.refusalCode))
        options.method = rebuild ? "rebuild" : method
        let budget = try output.budget()
        let wait = try wait.map { try OptionValue.duration($0, option: "--wait") }
        try asOfOption.check()
        if let sample {
            guard dryRun else { throw CommandFailure.usage("--sample needs --dry-run") }
            guard (1...1000).contains(sample) else {
                throw CommandFailure.usage("--sample takes a number from 1 to 1000")
            }
        }

        try checkPlanOptions()
        let validity = try validFor.map { try OptionValue.duration($0, option: "--valid-for") }

        let policy = try policyOption.read(takesMany: true, isChecked: false, forPastRuns: !dryRun)
        options.ruleNames = try rule.map { try OptionValue.ruleName($0, in: policy) }
        if let mistakes = policy.mistakes {
            let asOf = try? asOfOption.instant(for: policy, clock: started)
            try? tellNotBegun(policy, at: asOf ?? started.toSecond, options, console)
            throw mistakes
        }
        let planFile = try plan.map { try PlanFile(reading: $0, for: policy, clock: started) }
        if let saved = planFile?.plan {
            (options.savedPlan, options.accept, options.ruleNames) = (saved, saved.accept, saved.ruleNames)
        }
        let asOf = try planFile?.plan.asOf ?? asOfOption.instant(for: policy, clock: started)
        if let stores = ManyStores(policy) {
            guard savePlan == nil, plan == nil else {
                throw CommandFailure.usage("a plan is for one store", hint: "name one of them: --store FILE")
            }
            return try runEach(stores, asOf, options, budget ?? policy.maxRuntime, wait, console)
        }
        var session = try session(policy, asOf, options, planFile, console)
        session.maxRuntime = budget
        session.wait = wait
        guard dryRun else {
            let report = try session.run()
            return try show(report, console, session.log)
        }
        try session.prepare()
        if let savePlan, let objection = try session.opening.outputs().objection(to: .plan, at: savePlan) {
            throw CommandFailure(
                exitCode: 73, message: "the plan cannot be written: \(objection)",
                hint: "name a new file or an earlier plan")
        }
        let (report, saved) = try session.dryRun(planValidity: savePlan == nil ? nil : validity ?? PlanFile.validity)
        if let savePlan, let saved { try PlanFile.write(saved, to: savePlan) }
        let code = try show(report, console, session.log)
        if let savePlan, let saved, !output.quiet, !output.format.isJSON {
            try console.report(
                "The plan is saved in \(SafeText.line(savePlan)), valid until \(Figures.instant(saved.validUntil.toSecond)).\n"
            )
        }
        return code
    }

    /// Records a run that does not begin, because its policy has mistakes, writes its figures, and runs the command of the policy.
    private func tellNotBegun(
        _ policy: Policy, at now: Instant, _ options: Planner.Options, _ console: Console
    ) throws {
        if let stores = ManyStores(policy) {
            _ = try runEach(stores, now, options, nil, nil, console)
        } else {
            var session = try session(policy, now, options, nil, console)
            _ = try session.run()
        }
    }

    /// Carries out the command for each store of a pattern. If no report is printed, a line says what the error is about.
    private func runEach(
        _ stores: ManyStores, _ asOf: Instant, _ options: Planner.Options, _ budget: Duration?, _ wait: Duration?,
        _ console: Console
    ) throws -> Int32 {
        var reports: [RunReport] = []
        do {
            return try runEach(stores, asOf, options, budget, wait, console, &reports)
        } catch {
            let runs = reports.map(\.runID).filter { !$0.isEmpty }
            let others = runs.count > 1 ? "and \(runs.count - 1) more " : ""
            let files = "\(Figures.count(stores.files.paths.count, "store")) of \(stores.pattern.written)"
            let origin = (runs.first.map { "run \($0) " } ?? "") + others + "on \(MachineFacts.process.host), " + files
            if !dryRun { console.introduce(origin, exitCode: ExitStatus(of: error).code) }
            throw error
        }
    }

    /// Carries out the command for each store. What happens to one does not stop the others.
    ///
    /// - Parameter reports: gets the report of each run.
    private func runEach(
        _ stores: ManyStores, _ asOf: Instant, _ options: Planner.Options, _ budget: Duration?, _ wait: Duration?,
        _ console: Console, _ reports: inout [RunReport]
    ) throws -> Int32 {
        for problem in stores.problems { console.diagnose("warning", problem) }
        try StoreOpening(stores.policy).outputs().check()
        let ledger =
            stores.files.paths.isEmpty || stores.policy.mistakes != nil && stores.ledgerToRead == nil
            ? nil : try StoreOpening(stores.policy).openLedger(isWritten: !dryRun)
        let gone = try ledger.flatMap { try GoneStores(stores.policy, stores.files, in: $0.history()).text }
        if let gone { console.diagnose("warning", gone) }
        let end = budget.map { SystemClock.uptime() + $0 }
        let policies = try stores.policies(inTurnOf: budget == nil ? nil : ledger)
        let figures = dryRun ? nil : StoresFigures(stores.policy, policies, ledger)
        for var policy in policies {
            let (left, started) = (end.map { $0 - SystemClock.uptime() }, SystemClock.now())
            // A signal ends the run of a store with a code above 128.
            guard left.map({ $0 > .zero }) != false, reports.last.map({ $0.exitCode <= 128 }) != false else { break }
            // The stores share one mistake, so its command runs once.
            if policy.mistakes != nil, !reports.isEmpty { policy.onFailure = [] }
            // A locked store does not use up the time of the others.
            if let left { policy.store.busyTimeout = min(policy.store.busyTimeout, left) }
            var told: RunReport?
            do {
                try stores.requireSame(policy)
                var session = try session(policy, asOf, options, nil, console)
                (session.ledger, session.figuresOfMany) = (ledger, figures)
                session.requirement = { [policy] in try stores.checkName(policy) }
                (session.maxRuntime, session.wait) = (left, wait.map { min($0, left ?? $0) })
                if dryRun { try session.prepare() }
                reports.append(dryRun ? try session.dryRun().report : try session.run { told = $0 })
            } catch {
                let log = try output.log(isVerbose: verbose, isDryRun: true).open(console)
                var session = RunSession(console: console, policy: policy, asOf: asOf, options: options, log: log)
                (session.ledger, session.figuresOfMany, session.started) = (ledger, figures, started)
                var report = told ?? session.reportOfRunNotCarriedOut(error)
                if !dryRun, told == nil { session.writeMetrics(&report) }
                if dryRun { report.mode = .dryRun }
                reports.append(report)
            }
        }
        var codes = [try record(&reports, in: ledger, of: stores.policy, console)]
        do {
            try figures?.write()
        } catch {
            console.diagnose("error", "metrics not written: \(error.description)")
            codes.append(RunStatus.exitCode(of: error.kind))
        }
        // It is the reason of all of them.
        if let mistakes = stores.policy.mistakes { throw mistakes }
        let result = StoresReport(
            reports: reports, outputCode: RunStatus.worst(of: codes), stores: stores,
            leftCount: policies.count - reports.count, layout: console.layout)
        guard !output.quiet || result.exitCode != 0 else {
            if console.isJournal { console.diagnose(result.summary) }
            return 0
        }
        try console.report(output.format.isJSON ? result.document : result.text)
        return result.exitCode
    }

    /// Records the runs of many stores that wait for it.
    ///
    /// - Returns: the exit code.
    private func record(
        _ reports: inout [RunReport], in ledger: OpenLedger?, of policy: Policy, _ console: Console
    ) throws -> Int32 {
        guard let ledger, !ledger.waitingRuns.isEmpty else { return 0 }
        var opening = output.log(isVerbose: verbose, isDryRun: dryRun)
        opening.settings = policy.log
        do {
            try ledger.flush()
            let hash = try ledger.chainHead()
            for index in reports.indices where reports[index].ledgerHash == nil { reports[index].ledgerHash = hash }
            try opening.open(console).logger.info("runs recorded", metadata: ["ledger_hash": "\(hash ?? "")"])
            return 0
        } catch {
            let status = ExitStatus(of: error)
            let runs = Figures.count(ledger.waitingRuns.count, "run")
            console.diagnose("error", "\(runs) that changed nothing not recorded: \(status.reason)")
            return status.code
        }
    }

    /// A run or a dry run, which is not prepared.
    private func session(
        _ policy: Policy, _ asOf: Instant, _ options: Planner.Options, _ planFile: PlanFile?, _ console: Console
    ) throws -> RunSession {
        let opening = output.log(isVerbose: verbose, isDryRun: dryRun)
        var session = RunSession(
            console: console, policy: policy, asOf: asOf, options: options, log: try opening.open(console))
        (session.logOpening, session.allowsInsecure) = (opening, policyOption.allowInsecure)
        session.observer = output.observer(console)
        session.isVerbose = verbose
        session.sampleCount = sample ?? 0
        session.planFile = planFile
        return session
    }

    private func checkPlanOptions() throws(CommandFailure) {
        if savePlan != nil, !dryRun { throw .usage("--save-plan needs --dry-run") }
        if validFor != nil, savePlan == nil { throw .usage("--valid-for needs --save-plan") }
        guard plan != nil else { return }
        for (name, isGiven) in [
            ("--save-plan", savePlan != nil), ("--as-of", asOfOption.asOf != nil), ("--rule", !rule.isEmpty),
            ("--accept", !accept.isEmpty), ("--rebuild", rebuild),
        ] where isGiven {
            throw .usage(
                "--plan and \(name) are mutually exclusive",
                hint: "the plan already contains the options of the dry run")
        }
    }

    private func show(_ report: RunReport, _ console: Console, _ log: LogOpening.Log) throws(CommandFailure) -> Int32 {
        let text = TextReport(report, host: MachineFacts.process.host, console.layout)
        return try output.show(report, console, log, summary: text.summary) { text.text }
    }
}
