import PriceStore
import RetentionJob
package import RetentionPolicy

extension Policy {
    /// Whether a file is another policy: it is not this one, and none of the rules of its last run has a name of this one. So a policy that
    /// was moved, copied or deployed anew stays the same.
    package func isOther(_ path: String, withRules names: [String]) -> Bool {
        guard FilePlace.realPath(path) ?? path != FilePlace.realPath(file.path) else { return false }
        // A rule with a pattern is carried out for each table: `ticks:ohlcv_BTC`.
        return Set(rules.map(\.name)).isDisjoint(with: names.map { String($0.prefix { $0 != ":" }) })
    }
}

extension LedgerHistory {
    /// The files of the other policies that have runs of a store. A path without a folder, as an earlier version recorded it, is of no other.
    package func otherPolicies(than policy: Policy, store: String) throws -> [String] {
        let ofStore = try runs(of: names(of: store)) && .isNotNull("config")
        var (files, others): ([String], [String]) = ([], [])
        // Of each policy the newest run that came to its rules, if there is one.
        while let run = try reader.rows(
            of: LedgerRow.runEntityName, where: ofStore && .notTrue(.isIn("config", files.map { .text($0) })),
            order: ["clock_believed", "number"].map { StoreSortDescriptor($0, ascending: false) }, limit: 1,
            attributes: ["config", "number"]
        ).first, let file = run["config"]?.string, let number = run["number"] {
            files.append(file)
            let rules = try reader.rows(
                of: LedgerRow.ruleEntityName, where: .compare("run_number", .equal, number), attributes: ["name"])
            if file.hasPrefix("/"), policy.isOther(file, withRules: rules.compactMap { $0["name"]?.string }) {
                others.append(file)
            }
        }
        return others
    }
}
