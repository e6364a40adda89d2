import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy

/// `retention log`: past runs from the ledger.
struct LogCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Shows past runs, the newest last.",
        discussion: """
            A run whose process died is shown as crashed; nothing needs to be done, the next run goes on where it \
            stopped. Dry runs are not recorded.

            EXAMPLES
              retention log --last 5 --rule yahoo-gold
              retention log --since 2026-11-01 --outcome refused --format json
            """)

    @OptionGroup var policyOption: PolicyOption
    @Option(help: ArgumentHelp("At most this many runs.", valueName: "n"))
    var last = 20
    @Option(help: ArgumentHelp("Only this rule.", valueName: "name"))
    var rule: String?
    @Option(help: ArgumentHelp("Only runs that started then or later.", valueName: "instant"))
    var since: String?
    @Option(help: ArgumentHelp("Only runs, or rules, that ended so.", valueName: "word"))
    var outcome: String?
    @Option(
        name: .customLong("run"),
        help: ArgumentHelp("One run in full; the beginning of its identifier is enough.", valueName: "id"))
    var runID: String?
    @Option(help: "How the report is written.")
    var format = ReportFormat.text
    @Flag(help: .hidden) var follow = false
    @Flag(help: .hidden) var missed = false
    @Flag(help: .hidden) var verify = false

    func run(_ console: Console) throws -> Int32 {
        try refuseLaterFlags()
        guard last > 0 else { throw CommandFailure.usage("--last \(last): at least 1 run can be shown") }
        let outcome = try outcome.map { try OptionValue.word($0, option: "--outcome", of: Self.outcomes) }
        let policy = try PolicyAccess.read(policyOption.config, allowsInsecure: true)
        let since = try since.map { try OptionValue.instant($0, option: "--since", zone: policy.timezone) }
        guard policy.history != .none else {
            throw CommandFailure(exitCode: 66, message: "\(policy.file.path) keeps no ledger (history: none)")
        }
        var runs: [LedgerRun] = []
        let opening = StoreOpening(policy)
        if let reader = try opening.ledgerReader() {
            let query = LedgerHistory.Query(
                last: runID == nil ? last : nil, rule: rule, since: since, outcome: outcome, run: runID)
            runs = try LedgerHistory(reader: reader).runs(query) { opening.isRunAtWork(on: $0) }
        }
        try console.report(try text(of: runs, console))
        return 0
    }

    private func text(of runs: [LedgerRun], _ console: Console) throws(CommandFailure) -> String {
        if let runID {
            guard let first = runs.first else {
                throw CommandFailure(
                    exitCode: 66, message: "no run is recorded whose identifier begins with '\(runID)'")
            }
            guard runs.count == 1 || first.report.runID == runID else {
                throw .usage(
                    "--run '\(runID)' is the beginning of \(runs.count) identifiers", hint: "give more of it")
            }
            if format == .text {
                return LogReport.full(first, width: console.width, usesColour: console.usesColour)
            }
        }
        return format == .json
            ? LogReport(runs).json : LogReport(runs).table(width: console.width, usesColour: console.usesColour)
    }

    private func refuseLaterFlags() throws(CommandFailure) {
        for (isSet, name) in [(follow, "--follow"), (missed, "--missed"), (verify, "--verify")] where isSet {
            throw .usage("\(name) is not supported yet")
        }
    }

    /// The words that a run or a rule can end with.
    private static let outcomes: [String] = {
        var words = LedgerRun.Outcome.allCases.map(\.rawValue)
        for outcome in RunReport.Outcome.allCases where outcome != .planned && !words.contains(outcome.rawValue) {
            words.append(outcome.rawValue)
        }
        return words
    }()
}
