/// A hold of the last run that is no longer in force.
package struct ReleasedHold: Hashable, Sendable {
    package var name: String
    /// The rows that this run's rules delete and that the hold kept; nil: it can no longer be evaluated.
    package var rowCount: Int?

    package init(name: String, rowCount: Int?) {
        self.name = name
        self.rowCount = rowCount
    }

    /// The message for the operator, without a full stop.
    package var text: String {
        let kept =
            rowCount.map { "\(Figures.count($0, "expired row")) that it kept \($0 == 1 ? "is" : "are") no longer held" }
            ?? "how many rows it releases cannot be counted any more"
        return
            "the hold '\(name)', which was in force in the last run on this store, was removed from the policy, narrowed or has "
            + "ended: \(kept)"
    }
}
