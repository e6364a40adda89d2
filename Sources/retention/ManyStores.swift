import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The stores of a policy with a pattern. One is open at a time.
struct ManyStores {
    let policy: Policy
    let pattern: StorePattern
    let files: StoreFiles
    /// The stores by their names in the paths of pending files; empty: there are no pending files.
    private let byName: [Substring: [String]]

    /// Looks for the files; nil: the policy has one store.
    init?(_ policy: Policy) {
        guard let pattern = policy.stores else { return nil }
        (self.policy, self.pattern) = (policy, pattern)
        var own = [policy.file.path, policy.log?.file].compactMap(\.self)
        if case .path(let ledger) = policy.ledger { own.append(ledger) }
        files = StoreFiles(pattern, ownPaths: own, isOwn: StoreOpening.isOwnFile)
        byName = policy.pending.isEmpty ? [:] : Dictionary(grouping: files.paths, by: Policy.name(ofStore:))
    }

    /// Throws if another file has taken the place of a store since the pattern was matched.
    func requireSame(_ policy: Policy) throws(CommandFailure) {
        guard let path = policy.store.kind.file, let real = FilePlace.realPath(path), real != path else { return }
        throw CommandFailure(
            exitCode: 74, message: "\(policy.store.written) was replaced by a link to \(real)",
            hint: "nothing was changed in it; the next run looks for the files anew")
    }

    /// Throws if a store cannot have pending files: its name is that of another one, or cannot be a part of their paths.
    func checkName(_ policy: Policy) throws(CommandFailure) {
        guard let path = policy.store.kind.file, case let name = Policy.name(ofStore: path), let same = byName[name]
        else { return }
        let shown = same.map(pattern.display)
        guard shown.count == 1 else {
            throw CommandFailure(
                exitCode: 78,
                message:
                    "\(shown.listed("and")) are \(shown.count == 2 ? "both" : "all") \(name): it is unknown which of them "
                    + "gets the rows of the pending files",
                hint: "nothing was changed; give the files different names, or leave one out with 'except'")
        }
        guard !name.hasPrefix("."), !name.contains("\\") else {
            throw CommandFailure(
                exitCode: 78, message: "the name of \(shown[0]) cannot be a part of the pending files",
                hint: "nothing was changed; rename the file, or leave it out with 'except'")
        }
    }

    /// The policy for one store.
    ///
    /// - Throws: ``CommandFailure`` if the pattern does not match the file.
    func policy(at path: String) throws(CommandFailure) -> Policy {
        guard let real = FilePlace.realPath(path), files.paths.contains(real) else {
            throw CommandFailure(
                exitCode: 66, message: "'\(pattern.written)' does not match \(path)",
                hint: "retention check shows which stores it matches")
        }
        return policy.forStore(real)
    }

    /// The policy for the store of a recorded run.
    ///
    /// - Parameter id: the first characters of the run's ID.
    func policy(ofRun id: String) throws -> Policy {
        guard id.lowercased() != PastRuns.last || files.paths.count == 1 else {
            throw CommandFailure.usage(
                "'\(PastRuns.last)' is the last run of one store, and '\(pattern.written)' matches "
                    + Figures.count(files.paths.count, "store"),
                hint: "name the run, or the store with --store FILE; retention log shows both")
        }
        let found = try policies().first {
            try id.lowercased() == PastRuns.last || !PastRuns(StoreOpening($0)).ofStore(.init(run: id)).isEmpty
        }
        guard let found else {
            throw CommandFailure(
                exitCode: 66, message: "no store of '\(pattern.written)' has a run '\(id)'",
                hint: "retention log shows the runs; with --store FILE they are those of one store")
        }
        return found
    }

    /// The policies for all stores.
    ///
    /// - Parameter ledger: if there is one, those come first whose last run is the longest ago.
    func policies(inTurnOf ledger: OpenLedger? = nil) throws -> [Policy] {
        let all = files.paths.map(policy.forStore)
        guard let ledger else { return all }
        let lastRuns = try zip(files.paths, all).map {
            try ledger.history(links: StoreOpening($1).storeLinks).lastRun(of: $0)
        }
        return zip(all, lastRuns).enumerated().sorted {
            ($0.element.1, $0.offset) < ($1.element.1, $1.offset)
        }.map(\.element.0)
    }

    /// The ledger; nil: there is none, or each store says why it cannot be read.
    var ledgerToRead: OpenLedger? { try? StoreOpening(policy).openLedger(isWritten: false) }

    /// Does something with each store, and shows why it cannot be done with one of them.
    ///
    /// - Returns: the worst exit code.
    func each(
        _ console: Console, _ body: (StoreOpening) throws -> Void,
        otherwise: ((StoreOpening, String) throws -> Void)? = nil
    ) throws -> Int32 {
        let ledger = ledgerToRead
        var code = exitCode
        for policy in try policies() {
            let opening = StoreOpening(policy, ledger: ledger)
            do {
                try body(opening)
            } catch {
                let status = ExitStatus(of: error)
                code = RunStatus.worst(of: [code, status.code])
                try otherwise?(opening, status.reason)
                    ?? console.diagnose("error", "\(policy.store.written): \(status.reason)")
            }
        }
        return code
    }

