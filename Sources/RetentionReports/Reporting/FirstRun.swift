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
            rules = report.rules.filter { $0.outcome != .disabled && $0.remembered.isFirst }
            (isFirst, isDryRun) = (report.isFirst, report.mode == .dryRun)
        }

        var gone: Int { rules.reduce(0) { $0 + (isDryRun ? $1.planned.expired : $1.done.deleted) } }
        var related: Int { rules.reduce(0) { $0 + $1.done.cascaded } }
        var isRefused: Bool { isDryRun && rules.contains { $0.outcome == .refused } }
        var isArchived: Bool { rules.contains { $0.done.archived != nil } }

        /// Whether there are such rules, and the rows of all of them are counted.
        var isCounted: Bool {
            !rules.isEmpty
                && rules.allSatisfy {
                    [.planned, .completed].contains($0.outcome) || isRefused && $0.planned.isCounted
                }
        }

        /// All rows of the rules; nil: they, or what is deleted, are not known exactly.
        var all: Int? {
            let rows = rules.compactMap(\.planned.rows)
            let isExact =
                rows.count == rules.count && Set(rules.map(\.entity.folded)).count == rules.count
                && rules.allSatisfy { $0.done.triggerCount == 0 && $0.planned.triggers.isEmpty }
            return isExact ? rows.reduce(0, +) : nil
        }
    }

    private let parts: [Part]
    private let storeCount: Int
    private let isDryRun: Bool
    private let engine: String

    /// - Parameter reports: the reports of all stores.
    package init(_ reports: [RunReport]) {
        parts = reports.map(Part.init).filter(\.isCounted)
        storeCount = reports.count
        (isDryRun, engine) = (reports.first?.mode == .dryRun, reports.first?.engine ?? "")
    }

    /// The lines; empty: there are no such rules.
    package func lines(_ layout: TextLayout) -> [String] {
        let gone = parts.reduce(0) { $0 + $1.gone }
        let (isRefused, isArchived) = (parts.contains(where: \.isRefused), parts.contains(where: \.isArchived))
        let counts = parts.compactMap(\.all)
        let isExact = counts.count == parts.count
        guard gone > 0, isExact || isDryRun && !isArchived && !isRefused else { return [] }
        var text = "\(isDryRun ? "This would be" : "This was") the first run" + scope
        if isExact {
            let (all, related) = (counts.reduce(0, +), parts.reduce(0) { $0 + $1.related })
            text += ": \(Figures.grouped(gone)) of \(Figures.count(all, "row"))"
            text += (Figures.percent(gone, of: all).map { " (\($0))" } ?? "") + (isRefused ? " are expired" : "")
            text += related > 0 ? ", and \(Figures.count(related, "related row"))" : ""
        }
        text += isArchived ? "." : ". Without an archive the rows \(isDryRun ? "could not" : "cannot") be restored."
        guard isDryRun, !isArchived else { return TextWidth.wrap(text, width: layout.width) }
        let (make, key) =
            engine == "sqlite"
            ? ("mkdir -m 700 archive", "folder: archive")
            : ("CREATE SCHEMA retention_archive", "schema: retention_archive")
        return TextWidth.wrap(text + " To keep copies for 30 days:", width: layout.width) + [
            "  \(make)", "  archive: { \(key), keep: 30d }    # in the policy",
        ]
    }

    /// The rules and the stores, as far as others have been carried out.
    private var scope: String {
        var text = ""
        if !parts.allSatisfy(\.isFirst) {
            let names = parts.flatMap { $0.rules.inFamilies.map { SafeText.line($0.name) } }
                .reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
            text += names.count > 3 ? " of \(names.count) rules" : " of \(names.listed("and"))"
        }
        if parts.count < storeCount {
            text += " in \(Figures.grouped(parts.count)) of \(Figures.count(storeCount, "store"))"
        }
        return text
    }
}
