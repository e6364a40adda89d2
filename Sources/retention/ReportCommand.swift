import ArgumentParser
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy

/// `retention report`: the review page.
struct ReportCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Writes a page for review: rules, rows by age, residue, refusals, past runs.",
        discussion: """
            The page is one file that loads nothing and has no script. It is made of what a dry run finds now and of the \
            ledger; the store is opened read-only.

            EXAMPLES
              retention report --html review.html
              retention report -c prices.yaml --html prices.html
            """)

    @OptionGroup var policyOption: PolicyOption
    @Option(
        help: ArgumentHelp("The file to write; one that is there is replaced.", valueName: "file"), completion: .file())
    var html: String

    func run(_ console: Console) throws -> Int32 {
        let policy = try PolicyAccess.read(policyOption.config, allowsInsecure: true)
        let opening = StoreOpening(policy)
        let session = RunSession(
            console: console, policy: policy, asOf: SystemClock.now().toSecond, options: Planner.Options(),
            log: LogOpening.Log(logger: Logger(label: "retention") { _ in SwiftLogNoOpLogHandler() }))
        let plan = try session.dryRun()

        let reader = try opening.reader()
        let completed = try policy.completed(from: reader)
        var ages: [AgeHistogram] = []
        for (rule, report) in zip(completed.rules, plan.rules) where rule.isEnabled {
            ages.append(try AgeHistogram.read(rule, report, zone: policy.timezone, reader))
        }
        var page = ReviewPage(plan: plan, runs: [], ages: ages, storeSizeBytes: try reader.sizeBytes())
        if let ledger = try opening.ledgerReader() {
            let store = try opening.realStorePath()
            page.runs = try LedgerHistory(reader: ledger).runs { opening.isRunAtWork(on: $0) }
                .filter { $0.report.store == store }
            page.verification = try LedgerVerification.read(ledger)
        }
        if let every = policy.expectedEvery {
            page.missed = MissedRuns(page.runs, every: every, zone: policy.timezone, now: SystemClock.now())
        }
        try ReplacedFile.write(page.html, to: html, hint: "check the folder and its permissions")
        return 0
    }
}
