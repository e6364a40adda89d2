import PriceStore
package import RetentionJob
import RetentionPolicy

/// What part of their rows is deleted by rules that no run has carried out yet, if that is known exactly, and how the rows could be
/// restored: of one store, or of many.
package struct FirstRun {
    /// The report of a store with such rules.
    private struct Part {
        var rules: [RunReport.RuleReport]
        /// Whether the ledger knows no earlier run of the store.
        var isFirst: Bool
        var isDryRun: Bool

        init(_ report: RunReport) {
            let isDryRun = report.mode == .dryRun
            (isFirst, self.isDryRun) = (report.isFirst, isDryRun)
            // A run has not carried out what it refused. Without a ledger no rule is known to have been carried out.
            rules = report.rules.filter { rule in
                let isLeft = rule.outcome == .refused && !(isDryRun && rule.planned.isCounted)
                return rule.outcome != .disabled && !isLeft && (rule.remembered.isFirst || !report.hasLedger)
            }
        }

        var gone: Int { rules.reduce(0) { $0 + gone(of: $1) } }
        var related: Int { rules.reduce(0) { $0 + $1.done.cascaded } }
        var isRefused: Bool { isDryRun && rules.contains { $0.outcome == .refused } }
        /// The rules that delete rows without an archive.
        var unarchived: [RunReport.RuleReport] {
            rules.filter { $0.outcome != .refused && $0.done.archived == nil && gone(of: $0) > 0 }
        }

        private func gone(of rule: RunReport.RuleReport) -> Int {
            isDryRun ? rule.planned.expired : rule.done.deleted
        }

        /// Whether there are such rules, and the rows of all of them are counted, as what a run deletes is.
        var isCounted: Bool {
            !rules.isEmpty
                && (!isDryRun || rules.allSatisfy { [.planned, .refused].contains($0.outcome) })
        }

        /// All rows of the rules; nil: they, or what is deleted, are not known exactly.
        var all: Int? {
            let rows = rules.compactMap(\.planned.rows)
            let isExact =
                rows.count == rules.count && countsEachRowOnce
                && rules.allSatisfy { $0.done.triggerCount == 0 && $0.planned.triggers.isEmpty }
            return isExact ? rows.reduce(0, +) : nil
        }

        /// Whether no row is counted by two of the rules: those for one entity are ages of one rule, or their `where` differ.
        private var countsEachRowOnce: Bool {
            Dictionary(grouping: rules, by: \.entity.folded).values.allSatisfy { rules in
                rules.indices.allSatisfy { index in
                    rules[..<index].allSatisfy { other in
                        let (rule, family) = (rules[index], rules[index].family)
                        return family != nil && other.family == family
                            || other.planned.filter.isDisjoint(from: rule.planned.filter)
                    }
                }
            }
        }
    }

    private let parts: [Part]
    /// The stores that had no earlier run, or none of such rules, counted or not; and all of them.
    private let firstCount: Int
    private let storeCount: Int
    /// The report of a store with such rules: one that could not be opened does not know the mode, the archive and the ledger.
    private let known: RunReport?

    /// - Parameter reports: the reports of all stores.
    package init(_ reports: [RunReport]) {
        let all = reports.map { (report: $0, part: Part($0)) }
        let found = all.filter(\.part.isCounted)
        (parts, storeCount) = (found.map(\.part), reports.count)
        firstCount = all.count { $0.part.isFirst && $0.report.failure == nil || !$0.part.rules.isEmpty }
        known = found.first?.report
    }

    /// The lines; empty: there are no such rules.
    package func lines(_ layout: TextLayout) -> [String] {
        guard let known else { return [] }
        let isDryRun = known.mode == .dryRun
        let unarchived = parts.flatMap(\.unarchived).map { $0.family ?? $0.name }
        let state = isDryRun ? "could not be restored" : "cannot be restored"
        guard known.hasLedger else {
            let text = "Without an archive the rows \(state). To keep copies for 30 days, without ledger: none:"
            return isDryRun && !unarchived.isEmpty ? advice(text, known, layout) : []
        }
        let gone = parts.reduce(0) { $0 + $1.gone }
        let isRefused = parts.contains(where: \.isRefused)
        let counts = parts.compactMap(\.all)
        let isExact = counts.count == parts.count
        let mayLose = !known.hasArchive || !unarchived.isEmpty
        guard gone > 0, isExact || mayLose && !isRefused else { return [] }
        var text = "\(isDryRun ? "This would be" : "This was") the first run"
        text += parts.allSatisfy(\.isFirst) ? "" : " of \(Self.list(parts.flatMap(\.rules.inFamilies).map(\.name)))"
        if firstCount < storeCount {
            text += " in \(Figures.grouped(firstCount)) of \(Figures.count(storeCount, "store"))"
        }
        if isExact {
            let (all, related) = (counts.reduce(0, +), parts.reduce(0) { $0 + $1.related })
            text += ": \(Figures.grouped(gone)) of \(Figures.count(all, "row"))"
            text += (Figures.percent(gone, of: all).map { " (\($0))" } ?? "") + (isRefused ? " are expired" : "")
            text += related > 0 ? ", and \(Figures.count(related, "related row"))" : ""
        }
        guard known.hasArchive else {
            text += ". Without an archive the rows \(state)."
            return isDryRun
                ? advice(text + " To keep copies for 30 days:", known, layout)
                : TextWidth.wrap(text, width: layout.width)
        }
        if !unarchived.isEmpty {
            text += ". The rows of \(Self.list(unarchived)) \(state)"
            text += isDryRun ? "; to keep copies, remove archive: none there" : ""
        }
        text += "."
        return TextWidth.wrap(text, width: layout.width)
    }

    /// A text, and how to keep copies.
    private func advice(_ text: String, _ known: RunReport, _ layout: TextLayout) -> [String] {
        // Paths in a policy begin at its folder, and those of a command where the person is.
        let folder = known.config.lastIndex(of: "/").map { String(known.config[...$0]) + "archive" } ?? "archive"
        let (make, key) =
            known.engine == "sqlite"
            ? (SafeText.line(SafeText.command(["mkdir", "-m", "700", folder])), "folder: archive")
            : ("CREATE SCHEMA retention_archive", "schema: retention_archive")
        return TextWidth.wrap(text, width: layout.width) + [
            "  \(make)", "  archive: { \(key), keep: 30d }    # in the policy",
        ]
    }

    /// The names of some rules, or their number if they are many.
    private static func list(_ rules: [String]) -> String {
        let names = rules.map(SafeText.line).unique
        return names.count > 3 ? "\(names.count) rules" : names.listed("and")
    }
}
