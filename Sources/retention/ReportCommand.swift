import ArgumentParser
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention report`: shows the review, or writes its page.
struct ReportCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Shows the last run, the next one and what needs attention, as text, JSON or a page.",
        usage: "retention report [<options>]",
        discussion: """
            The review is made from a dry run and from the past runs in the ledger. The store is opened read-only. \
            The page also shows the rows by their dates, what arrived and was deleted, and sizes; it is one file without \
            scripts and external resources.

            EXAMPLES
              retention report
              retention report --html review.html
              retention report -c prices.yaml --html - > prices.html
            """)

    @OptionGroup var policyOption: PolicyOption
    @Option(
        help: ArgumentHelp(
            "Write the page to this file; an existing page is replaced. '-': standard output.", valueName: "file"),
        completion: .file())
    var html: String?
    @OptionGroup var format: FormatOption

    func run(_ console: Console) throws -> Int32 {
        guard html != "" else { throw CommandFailure.usage("--html needs a file name", hint: "name a file, or '-'") }
        guard html == nil || !format.isJSON else {
            throw CommandFailure.usage("--html and --format are mutually exclusive", hint: "use one of them")
        }
        let policy = try policyOption.read(orInstalled: true, takesMany: true, forPastRuns: true)
        let opening = StoreOpening(policy)
        let file = html == "-" ? nil : html
        let outputs = try opening.outputs()
        try outputs.check()
        if let file, let objection = outputs.objection(to: .page, at: file) {
            throw CommandFailure(
                exitCode: 73, message: "the page cannot be written: \(objection)",
                hint: "name a new file or an earlier page")
        }
        let text: String
        var code: Int32 = 0
        var failure: String?
        if let stores = ManyStores(policy) {
            let review = try review(stores, console, &code)
            text = html != nil ? review.html : format.isJSON ? review.json : review.text(console.layout)
            failure = code == 0 ? nil : "not all stores are as they should be"
        } else {
            let review = try review(policy, opening, console, orOfLedger: true)
            failure = review.plan.failure
            code = failure == nil ? 0 : review.plan.exitCode
            text =
                html != nil
                ? ReviewPage(review).html : format.isJSON ? review.json : ReviewText(review, console.layout).text
        }
        if let file {
            try ReplacedFile.write(text, to: file, as: .page, hint: "check the folder and its permissions")
            // Nothing else is printed that says it.
            if let failure { console.diagnose("error", failure + "; see the page") }
        } else {
            try console.report(text)
        }
        return code
    }

    /// The review of many stores.
    ///
    /// - Parameter code: set to the worst exit code of those that cannot be read.
    private func review(_ stores: ManyStores, _ console: Console, _ code: inout Int32) throws -> StoresReview {
        var found: [StoresReview.Store] = []
        var ledgerCode: Int32 = 0
        code = try stores.each(console) { opening in
            let review = try review(opening.policy, opening, console)
            if review.isLedgerUnreadable { ledgerCode = review.plan.exitCode }
            found.append(StoresReview.Store(review))
        } otherwise: { opening, reason in
            // The ledger may be what cannot be read.
            let runs = (try? PastRuns(opening).ofPolicy().own) ?? []
            found.append(StoresReview.Store(opening.policy, trouble: reason, runs: runs, now: SystemClock.now()))
        }
        code = RunStatus.worst(of: [code, ledgerCode])
        let now = SystemClock.now()
        let gone = try? stores.ledgerToRead.map {
            try GoneStores(stores.policy, stores.files, in: $0.history(), upTo: now)
        }
        return StoresReview(
            stores.pattern.written, of: stores.policy, asOf: now.toSecond, found, problems: stores.problems, gone: gone)
    }

    /// The review of one store. If the ledger cannot be read, the plan has that as its failure.
    ///
    /// - Parameter orOfLedger: whether the past runs are enough if the store cannot be read, and the rules if a run could not make its
    ///   archive. Then the plan has the failure.
    private func review(
        _ policy: Policy, _ opening: StoreOpening, _ console: Console, orOfLedger: Bool = false
    ) throws -> Review {
        var session = RunSession(
            console: console, policy: policy, asOf: SystemClock.now().toSecond, options: Planner.Options(),
            log: LogOpening.Log(logger: Logger(label: "retention") { _ in SwiftLogNoOpLogHandler() }))
        session.ledger = opening.ledger
        do {
            let past = try PastRuns(opening).ofPolicy()
            session.due = past.own.due(of: policy, now: SystemClock.now())?.due
            let plan = try session.dryRun(needsAccess: false).report
            if let failure = plan.failure, plan.rules.isEmpty || !orOfLedger {
                throw CommandFailure(exitCode: plan.exitCode, message: failure)
            }
            return try reviewNow(plan, policy, opening, past: past)
        } catch let error as StoreError where opening.isOfLedger(error) {
            session.ignoresLedger = true
            var plan = try session.dryRun(needsAccess: false).report
            guard !plan.rules.isEmpty else { throw error }
            let status = ExitStatus(of: error)
            (plan.failure, plan.exitCode) = (status.reason, status.code)
            // A part of it may be readable.
            let past = (try? PastRuns(opening).ofPolicy()) ?? (own: [], others: [])
            var review = try reviewNow(plan, policy, opening, past: past)
            review.isLedgerUnreadable = true
            return review
        } catch  where orOfLedger && (error is PolicyError || ExitStatus(of: error).isOfStore) {
            let past = try PastRuns(opening).ofPolicy()
            guard !past.own.isEmpty else { throw error }
            return Review(
                plan: session.reportOfRunNotCarriedOut(error), runs: past.own, others: past.others, policy: policy)
        }
    }

    private func reviewNow(
        _ plan: RunReport, _ policy: Policy, _ opening: StoreOpening, past: (own: [LedgerRun], others: [LedgerRun])
    ) throws -> Review {
        let reader = try opening.reader()
        let completed = try policy.completed(from: reader)
        var dates: [String: Series] = [:]
        var reached: [String: Set<String>] = [:]
        for rule in completed.rules where rule.isEnabled {
            guard let report = plan.rules.first(where: { $0.name == rule.name }) else { continue }
            // Entities of a model inherit from each other, so a delete may reach any of them.
            if let entity = try reader.entity(named: rule.entity), entity.model == nil {
                let sources = try SchemaAdvice.incomingRelationships(of: entity, in: reader).map(\.source.folded)
                reached[rule.name] = Set(sources)
            }
            dates[rule.name] = try Series.dates(rule, report, now: plan.asOf, zone: policy.timezone, reader)
        }
        return Review(
            plan: plan, runs: past.own, others: past.others, dates: dates, storeSizeBytes: try reader.sizeBytes(),
            policy: completed, reached: reached)
    }
}
