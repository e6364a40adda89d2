package import PriceStore
package import RetentionPolicy

/// Decides what a rule does next: delete a batch, count the remaining rows, or stop. Pure: it takes results and never uses a store.
///
/// The loop goes through the table once, batch by batch, until it has deleted as many rows as the plan counted. Then it counts the
/// remaining expired rows: those that arrived meanwhile wait for the next run. So the loop always ends, whatever a trigger or another
/// program inserts.
package struct BatchLoop {
    /// What to do next.
    package enum Action: Hashable, Sendable {
        /// Delete the next rows within the bounds.
        case delete(DeletionBounds)
        /// Wait, so that other connections can use the store, then call ``didPause()``.
        case pause(Duration)
        /// Count the expired rows in the store.
        case countResidue
        /// Nothing more to do.
        case stop(Reason, residue: Int)
    }

    /// Why the loop stopped.
    package enum Reason: Hashable, Sendable {
        /// The whole table was processed, or as many rows are deleted as the plan counted.
        case finished
        /// It was stopped and expired rows remain.
        case interrupted
    }

    private enum State {
        case deleting
        case counting(because: Reason)
        case stopped(Reason, residue: Int)
    }

    private var pacing: Pacing
    private let isLimited: Bool
    private var pendingPause: Duration?
    private var state: State
    private let expiredCount: Int

    /// Rows deleted by the batches so far.
    package private(set) var deletedCount = 0
    /// Batches that deleted at least one row.
    package private(set) var batchCount = 0

    /// Creates a loop.
    ///
    /// - Parameters:
    ///   - expiredCount: the count of the plan; 0: the loop stops immediately, because the survey has just counted.
    ///   - batch: the size of batches and the pause between them.
    ///   - isLimited: whether batches have a size; false: one batch deletes all rows.
    package init(expiredCount: Int, batch: Rule.BatchSetting, isLimited: Bool = true) {
        pacing = Pacing(batch)
        self.isLimited = isLimited
        self.expiredCount = expiredCount
        state = expiredCount == 0 ? .stopped(.finished, residue: 0) : .deleting
    }

    /// The rows of a batch; nil: no limit.
    package var batchRows: Int? { isLimited ? pacing.rows : nil }

    /// The next action. Calling it again without a result in between returns the same action.
    ///
    /// - Parameter mayContinue: false after a signal or the end of the time budget; then no batch begins.
    package mutating func next(mayContinue: Bool) -> Action {
        if case .deleting = state {
            if mayContinue { return pendingPause.map(Action.pause) ?? .delete(DeletionBounds(rows: batchRows)) }
            state = .counting(because: .interrupted)
        }
        if case .stopped(let reason, let residue) = state { return .stop(reason, residue: residue) }
        return .countResidue
    }

    /// Reports that the pause is over.
    package mutating func didPause() { pendingPause = nil }

    /// Reports the result of the batch.
    ///
    /// - Parameters:
    ///   - fixed: how much of the time did not depend on its rows.
    ///   - isInUseByOthers: whether others use the store; called only if the answer matters.
    package mutating func didDelete(
        _ part: DeletionPart, elapsed: Duration = .zero, fixed: Duration = .zero,
        isInUseByOthers: () -> Bool = { false }
    ) {
        pacing.didCommit(elapsed: elapsed, fixed: fixed)
        let count = part.result.deletedCount
        deletedCount += count
        if count > 0 { batchCount += 1 }
        if part.hasMore, deletedCount < expiredCount {
            pendingPause = pacing.pause(after: elapsed, isInUseByOthers: isInUseByOthers)
        } else {
            state = .counting(because: .finished)
        }
    }

    /// Reports the number of expired rows in the store.
    package mutating func didCount(residue: Int) {
        if case .counting(let reason) = state {
            state = .stopped(residue == 0 ? .finished : reason, residue: residue)
        }
    }
}

extension BatchLoop {
    init(_ step: Plan.Step, _ outline: DeletionOutline) {
        self.init(
            expiredCount: step.survey.expiredCount, batch: step.batch(outline), isLimited: outline.isInBatches)
    }
}
