import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention check`: reports every mistake in the policy file, then where the file does not match its store.
struct CheckCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Shows every mistake in the policy file, and where it does not match the store.",
        usage: "retention check [<options>]",
        discussion: """
            Opens the store read-only and changes nothing. Advice is not a mistake: it is about missing indexes, \
            rules that another rule covers, and ages shorter than the time between runs. Warns of each rule that the next run \
            would refuse now, or at --as-of, including refusals that depend on past runs; of rules that have never matched \
            a row; and of entities that get no new rows.

            EXAMPLES
              retention check
              retention check -c prices.yaml --offline
            """)

    @OptionGroup var policyOption: PolicyOption
    @OptionGroup var asOfOption: AsOfOption
    @Flag(help: "Check only the file; do not open the store.")
    var offline = false

    func run(_ console: Console) throws -> Int32 {
        try asOfOption.check()
        let policy: Policy
        do {
            policy = try policyOption.read(orInstalled: true, takesMany: true)
        } catch PolicyError.invalid(let diagnostics, let source) {
            // The mistakes are the report.
            try console.report(diagnostics, of: source)
            return 78
        }
        if let stores = ManyStores(policy), !offline { return try check(stores, console) }
        let (diagnostics, defects) = try self.diagnostics(StoreOpening(policy))
        try console.report(diagnostics, of: policy.file)
        guard !diagnostics.contains(where: { $0.severity == .error }) else { return 78 }
        if !offline { try StoreOpening(policy).requireAccess() }
        let refusedCount = diagnostics.count { $0.message.hasPrefix(StoreCheck.refusalPhrase) }
        let scope =
            offline
            ? "the store was not opened"
            : refusedCount > 0
                ? "\(policy.store.written) was checked, and \(refusedCount) "
                    + (refusedCount == 1 ? "rule will be refused" : "rules will be refused")
                : "\(policy.store.written) fits"
        let line =
            "\(SafeText.line(policy.file.path)): no errors; \(SafeText.line(scope))\(try pastScope(policy))"
        try console.report(lines: [line] + Self.avoided(defects))
        return 0
    }

    /// Checks each store of a pattern, and shows those that do not fit. Advice is that for the first one.
    private func check(_ stores: ManyStores, _ console: Console) throws -> Int32 {
        var wrongCount = 0
        let ledger = stores.ledgerToRead
        for (index, policy) in try stores.policies().enumerated() {
            var found: [Diagnostic] = []
            do {
                try stores.checkName(policy)
                let opening = StoreOpening(policy, ledger: ledger)
                found = try diagnostics(opening).found
                try opening.requireAccess()
            } catch {
                found.append(Diagnostic(at: policy.store.mark, ExitStatus(of: error).reason))
            }
            let isWrong = found.contains { $0.severity == .error }
            wrongCount += isWrong ? 1 : 0
            let shown = found.filter { $0.severity != .advice || index == 0 }
            guard !shown.isEmpty else { continue }
            try console.report(lines: ["\(SafeText.line(policy.store.written)):"])
            try console.report(shown, of: policy.file)
        }
        let count = Figures.count(stores.files.paths.count, "store")
        let line =
            wrongCount > 0
            ? "\(count) of '\(stores.pattern.written)', of which \(Figures.grouped(wrongCount)) do not fit"
            : "no errors; \(count) of '\(stores.pattern.written)' fit"
        try console.report(
            lines: stores.problems.map { "error: " + $0 } + ["\(SafeText.line(stores.policy.file.path)): \(line)"])
        return wrongCount > 0 || !stores.problems.isEmpty ? 78 : 0
    }

    /// Why the commands of the policy cannot be run here.
    private static func programTroubles(_ policy: Policy) -> [Diagnostic] {
        [("on_failure", policy.onFailure), ("on_success", policy.onSuccess)].compactMap { key, words in
            guard let trouble = words.first.flatMap({ NoticeProgram($0).trouble }) else { return nil }
            return Diagnostic(
                .warning, at: policy.marks.value(key), "'\(key)' cannot be run: \(SafeText.line(trouble))")
        }
    }

    /// The known defects that a run avoids, as a line; empty: there are none.
    private static func avoided(_ defects: [KnownDefect]) -> [String] {
        let names = Set(defects.map(\.component)).sorted().joined(separator: ", ")
        let count = Figures.count(defects.count, "known defect")
        return defects.isEmpty ? [] : ["a run avoids \(count) of \(names); see retention inspect"]
    }

    /// What the next run cannot compare with the past, as a clause that begins with a semicolon; blank: it can compare everything.
    private func pastScope(_ policy: Policy) throws -> String {
        let opening = StoreOpening(policy)
        guard !offline, try opening.outputs().diagnostics.isEmpty else { return "" }
        let memory = try opening.memory(opening.reader())
        guard memory.agreed.isEmpty, memory.unknownArchive == nil else { return "" }
        let reason = policy.ledger == .none ? "without a ledger" : "before the first run"
        return "; \(reason) nothing is compared with earlier runs"
    }

    private func diagnostics(_ opening: StoreOpening) throws -> (found: [Diagnostic], defects: [KnownDefect]) {
        let clock = SystemClock.now()
        let policy = opening.policy
        let files = try opening.outputs()
        // Offline, the policy may be for another machine.
        let outputs = files.diagnostics + (offline ? [] : files.missingFolders + ArchiveFolder.troubles(of: policy))
        let programs = offline ? [] : Self.programTroubles(policy)
        let advice = PolicyAdvice.diagnostics(policy, clock: clock) + outputs + programs
        guard !offline else { return (advice.byPlace, []) }
        let reader = try opening.reader()
        try opening.checkLock()
        // The file in the ledger's place may not be a ledger.
        let memory = try outputs.isEmpty ? opening.memory(reader) : RunMemory()
        let completed = try policy.completed(from: reader)
        let asOf = try asOfOption.instant(for: policy, clock: clock)
        var found = try StoreCheck.diagnostics(policy: completed, reader: reader, asOf: asOf, clock: clock)
        // Errors that prevent a run. Other errors are refusals, which may have more reasons.
        let obstacles = try StoreCheck.diagnostics(
            policy: completed, reader: reader, asOf: asOf, clock: clock, includingAdvice: false)
        if !obstacles.contains(where: { $0.severity == .error }) {
            found += try PendingFolder(completed).diagnostics(
                rehearsal: reader, sparing: HoldPlan.rowsToSpare(completed, clock: clock, reader: reader), now: clock
            ) { pending in
                try StoreCheck.refusals(
                    policy: completed, reader: reader, asOf: asOf, clock: clock, memory: memory, after: pending,
                    reported: found, archiveTroubles: { ArchiveFolder.troubles(of: completed, for: ($0, reader)) })
            }
        }
        found += ArchiveFolder.troubles(of: completed, in: reader)
        let reclaim = try StoreCheck.reclaimAdvice(policy: completed, reader: reader)
        // What must be changed comes before what may be changed.
        let all = (found + advice + reclaim).sorted { ($0.severity, $0.mark) < ($1.severity, $1.mark) }
        return (all, try reader.knownDefects())
    }
}
