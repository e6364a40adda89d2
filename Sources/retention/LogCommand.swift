import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention log`: shows past runs from the ledger.
struct LogCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Shows past runs, the newest last.",
        discussion: """
            A run whose process was killed is shown as crashed. Nothing needs to be done: the next run continues where it \
            stopped. Dry runs are not recorded. With expected_every in the policy, missed runs are shown too.

            EXAMPLES
              retention log --last 5 --rule yahoo-gold
              retention log --since 7d --outcome refused --json
              retention log --run last
              retention log --verify
            """)

    @OptionGroup var policyOption: PolicyOption
    @Option(help: ArgumentHelp("At most this many runs.", valueName: "n"))
    var last = 20
    @Option(help: ArgumentHelp("Only this rule.", valueName: "name"), completion: .rules)
    var rule: String?
    @Option(help: ArgumentHelp("Only runs that started then or later, or at most so long ago.", valueName: "time"))
    var since: String?
    @Option(
        help: ArgumentHelp("Only runs, or rules, with this outcome.", valueName: "word"),
        completion: .list(Self.outcomes))
    var outcome: String?
    @Option(
        name: .customLong("run"),
        help: ArgumentHelp(
            "One run in full; the first characters of its ID are enough. last: the newest.", valueName: "id"),
        completion: .runs)
    var runID: String?
    @OptionGroup var format: FormatOption
    @Flag(help: "Show only missed runs; exit with 65 if there is one.")
    var missed = false
    @Flag(help: "Check that no record was changed, removed or moved; exit with 74 if one was.")
    var verify = false
    @Option(
        help: ArgumentHelp(
            "With --verify: a hash that an earlier run reported. The chain must still contain it.",
            valueName: "hash"))
    var head: String?

    func run(_ console: Console) throws -> Int32 {
        guard last > 0 else {
            throw CommandFailure.usage("--last \(last): must be greater than zero", hint: "write 1 or more")
        }
        guard !missed || !verify else {
            throw CommandFailure.usage("--missed and --verify are mutually exclusive", hint: "use one of them")
        }
        guard !verify || !format.isJSON else {
            throw CommandFailure.usage("--verify prints no JSON", hint: "its exit code says whether the chain is whole")
        }
        let head = try head.map(Self.hash)
        guard head == nil || verify else {
            throw CommandFailure.usage("--head needs --verify", hint: "add --verify")
        }
        let outcome = try outcome.map { word in
            if let hint = Self.noOutcomes[word.lowercased()] {
                throw CommandFailure.usage("--outcome '\(word)' is no outcome of a run", hint: hint)
            }
            return try OptionValue.word(word, option: "--outcome", of: Self.outcomes, otherNames: Self.otherNames)
        }
        let policy = try policyOption.readForPastRuns(console)
        let since = try since.map { try OptionValue.past($0, option: "--since", zone: policy.timezone) }
        guard policy.ledger != .none else {
            throw CommandFailure(
                exitCode: 66, message: "\(policy.file.path) keeps no ledger (ledger: none)",
                hint: "remove the line from the policy; later runs are then recorded")
        }
        let opening = StoreOpening(policy)
        if verify { return try showVerification(opening, head, console) }
        if missed { return try showMissed(policy, opening, since: since, console) }
        let isLast = runID?.lowercased() == PastRuns.last
        let query = LedgerHistory.Query(
            last: isLast ? 1 : runID == nil ? last + 1 : nil, rule: rule, since: since, outcome: outcome,
            run: isLast ? nil : runID)
        let found = try policy.isOneOfMany ? PastRuns(opening).ofStore(query) : PastRuns(opening).runs(query)
        let leavesOut = runID == nil && found.count > last
        let runs = leavesOut ? Array(found.suffix(last)) : found
        // A rule of past runs may be in the policy no more.
        if runs.allSatisfy(\.report.rules.isEmpty), let rule { _ = try OptionValue.ruleName(rule, in: policy) }
        var missedRuns =
            policy.stores != nil
            ? try missedRuns(policy, opening, between: found) : try missedRuns(policy, opening)
        let others: Set<String> = policy.stores == nil ? try PastRuns(opening).otherPolicies() : []
        if !others.isEmpty { missedRuns?.namePolicy() }
        let report = LogReport(
            runs, missed: missedRuns, names: try PastRuns(opening).names(), storeName: policy.stores?.display,
            others: others, leavesOut: leavesOut)
        try console.report(try text(of: runs, report, PastRuns(opening), console))
        return 0
    }

    private func text(
        of runs: [LedgerRun], _ report: LogReport, _ past: PastRuns, _ console: Console
    ) throws -> String {
        if let runID {
            guard let first = runs.first else {
                throw CommandFailure(
                    exitCode: 66,
                    message: runID.lowercased() == PastRuns.last
                        ? "no run is recorded" : "run not found: no ID begins with '\(runID)'",
                    hint: "retention log shows the IDs, and with --last more of them; --run last is the newest")
            }
            guard runs.count == 1 || first.report.runID == runID else {
                throw CommandFailure.usage(
                    "--run '\(runID)' matches \(runs.count) runs", hint: "give more characters of the ID")
            }
            if !format.isJSON { return try LogReport.full(first, console.layout, isLast: past.isLast(first)) }
        }
        return format.isJSON ? report.json : report.table(console.layout)
    }

    // MARK: Verify

    private func showVerification(_ opening: StoreOpening, _ head: String?, _ console: Console) throws -> Int32 {
        guard let reader = try opening.ledgerReader() else {
            throw CommandFailure(
                exitCode: 66, message: "there is no ledger yet", hint: "the first run creates it; see `ledger`")
        }
        let verification = try LedgerVerification.read(reader, witness: head)
        try console.report(lines: verification.lines)
        return verification.fault == nil ? 0 : 74
    }

    /// Reads a hash in the form that runs print.
    private static func hash(_ text: String) throws(CommandFailure) -> String {
        guard text.utf8.count == 64, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw .usage(
                "--head: a hash has 64 hexadecimal digits",
                hint: "retention log --verify prints the newest; `ledger_hash` in the log and in JSON is that of a run")
        }
        return text.lowercased()
    }

    // MARK: Missed

    private func showMissed(
        _ policy: Policy, _ opening: StoreOpening, since: Instant?, _ console: Console
    ) throws -> Int32 {
        guard policy.expectedEvery != nil else {
            throw CommandFailure.usage(
                "\(policy.file.path) does not say how often a run is expected", hint: "add a line: expected_every: 1d")
        }
        if let stores = ManyStores(policy) { return try showMissed(of: stores, since: since, console) }
        guard let missed = try missedRuns(policy, opening, since: since, isOnlyNow: since == nil) else { return 0 }
        try showMissed(missed.objects(), missed.lines, console)
        return missed.isAlarm ? 65 : 0
    }

    private func showMissed(_ objects: [JSONText], _ lines: [String], _ console: Console) throws {
        let json: JSONText = ["schema": "retention.log/1", "missed": .array(objects)]
        try format.isJSON ? console.report(json.document + "\n") : console.report(lines: lines)
    }

    /// Shows the gaps of each store of a pattern. A new store waits for its first run, unless all of them do.
    private func showMissed(of stores: ManyStores, since: Instant?, _ console: Console) throws -> Int32 {
        for problem in stores.problems { console.diagnose("warning", problem) }
        var all: [(store: String, missed: MissedRuns)] = []
        let code = try stores.each(console) { opening in
            let policy = opening.policy
            guard let missed = try missedRuns(policy, opening, since: since, isOnlyNow: since == nil) else { return }
            all.append((policy.store.written, missed))
        }
        let known = all.filter { $0.missed.hasRuns }
        let late = (known.isEmpty ? all : known).filter(\.missed.isAlarm)
        let lines = late.flatMap { store, missed in missed.lines.map { "\(SafeText.line(store)): \($0)" } }
        let none = known.first.map { Array($0.missed.lines.prefix(1)) } ?? []
        try showMissed(late.flatMap { $0.missed.objects(of: $0.store) }, late.isEmpty ? none : lines, console)
        return RunStatus.worst(of: [code, late.isEmpty ? 0 : 65])
    }

    /// The gaps in which no run of any store of a pattern began: between the runs that were found and up to now, or if they were chosen by
    /// an option, between the newest ones.
    private func missedRuns(
        _ policy: Policy, _ opening: StoreOpening, between found: [LedgerRun]
    ) throws -> MissedRuns? {
        guard let every = policy.expectedEvery else { return nil }
        let isWhole = rule == nil && outcome == nil && runID == nil && !found.isEmpty
        let runs = try isWhole ? found : PastRuns(opening).runs(.init(last: last + 1))
        let own = runs.filter { !policy.isOther($0.report.config, withRules: $0.report.rules.map(\.name)) }
        var missed = MissedRuns(own, of: policy, every: every, zone: policy.timezone, now: SystemClock.now())
        // One that is expected may be among the runs that were not read.
        if runs.count > last { missed.gaps.removeAll { $0.after == nil } }
        return missed
    }

    /// - Parameter isOnlyNow: whether only a run that is missing now counts.
    private func missedRuns(
        _ policy: Policy, _ opening: StoreOpening, since: Instant? = nil, isOnlyNow: Bool = false
    ) throws -> MissedRuns? {
        guard let every = policy.expectedEvery else { return nil }
        var missed = MissedRuns(
            try PastRuns(opening).ofPolicy().own, of: policy, every: every, zone: policy.timezone, since: since,
            now: SystemClock.now())
        if isOnlyNow { missed.leaveOutPast() }
        return missed
    }

    private static let otherNames = [
        "success": "completed", "ok": "completed", "error": "failed", "failure": "failed", "killed": "crashed",
    ]

    /// Words in the table that are no outcomes, and what to write.
    private static let noOutcomes = [
        "missed": "write --missed",
        "undo": "an undo has an outcome, too; retention undo --list shows which runs were undone",
    ]

    private static let outcomes: [String] = {
        var words = LedgerRun.Outcome.allCases.map(\.rawValue)
        for outcome in RunReport.Outcome.allCases where outcome != .planned && !words.contains(outcome.rawValue) {
            words.append(outcome.rawValue)
        }
        return words
    }()
}