    /// What the pattern missed, each as a sentence without a full stop.
    var problems: [String] {
        files.problems + files.unused.map { "no file matches '\($0)' of 'except'" }
            + (files.paths.isEmpty ? ["no file matches '\(pattern.written)': nothing is deleted"] : [])
    }

    /// The exit code because of that: 66 without a store, 74 if a folder cannot be read.
    var exitCode: Int32 { files.paths.isEmpty ? 66 : files.problems.isEmpty ? 0 : 74 }
}

/// What runs of many stores did, for people: the stores that need attention, and the sums.
struct StoresReport {
    let reports: [RunReport]
    /// The exit code of what is written for all of them.
    let outputCode: Int32
    let stores: ManyStores
    /// Stores that were not reached before the end of the time, or a signal.
    let leftCount: Int
    let layout: TextLayout

    /// The largest number of reports that are shown in full, and of stores whose rows are listed.
    private static let mostShown = 10
    private static let mostTold = 20

    var exitCode: Int32 {
        RunStatus.worst(of: reports.map(\.exitCode) + [leftCount > 0 ? 75 : 0, stores.exitCode, outputCode])
    }

    var document: String {
        "[\n" + reports.map { $0.document.dropLast() }.joined(separator: ",\n") + "\n]\n"
    }

    var text: String {
        let shown = reports.filter { $0.exitCode != 0 || !$0.warnings.isEmpty }
        var lines = shown.prefix(Self.mostShown).flatMap {
            [TextReport($0, host: MachineFacts.process.host, layout, isOneOfMany: true).text + "\n"]
        }
        if shown.count > Self.mostShown {
            let others = Figures.count(shown.count - Self.mostShown, "other store", "needs", "need")
            lines.append("\(others) attention: see --format json\n")
        }
        if reports.count <= Self.mostTold {
            for report in reports where report.exitCode == 0 && report.warnings.isEmpty {
                let count = rowCount([report])
                if count > 0 { lines.append("\(SafeText.line(report.store)): \(Figures.count(count, "row"))\n") }
            }
        }
        for rule in rulesWithoutStore { lines.append("warning: no store has a table for the rule '\(rule)'\n") }
        // Those of the reports that are shown are there.
        let others = reports.filter { $0.exitCode == 0 && $0.warnings.isEmpty } + shown.dropFirst(Self.mostShown)
        lines += TextReport.waited(others, layout).map { $0 + "\n" }
        lines += (FirstRun(reports).lines(layout) + TextWidth.wrap(summary, width: layout.width)).map { $0 + "\n" }
        return lines.joined()
    }

    /// The rules that no store has, if all stores were read.
    private var rulesWithoutStore: [String] {
        guard !reports.isEmpty, leftCount == 0, reports.allSatisfy({ $0.failure == nil }) else { return [] }
        let found = Set(reports.flatMap(\.rules).map { $0.family ?? $0.name })
        return stores.policy.rules.filter { $0.isEnabled && !found.contains($0.name) }.map(\.name)
    }

    private var isDryRun: Bool { reports.first?.mode == .dryRun }

    /// The rows that were deleted, or would be: none where a run would fail.
    private func rowCount(_ reports: [RunReport]) -> Int {
        reports.filter { !isDryRun || $0.failure == nil }.flatMap(\.rules).reduce(0) {
            $0 + (isDryRun ? $1.outcome == .planned ? $1.planned.expired : 0 : $1.done.deleted)
        }
    }

    var summary: String {
        let rules = reports.flatMap(\.rules)
        let words = RunReport.RunOutcome.allCases.compactMap { outcome in
            let count = reports.count { $0.runOutcome == outcome }
            return count > 0 ? "\(Figures.grouped(count)) \(outcome.rawValue)" : nil
        }
        var parts = [Figures.count(reports.count, "store") + " of \(stores.pattern.written)"]
        if !words.isEmpty { parts[0] += ": " + words.joined(separator: ", ") }
        if leftCount > 0 { parts.append("\(Figures.count(leftCount, "store", "was", "were")) not reached") }
        let rows = rowCount(reports)
        let count = rows == 0 ? "no rows" : Figures.count(rows, "row")
        parts.append(isDryRun ? "a run would delete \(count)" : "deleted \(count)")
        let left = rules.reduce(0) { $0 + $1.left.expired }
        let isWhole =
            leftCount == 0 && stores.exitCode == 0
            && reports.allSatisfy { $0.failure == nil && $0.onlyRules.isEmpty }
        // What a refused rule would delete may not be counted, and held rows are expired.
        let isDone = rules.allSatisfy { ![.refused, .failed].contains($0.outcome) && $0.kept.heldCount == 0 }
        if !isDryRun, left > 0 || isWhole && isDone {
            parts.append(
                left == 0
                    ? "no expired row is left"
                    : "\(Figures.count(left, "expired row", "is", "are")) left"
                        + (isWhole && reports.allSatisfy(\.isWhollyCounted) ? "" : " where they were counted"))
        }
        return parts.joined(separator: "; ") + (exitCode == 0 ? "." : " (exit \(exitCode)).")
    }
}
