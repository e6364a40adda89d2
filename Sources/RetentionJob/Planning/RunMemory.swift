package import PriceStore

/// What the guards that need memory know of past runs of the same store.
package struct RunMemory: Hashable, Sendable {
    /// When the last recorded run ended (a crashed one: when it started); nil: there was none.
    package var lastRun: Instant?
    /// The longest time between the ends of two runs that followed each other; nil: fewer than two runs.
    package var longestGap: Duration?
    /// Whether the last run crashed, or failed after one that did: then the store is checked for damage.
    package var hasCrash: Bool
    /// By the names of a rule and its entity: the rule's last deletes took the rows before this instant.
    package var deletedBefore: [[String]: Instant]

    package init(
        lastRun: Instant? = nil, longestGap: Duration? = nil, hasCrash: Bool = false,
        deletedBefore: [[String]: Instant] = [:]
    ) {
        self.lastRun = lastRun
        self.longestGap = longestGap
        self.hasCrash = hasCrash
        self.deletedBefore = deletedBefore
    }
}
