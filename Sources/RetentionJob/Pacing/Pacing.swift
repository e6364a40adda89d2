import RetentionPolicy

/// Decides how large the next batch is and how long to wait before it. Pure: the caller passes the duration of each batch.
///
/// A writer that finds the store locked retries after some milliseconds, so it misses short gaps between batches. The pause must be about
/// as long as the batch.
struct Pacing {
    private let setting: Rule.BatchSetting
    /// The number of rows of the next batch.
    private(set) var rows: Int
    /// The fewest rows of a batch.
    private var fewestRows = 1
    /// How many batches of about so few rows took more than half of the target, one after the other.
    private var slowCount = 0
    /// How long more rows may take to be the fewest, while they are tried.
    private var mostElapsed: Duration?
    private var triesMore = true
    /// Whether others used the store after the last batch, if that was checked.
    private var isInUseByOthers = false

    init(_ setting: Rule.BatchSetting) {
        self.setting = setting
        rows = setting.rows
    }

    /// Adjusts the size to the target, at most to half or twice, because one batch may have met a checkpoint or a busy disk. If about the
    /// fewest rows need more than half of the target, four times the fewest are tried; if they take less than twice as long as the fewest,
    /// they are the fewest from then on: most of the time is the fixed cost of a transaction.
    mutating func didCommit(elapsed: Duration) {
        guard var target = setting.target, elapsed > .zero else { return }
        if !isInUseByOthers, let alone = setting.targetAlone { target = alone }
        if let most = mostElapsed {
            mostElapsed = nil
            if elapsed < most { fewestRows = rows } else { triesMore = false }
        }
        slowCount = rows <= 2 * fewestRows && elapsed * 2 > target ? slowCount + 1 : 0
        if slowCount == 3, triesMore, fewestRows < Self.smallRows {
            mostElapsed = elapsed * (1 + Double(fewestRows) / Double(rows))
            (slowCount, rows) = (0, min(4 * fewestRows, Self.smallRows))
            return
        }
        let wanted = Double(rows) * (target / elapsed) * (isInUseByOthers ? Self.sharedPart : 1)
        let bounded = min(max(wanted, Double(rows) / 2), Double(rows) * 2)
        rows = min(max(Int(bounded), fewestRows), Self.mostRows)
    }

    /// How long to wait after a batch; nil: no wait.
    mutating func pause(after elapsed: Duration, isInUseByOthers: () -> Bool) -> Duration? {
        switch setting.pause {
        case .none: return nil
        case .fixed(let length): return length
        case .auto:
            self.isInUseByOthers = isInUseByOthers()
            return self.isInUseByOthers ? min(elapsed, Self.longestPause) : nil
        }
    }

    /// A writer that waits for SQLite's lock retries after 1, 3, 8 and 18 ms: a batch of a little more than 8 ms costs it 10 ms more. So
    /// while others wait, nearly all batches should be below the target, not half of them.
    private static let sharedPart = 0.8

    private static let smallRows = 100
    private static let mostRows = 1_000_000
    /// A connection that waits for SQLite's lock retries after at most 100 ms, so a longer pause is not needed.
    private static let longestPause = Duration.milliseconds(200)
}
