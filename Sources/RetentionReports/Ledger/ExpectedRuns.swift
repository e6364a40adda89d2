package import PriceStore
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
    /// The newest run that is no undo and whose date may be right; nil: there is none.
    ///
    /// - Parameter now: the time of the clock.
    func newest(now: Instant) -> LedgerRun? { last { $0.report.undo == nil && $0.report.isDated(through: now) } }

    /// When the next run is due, and when it counts as missed: a tenth later. Nil: the policy does not say how often a run is expected, or
    /// none is recorded.
    ///
    /// - Parameter now: the time of the clock.
    package func due(of policy: Policy, now: Instant) -> (due: Instant, late: Instant)? {
        guard let every = policy.expectedEvery, let last = expected(of: policy, now: now).last else { return nil }
        let start = last.report.started
        let due = Cutoff.end(of: every, from: start, zone: policy.timezone)
        return (due, due.advanced(byMicroseconds: due.since(start).wholeMicroseconds / 10))
    }

    /// Those that are expected, without undos and runs whose date is wrong: see ``RunReport/isDated(through:)``.
    ///
    /// - Parameter now: the time of the clock.
    package func expected(of policy: Policy?, now: Instant) -> [LedgerRun] {
        var (dated, next): ([LedgerRun], Instant) = ([], now)
        for run in reversed() where run.report.undo == nil && run.report.isDated(through: next) {
            dated.append(run)
            next = Swift.min(next, run.report.started)
        }
        var expected = ExpectedRuns(policy)
        return dated.reversed().filter { expected.count($0.report.onlyRules) }
    }
}
