/// Receives the progress of a run, to show it on a terminal. Nothing in a run depends on it.
package protocol RunObserver: AnyObject {
    /// A stage without a count begins: `reading pending files`, `counting`, `reclaiming`.
    func runDidBegin(stage: String)
    /// A rule begins to delete; the count is that of the plan.
    func runDidBegin(rule: String, expiredCount: Int)
    /// A batch of the current rule is committed.
    func runDidDelete(deletedCount: Int, expiredCount: Int)
    /// The current rule or stage has ended.
    func runDidEnd()
}
