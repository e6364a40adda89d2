import RetentionPolicy

/// How large the next batch is and how long to wait before it. Pure: it is told what batches took.
///
/// A writer that finds the store locked backs off and tries again after some milliseconds, so that short gaps between
/// batches do not let it in: the pause must be about as long as the batch.
struct Pacing {
    private let setting: Rule.BatchSetting
    /// Rows of the next batch.
    private(set) var rows: Int
    /// Whether others were at work after the last batch, if it was asked.
    private var hasCompany = false

    init(_ setting: Rule.BatchSetting) {
        self.setting = setting
        rows = setting.rows
    }

    /// Steers the size towards the target: at most half or twice of what it was, since one batch may have met a
    /// checkpoint or a busy disk.
    mutating func didCommit(elapsed: Duration) {
        guard let target = setting.target, elapsed > .zero else { return }
        let wanted = Double(rows) * (target / elapsed) * (hasCompany ? Self.sharedPart : 1)
        let bounded = min(max(wanted, Double(rows) / 2), Double(rows) * 2)
        rows = min(max(Int(bounded), min(setting.rows, Self.fewestRows)), Self.mostRows)
    }

    /// How long to wait after a batch; nil: not at all.
    mutating func pause(after elapsed: Duration, hasCompany: () -> Bool) -> Duration? {
        switch setting.pause {
        case .none: return nil
        case .fixed(let length): return length
        case .auto:
            self.hasCompany = hasCompany()
            return self.hasCompany ? min(elapsed, Self.longestPause) : nil
        }
    }

    /// SQLite has a writer that waits look again after 1, 3, 8 and 18 ms: a batch that takes a little longer than 8 ms costs it
    /// 10 more. So where others wait, nearly all batches should be below the target, not half of them.
    private static let sharedPart = 0.8

    /// Below this the cost of a transaction outweighs its rows.
    private static let fewestRows = 250
    private static let mostRows = 1_000_000
    /// Who waits for SQLite's lock looks again after at most 100 ms: nobody needs a longer gap to get in.
    private static let longestPause = Duration.milliseconds(200)
}
