/// Told what a run is doing, so that a terminal can show it. Nothing in a run depends on it.
package protocol RunObserver: AnyObject {
    /// A stage that has no count of its own begins: `reading pending files`, `counting`, `reclaiming`.
    func runDidBegin(stage: String)
    /// A rule begins to delete; the count is the plan's.
    func runDidBegin(rule: String, expiredCount: Int)
    /// A batch of the rule in hand is committed.
    func runDidDelete(deletedCount: Int, expiredCount: Int)
    /// The rule, or the stage, in hand is at its end.
    func runDidEnd()
}
