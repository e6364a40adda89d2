import RetentionJob
package import RetentionPolicy

/// Tells which runs are the ones that are expected: those of all rules. Runs of some rules count as one, the last of them, once each enabled
/// rule has had one.
struct ExpectedRuns {
    private let rules: Set<String>
    private var had: Set<String> = []

    /// - Parameter policy: whose rules those are; nil: any run counts.
    init(_ policy: Policy?) {
        let enabled = policy?.rules.filter(\.isEnabled) ?? []
        rules = Set(enabled.map { $0.family?.name ?? $0.name })
    }

    /// Whether the next run counts.
    ///
    /// - Parameter onlyRules: the rules that it was for; empty: all.
    mutating func count(_ onlyRules: [String]) -> Bool {
        had.formUnion(onlyRules)
        guard onlyRules.isEmpty || had.isSuperset(of: rules) else { return false }
        had = []
        return true
    }
}

extension [LedgerRun] {
    /// Those that are expected, without undos and runs that were refused because of the clock.
    package func expected(of policy: Policy?) -> [LedgerRun] {
        var expected = ExpectedRuns(policy)
        return filter { $0.report.undo == nil && !$0.report.doubtsClock && expected.count($0.report.onlyRules) }
    }
}
