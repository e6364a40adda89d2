package import PriceStore
package import RetentionPolicy

/// What the guards that need memory know of past runs of the same store.
package struct RunMemory: Hashable, Sendable {
    /// When the last recorded run ended (a crashed one: when it started); nil: there was none.
    package var lastRun: Instant?
    /// The longest time between the ends of two runs that followed each other; nil: fewer than two runs.
    package var longestGap: Duration?
    /// Whether the last run crashed, or failed after one that did: then the store is checked for damage.
    package var hasCrash: Bool
    /// The holds that were in force in the last run.
    package var holds: [Hold] = []

    package init(lastRun: Instant? = nil, longestGap: Duration? = nil, hasCrash: Bool = false) {
        self.lastRun = lastRun
        self.longestGap = longestGap
        self.hasCrash = hasCrash
    }
}
