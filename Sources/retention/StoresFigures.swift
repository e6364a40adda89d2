import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The figures of many stores for a monitoring system: of a store that this run has not reached, how its last run ended.
final class StoresFigures {
    private let path: String
    private let policies: [Policy]
    private let ledger: OpenLedger?
    private var reached: [String: MetricsText] = [:]
    private var lastWrite = SystemClock.uptime()
    /// What the file says that this run replaces, for stores of which the ledger knows no success. It is read once.
    private(set) lazy var pastSuccesses = MetricsText.Successes(in: path)

    /// Nil: the policy asks for no figures.
    init?(_ policy: Policy, _ policies: [Policy], _ ledger: OpenLedger?) {
        guard let path = policy.metricsFile else { return nil }
        (self.path, self.policies, self.ledger) = (path, policies, ledger)
    }

    /// Takes the figures of a store, and writes those of all every 15 seconds.
    func take(_ figures: MetricsText, of policy: Policy) throws(StoreError) {
        reached[policy.store.written] = figures
        guard SystemClock.uptime() - lastWrite >= RunSession.timeBetweenFigures else { return }
        try write()
    }

    func write() throws(StoreError) {
        lastWrite = SystemClock.uptime()
        let all = policies.sorted { $0.store.written < $1.store.written }.compactMap { policy in
            if let figures = reached[policy.store.written] { return MetricsText?.some(figures) }
            let opening = StoreOpening(policy, ledger: ledger)
            guard let store = try? opening.realStorePath(),
                let ends = try? opening.history()?.ends(of: policy, store: store)
            else { return nil }
            return MetricsText(policy, store: store, version: RetentionCommand.version, before: ends)
        }
        try MetricsText.write(all, to: path)
    }
}
