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
    func newest(now: Instant) -> LedgerRun? {
        filter { $0.report.undo == nil }.begun(now: now).last { $0.isDated }?.run
    }

    /// When the next run is due, and when it counts as missed: a tenth later. Nil: the policy does not say how often a run is expected, or
    /// none is recorded.
    package func due(of policy: Policy, now: Instant) -> (due: Instant, late: Instant)? {
        guard let every = policy.expectedEvery, let last = expected(of: policy, now: now).last else { return nil }
        let start = last.report.started
        let due = Cutoff.end(of: every, from: start, zone: policy.timezone)
        return (due, due.advanced(byMicroseconds: due.since(start).wholeMicroseconds / 10))
    }

    /// Those that are expected, without undos and runs whose date is wrong: see ``begun(now:)``.
    package func expected(of policy: Policy?, now: Instant) -> [LedgerRun] {
        let dated = filter { $0.report.undo == nil }.begun(now: now).filter { $0.isDated }.map { $0.run }
        var expected = ExpectedRuns(policy)
        return dated.filter { expected.count($0.report.onlyRules) }
    }

    /// When each run began, and whether its date may be right.
    ///
    /// A date is wrong if it is more than a day after what follows: the next run with a right date, or now. Of such a run it is only known
    /// that what follows began later. The date of a run that was refused because the clock was set back is wrong if two earlier runs are dated
    /// between it and now, or one that is the only one. Otherwise the clock of that one was ahead.
    func begun(now: Instant) -> [(at: Instant, isDated: Bool, run: LedgerRun)] {
        // The two latest dates so far.
        var latest: [Instant] = []
        let areBehind = map { run in
            let started = run.report.started
            defer { if started <= now { latest = (latest + [started]).sorted().suffix(2) } }
            return run.report.saysMovedBack && latest.first.map { started < $0 } == true
        }
        var next = now
        return zip(self, areBehind).reversed().map { run, isBehind in
            let isAhead = run.report.isAhead(of: next)
            let at = isAhead ? next.advanced(byMicroseconds: -1) : run.report.started
            if isAhead || !isBehind { next = Swift.min(next, at) }
            return (at: at, isDated: !isAhead && !isBehind, run: run)
        }.reversed()
    }
}
