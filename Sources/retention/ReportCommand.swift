import ArgumentParser
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention report`: writes the review page.
struct ReportCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Writes a page for review: rules, rows by age, residue, refusals, past runs.",
        discussion: """
            The page is one file without scripts and external resources. It shows what a dry run finds now and the past \
            runs in the ledger. The store is opened read-only.

            EXAMPLES
              retention report --html review.html
              retention report -c prices.yaml --html - > prices.html
            """)

    @OptionGroup var policyOption: PolicyOption
    @Option(
        help: ArgumentHelp(
            "The file to write; an existing page is replaced. '-': standard output.", valueName: "file"),
        completion: .file())
    var html: String

    func run(_ console: Console) throws -> Int32 {
        guard !html.isEmpty else { throw CommandFailure.usage("--html needs a file name", hint: "name a file, or '-'") }
        let policy = try policyOption.read(orInstalled: true)
        let opening = StoreOpening(policy)
        let isForOutput = html == "-"
        let outputs = try opening.outputs()
        try outputs.check()
        if !isForOutput, let objection = outputs.objection(to: .page, at: html) {
            throw CommandFailure(
                exitCode: 73, message: "the page cannot be written: \(objection)",
                hint: "name a new file or an earlier page")
        }
        let session = RunSession(
            console: console, policy: policy, asOf: SystemClock.now().toSecond, options: Planner.Options(),
            log: LogOpening.Log(logger: Logger(label: "retention") { _ in SwiftLogNoOpLogHandler() }))
        let plan = try session.dryRun().report
        if let failure = plan.failure { throw CommandFailure(exitCode: plan.exitCode, message: failure) }

        let reader = try opening.reader()
        let completed = try policy.completed(from: reader)
        var ages: [AgeHistogram] = []
        for (rule, report) in zip(completed.rules, plan.rules) where rule.isEnabled {
            ages.append(try AgeHistogram.read(rule, report, zone: policy.timezone, reader))
        }
        var page = ReviewPage(plan: plan, runs: [], ages: ages, storeSizeBytes: try reader.sizeBytes())
        page.runs = try PastRuns(opening).ofStore()
        if let every = policy.expectedEvery {
            page.missed = MissedRuns(page.runs, every: every, zone: policy.timezone, now: SystemClock.now())
        }
        if isForOutput {
            try console.report(page.html)
        } else {
            try ReplacedFile.write(page.html, to: html, as: .page, hint: "check the folder and its permissions")
        }
        return 0
    }
}
