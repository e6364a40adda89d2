import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention undo`: restores what a run deleted, or lists the runs that can be undone.
struct UndoCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Restores the rows that a run deleted, from its archive.",
        discussion: """
            Needs `archive` in the policy at the time of the run. Rows that are already in the store are not changed. \
            A row whose key another row uses is skipped and listed. Afterwards each rule that would delete restored rows again \
            is refused (restored_rows), until it is changed to keep them, or a run passes --accept restored_rows. The \
            report names these rules.

            Triggers of the store that the undo would fire need --triggers skip or --triggers fire.

            EXAMPLES
              retention undo --list
              retention undo last --dry-run
              retention undo 01KAN3ZJ5V --dry-run
              retention undo 01KAN3ZJ5V --rule yahoo-gold
            """)

    @Argument(
        help: ArgumentHelp(
            "The run; the first characters of its ID are enough. last: the newest that deleted rows.", valueName: "run"),
        completion: .runs)
    var runID: String?
    @OptionGroup var policyOption: PolicyOption
    @Flag(help: "Show the runs that have an archive.")
    var list = false
    @Option(
        help: ArgumentHelp("Only rows that this rule deleted; can be repeated.", valueName: "name"),
        completion: .rules)
    var rule: [String] = []
    @Option(
        help: ArgumentHelp(
            "Whether triggers of the store fire: skip (they do not) or fire. Needed only if the undo would fire some.",
            valueName: "choice"))
    var triggers: TriggerChoice?
    @Flag(name: [.customShort("n"), .long], help: "Show what would be restored; change nothing.")
    var dryRun = false
    @OptionGroup var output: OutputOptions

    func run(_ console: Console) throws -> Int32 {
        guard (runID != nil) != list, runID != "" else {
            throw CommandFailure.usage(
                list ? "--list takes no run" : "name a run",
                hint: "retention undo --list shows the runs that have an archive")
        }
        let budget = try output.budget()
        var policy = try list ? policyOption.readForPastRuns(console) : policyOption.read(takesMany: true)
        if let stores = ManyStores(policy), let runID {
            let first = stores.files.paths.first.map(policy.forStore) ?? policy
            policy = try withLedger(of: first) { try stores.policy(ofRun: runID) }
        }
        guard policy.ledger != .none else {
            throw CommandFailure(
                exitCode: 66,
                message: "\(policy.file.path) has no ledger (ledger: none), and only the ledger records the archives",
                hint: "read the archive with any program for SQLite")
        }
        let store = StoreOpening(policy)
        let past = PastRuns(store)
        guard let runID else {
            let runs =
                try policy.stores == nil ? past.withArchives() : past.runs(.init()).filter { $0.report.archive != nil }
            if runs.isEmpty, !output.format.isJSON {
                if let text = try past.noteOfUnknownArchives() { console.diagnose("warning", text) }
                let memory = try policy.stores == nil ? store.history()?.memory(store: store.realStorePath()) : nil
                if let text = memory?.unknownStoreText(for: policy) {
                    console.diagnose("warning", "store not known: \(text)")
                }
            }
            let report = LogReport(runs, names: try past.names(), storeName: policy.stores?.display)
            try console.report(output.format.isJSON ? report.json : report.undoList(console.layout))
            return 0
        }
        let run = try withLedger(of: policy) { try past.run(runID) }
        try past.verify(run)
        let rules = try Self.rules(of: run, try rule.flatMap { try Self.rule($0, of: run) }, besides: past)
        var request = Undo.Request(
            run: run.report.runID, archive: try Self.archive(of: run, policy),
            rules: rules, undoneRules: run.undoneBy?.rules ?? [], wasBegun: run.undoneBy?.wasInterrupted ?? false)
        request.triggers = triggers
        if rule.isEmpty {
            request.unarchived = run.report.rules.filter { $0.done.archived == nil && $0.done.goneCount > 0 }.map {
                .init(rule: $0.name, rows: $0.done.goneCount)
            }
        }
        var opening = output.log(isDryRun: dryRun)
        opening.settings = policy.log
        var session = UndoSession(console: console, policy: policy, request: request, log: try opening.open(console))
        session.maxRuntime = budget
        session.observer = output.observer(console)
        var report = try dryRun ? session.dryRun() : session.run()
        if dryRun, rules.isEmpty {
            report.undo?.rules = Self.archivedRules(of: run)
            // The end of a crashed run is not recorded.
            if run.outcome == .crashed { report.undo?.unknown = ["rule_names"] }
        }
        return try output.show(report, console, session.log) {
            report.undo.map { UndoText(report, $0, console.layout).text } ?? ""
        }
    }

    // MARK: The run

    /// Reads the ledger. A killed undo can leave a change of it half done; opening it for writing rolls the change back.
    private func withLedger<Value>(of policy: Policy, _ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch let error as StoreError where error.kind == .permission && !dryRun {
            guard (try? StoreOpening(policy).ledgerWriter()) != nil else { throw error }
            return try read()
        }
    }

    /// The archive of a run. Throws if the run cannot be undone.
    private static func archive(of run: LedgerRun, _ policy: Policy) throws(CommandFailure) -> RunReport.Archive {
        let id = run.report.runID
        func refused(_ message: String, hint: String) -> CommandFailure {
            CommandFailure(exitCode: 65, message: message, hint: hint)
        }
        if let undo = run.report.undo {
            throw refused(
                "run \(id) is itself an undo, of run \(undo.run)",
                hint: "a rule that would delete its rows again is refused (restored_rows)")
        }
        switch (run.outcome, policy.archive?.place) {
        // A server deletes a row and copies it in one transaction, so the archive fits whatever the outcome of the run.
        case (.crashed, .schema(let name)?): return .left(at: name)
        case (.running, _):
            throw CommandFailure(exitCode: 75, message: "run \(id) has not ended", hint: "try again later")
        case (.crashed, _) where run.report.archive == nil:
            throw refused(
                "run \(id) crashed, and no archive of it is in the folder of the policy",
                hint: "a run that crashes before it deletes anything leaves none")
        default: break
        }
        guard let archive = run.report.archive else {
            let hasDeleted = run.report.rules.contains { $0.done.goneCount > 0 }
            throw refused(
                "run \(id) " + (hasDeleted ? "made no archive of the rows that it deleted" : "deleted nothing"),
                hint: hasDeleted
                    ? "set archive in the policy, so that later runs can be undone"
                    : "retention undo --list shows others")
        }
        if run.isArchiveThere == false, let until = archive.until, until < SystemClock.now() {
            throw CommandFailure(
                exitCode: 66,
                message: "the archive of run \(id) was kept until \(Figures.instant(until)) and is removed",
                hint: "nothing was changed; archive.keep in the policy says how long archives are kept")
        }
        return archive
    }

    /// The rules whose rows are restored; empty: all. Rules that are already undone are left out if an earlier run was undone later. That
    /// undo may have changed restored rows, and in a table without a key these cannot be told from others.
    private static func rules(
        of run: LedgerRun, _ named: [String], besides past: PastRuns
    ) throws -> [String] {
        guard let undone = run.undoneBy, let undo = undone.undos.first,
            let earlier = try past.withArchives().first(where: { other in
                other.number < run.number && other.undoneBy?.undos.contains { $0.started > undo.started } == true
            })
        else { return named }
        let left = (named.isEmpty ? archivedRules(of: run) : named).filter { !undone.rules.contains($0) }
        guard left.isEmpty else { return left }
        throw CommandFailure(
            exitCode: 65,
            message:
                "run \(run.report.runID) is undone already, by \(undo.run), and the earlier run \(earlier.report.runID) was undone "
                + "after it",
            hint: "nothing was changed; its rows are in the store, and their references may have been restored since")
    }

    private static func archivedRules(of run: LedgerRun) -> [String] {
        run.report.rules.filter { $0.done.archived ?? 0 > 0 }.map(\.name)
    }

    /// The rules of a run with a name, which may be that of a rule with a pattern.
    private static func rule(_ name: String, of run: LedgerRun) throws(CommandFailure) -> [String] {
        // Only its archive knows which rules a crashed run carried out.
        if run.outcome == .crashed { return [name] }
        let archived = run.report.rules.filter { $0.done.archived != nil }
        let names = archived.map(\.name)
        let found = archived.filter { $0.name == name || $0.family == name && ($0.done.archived ?? 0) > 0 }.map(\.name)
        if !found.isEmpty { return found }
        throw .usage(
            "run \(run.report.runID) has archived no rows of a rule '\(name)'"
                + NearestName.suggestion(for: name, in: names),
            hint: "the rules are \(names.joined(separator: ", "))")
    }
}

extension TriggerChoice: ExpressibleByArgument {}
