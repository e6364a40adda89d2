package import PriceStore

/// What a rule does next: delete a batch, count what is left, or stop. Pure: it is told results, never asks a store.
///
/// A pass goes through the table once, batch by batch. At its end the expired rows that are left are counted: rows may
/// have arrived behind the pass while it worked. If there are some and the pass deleted something, another pass
/// follows; a pass that deletes nothing is the last one, so the loop always ends.
package struct BatchLoop {
    /// What to do now.
    package enum Action: Hashable, Sendable {
        /// Delete at most so many rows (nil: all), from the continuation on.
        case delete(limit: Int?, continuation: BatchContinuation?)
        /// Count the expired rows that are in the store.
        case countResidue
        /// Nothing more to do.
        case stop(Reason, residue: Int)
    }

    /// Why the loop stopped.
    package enum Reason: Hashable, Sendable {
        /// No expired row is left, or none that could be deleted.
        case finished
        /// The rule's `max_rows` are deleted; rows that arrived meanwhile stay.
        case limitReached
        /// It was asked to stop and expired rows are left.
        case interrupted
    }

    private enum State {
        case deleting(BatchContinuation?)
        case counting(because: Reason)
        case stopped(Reason, residue: Int)
    }

    private let batchRows: Int?
    private let maxRows: Int?
    private var state: State
    private var deletedInPass = 0

    /// Rows of the entity deleted so far.
    package private(set) var deletedCount = 0
    /// Batches that deleted something.
    package private(set) var batchCount = 0

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - expiredCount: the plan's count; 0: the loop stops at once, because the survey has just looked.
    ///   - batchRows: rows in a batch, at least 1; nil: no limit.
    ///   - maxRows: never delete more than this; nil: no limit.
    package init(expiredCount: Int, batchRows: Int?, maxRows: Int? = nil) {
        self.batchRows = batchRows
        self.maxRows = maxRows
        state = expiredCount == 0 ? .stopped(.finished, residue: 0) : .deleting(nil)
    }

    /// What to do now. Asking twice without telling a result between gives the same answer.
    ///
    /// - Parameter mayContinue: false once a signal came or the budget is spent; no batch begins then.
    package mutating func next(mayContinue: Bool) -> Action {
        if case .deleting(let continuation) = state {
            let remaining = maxRows.map { $0 - deletedCount }
            if !mayContinue {
                state = .counting(because: .interrupted)
            } else if let remaining, remaining <= 0 {
                state = .counting(because: .limitReached)
            } else {
                let limit = [batchRows, remaining].compactMap { $0 }.min()
                return .delete(limit: limit, continuation: continuation)
            }
        }
        if case .stopped(let reason, let residue) = state { return .stop(reason, residue: residue) }
        return .countResidue
    }

    /// Tells what the batch asked for did.
    package mutating func didDelete(_ result: BatchDeleteResult) {
        guard case .deleting(let previous) = state else { return }
        deletedCount += result.deletedCount
        deletedInPass += result.deletedCount
        if result.deletedCount > 0 { batchCount += 1 }
        if let next = result.continuation, result.deletedCount > 0 || next != previous {
            state = .deleting(next)
        } else {
            // The end of the pass; or neither rows nor place moved, and the next batch would do the same again.
            state = .counting(because: .finished)
        }
    }

    /// Tells how many expired rows are in the store.
    package mutating func didCount(residue: Int) {
        guard case .counting(let reason) = state else { return }
        switch reason {
        case _ where residue == 0:
            state = .stopped(.finished, residue: 0)
        case .finished where deletedInPass > 0:
            deletedInPass = 0
            state = .deleting(nil)
        case .finished, .limitReached, .interrupted:
            state = .stopped(reason, residue: residue)
        }
    }
}
