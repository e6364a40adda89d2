import RetentionPolicy

/// Decides how large the next batch is and how long to wait before it. Pure: the caller passes the duration of each batch.
///
/// A writer that finds the store locked retries after some milliseconds, so it misses short gaps between batches. The pause must be about
/// as long as the batch.
struct Pacing {
    private let setting: Rule.BatchSetting
    private(set) var rows: Int
    /// Whether others used the store after the last batch, if that was checked.
    private var isInUseByOthers = false

    init(_ setting: Rule.BatchSetting) {
        self.setting = setting
        rows = setting.rows
    }

    /// Adjusts the size to the target, at most to half or twice, because one batch may have met a busy disk.
    ///
    /// Fewer rows do not make a commit shorter. So the rows have the time that the commit leaves of the target, and at least half of it.
    ///
    /// - Parameter fixed: how much of the time did not depend on the rows.
    mutating func didCommit(elapsed: Duration, fixed: Duration) {
        guard var target = setting.target, elapsed > fixed else { return }
        if !isInUseByOthers, let alone = setting.targetAlone { target = alone }
        if isInUseByOthers { target = target * Self.sharedPart }
        let wanted = Double(rows) * (max(target - fixed, target / 2) / (elapsed - fixed))
        let bounded = min(max(wanted, Double(rows) / 2), Double(rows) * 2)
        rows = min(max(Int(bounded), setting.fewestRows), Self.mostRows)
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

    private static let mostRows = 1_000_000
    /// A connection that waits for SQLite's lock retries after at most 100 ms, so a longer pause is not needed.
    private static let longestPause = Duration.milliseconds(200)
}
