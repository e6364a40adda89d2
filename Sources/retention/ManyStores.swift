import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports
import SQLiteStore

/// The stores of a policy with a pattern. One is open at a time.
struct ManyStores {
    let policy: Policy
    let pattern: StorePattern
    let files: StoreFiles

    /// Looks for the files; nil: the policy has one store.
    init?(_ policy: Policy) {
        guard let pattern = policy.stores else { return nil }
        (self.policy, self.pattern) = (policy, pattern)
        files = StoreFiles(
            pattern, ownIDs: [RunLedger.applicationID, FileOwner.archive.applicationID])
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

    /// The policies for all stores. With a time budget those come first whose last run is the longest ago.
    func policies(isInTurn: Bool) -> [Policy] {
        let all = files.paths.map(policy.forStore)
        guard isInTurn else { return all }
        let lastRuns = all.map { (try? StoreOpening($0).memory().lastRun) ?? .distantPast }
        return zip(all, lastRuns).enumerated().sorted {
            ($0.element.1, $0.offset) < ($1.element.1, $1.offset)
        }.map(\.element.0)
    }

    /// What the pattern missed, each as a sentence without a full stop.
    var problems: [String] {
        files.problems
            + (files.paths.isEmpty ? ["no file matches '\(pattern.written)': nothing is deleted"] : [])
    }
}

/// What runs of many stores did, for people: the stores that need attention, and the sums.
struct StoresReport {
    let reports: [RunReport]
    let stores: ManyStores
    /// Stores for which no time was left.
    let leftCount: Int
    let layout: TextLayout

    /// The most stores that are shown.
    private static let mostShown = 10

    /// The worst exit code: the highest.
    var exitCode: Int32 {
        max(reports.map(\.exitCode).max() ?? 0, leftCount > 0 ? 75 : 0, stores.files.problems.isEmpty ? 0 : 74)
    }

    var document: String {
        "[\n" + reports.map { $0.document.trimmed }.joined(separator: ",\n") + "\n]\n"
    }

    var text: String {
        let shown = reports.filter { $0.exitCode != 0 || !$0.warnings.isEmpty }
        var lines = shown.prefix(Self.mostShown).flatMap {
            [TextReport($0, host: MachineFacts.process.host, layout).text]
        }
        if shown.count > Self.mostShown {
            lines.append(
                "\(Figures.count(shown.count - Self.mostShown, "other store")) need attention: see --format json\n")
        }
        lines += stores.problems.map { "warning: \($0)\n" }
        return lines.joined(separator: shown.isEmpty ? "" : "\n") + summary + "\n"
    }

    /// The sums, in one line.
    var summary: String {
        let rules = reports.flatMap(\.rules)
        let words = RunReport.RunOutcome.allCases.compactMap { outcome in
            let count = reports.count { $0.runOutcome == outcome }
            return count > 0 ? "\(Figures.grouped(count)) \(outcome.rawValue)" : nil
        }
        var parts = [Figures.count(reports.count, "store") + " of \(stores.pattern.written)"]
        if !words.isEmpty { parts[0] += ": " + words.joined(separator: ", ") }
        if leftCount > 0 { parts.append("no time was left for \(Figures.count(leftCount, "store"))") }
        let isDryRun = reports.first?.mode == .dryRun
        let rows = rules.reduce(0) {
            $0 + (isDryRun ? $1.outcome == .planned ? $1.planned.expired : 0 : $1.done.deleted)
        }
        let count = rows == 0 ? "no rows" : Figures.count(rows, "row")
        parts.append(isDryRun ? "a run would delete \(count)" : "deleted \(count)")
        if !isDryRun {
            let left = rules.reduce(0) { $0 + $1.left.expired }
            parts.append(
                left == 0 ? "no expired row is left" : "\(Figures.count(left, "expired row", "is", "are")) left")
        }
        return parts.joined(separator: "; ") + (exitCode == 0 ? "." : " (exit \(exitCode)).")
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
