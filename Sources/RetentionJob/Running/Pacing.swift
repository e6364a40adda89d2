import RetentionPolicy

/// How large the next batch is and how long to wait before it. Pure: it is told what batches took.
///
/// A writer that finds the store locked backs off and tries again after some milliseconds, so that short gaps between
/// batches do not let it in: the pause must be about as long as the batch.
struct Pacing {
    private let setting: Rule.BatchSetting
    /// Rows of the next batch.
    private(set) var rows: Int

    init(_ setting: Rule.BatchSetting) {
        self.setting = setting
        rows = setting.rows
    }

    /// Steers the size towards the target: at most half or twice of what it was, since one batch may have met a
    /// checkpoint or a busy disk.
    mutating func didDelete(elapsed: Duration) {
        guard let target = setting.target, elapsed > .zero else { return }
        let wanted = Double(rows) * (target / elapsed)
        let bounded = min(max(wanted, Double(rows) / 2), Double(rows) * 2)
        rows = min(max(Int(bounded), min(setting.rows, Self.fewestRows)), Self.mostRows)
    }

    /// How long to wait after a batch; nil: not at all.
    func pause(after elapsed: Duration, hasCompany: () -> Bool) -> Duration? {
        switch setting.pause {
        case .none: nil
        case .fixed(let length): length
        case .auto: hasCompany() ? min(elapsed, Self.longestPause) : nil
        }
    }

    /// Below this the cost of a transaction outweighs its rows.
    private static let fewestRows = 250
    private static let mostRows = 1_000_000
    /// Who waits for SQLite's lock looks again after at most 100 ms: nobody needs a longer gap to get in.
    private static let longestPause = Duration.milliseconds(200)
}
