package import PriceStore
package import RetentionPolicy

/// What a rule does next: delete a batch, count what is left, or stop. Pure: it is told results, never asks a store.
///
/// A pass goes through the table once, batch by batch. It ends early once it has deleted more rows than were expired when
/// it began: rows arrive then, and a trigger that inserts expired rows could keep a pass going for ever. At its end the
/// expired rows that are left are counted. If there are some and the pass deleted something, another pass follows, unless
/// three passes in a row have not left fewer than ever before. So the loop always ends.
package struct BatchLoop {
    /// What to do now.
    package enum Action: Hashable, Sendable {
        /// Delete the next rows within the bounds.
        case delete(DeletionBounds)
        /// Wait, so that others get at the store, and tell so.
        case pause(Duration)
        /// Count the expired rows that are in the store.
        case countResidue
        /// Nothing more to do.
        case stop(Reason, residue: Int)
    }

    /// Why the loop stopped.
    package enum Reason: Hashable, Sendable {
        /// No expired row is left, or none that could be deleted.
        case finished
        /// Expired rows become no fewer although rows are deleted: something inserts them again.
        case notShrinking
        /// The rule's `max_rows` are deleted; rows that arrived meanwhile stay.
        case limitReached
        /// It was asked to stop and expired rows are left.
        case interrupted
    }

    private enum State {
        case deleting
        case counting(because: Reason)
        case stopped(Reason, residue: Int)
    }

    private var pacing: Pacing
    private var isLimited: Bool
    private let maxRows: Int?
    private var pendingPause: Duration?
    private var state: State
    private var deletedInPass = 0
    /// Expired rows at the beginning of the pass.
    private var expectedInPass: Int
    /// The fewest expired rows that there were between two passes.
    private var fewestLeft: Int
    /// Passes in a row that did not leave fewer.
    private var idlePasses = 0
    private static let mostIdlePasses = 3

    /// Rows that the rules of the pass deleted so far.
    package private(set) var deletedCount = 0
    /// Batches that deleted something.
    package private(set) var batchCount = 0

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - expiredCount: the plan's count; 0: the loop stops at once, because the survey has just looked.
    ///   - batch: the size of batches and what comes between them.
    ///   - isLimited: whether batches have a size at all; false: all rows go in one.
    ///   - maxRows: never delete more than this; nil: no limit.
    package init(expiredCount: Int, batch: Rule.BatchSetting, isLimited: Bool = true, maxRows: Int? = nil) {
        pacing = Pacing(batch)
        self.isLimited = isLimited
        self.maxRows = maxRows
        expectedInPass = expiredCount
        fewestLeft = expiredCount
        state = expiredCount == 0 ? .stopped(.finished, residue: 0) : .deleting
    }

    /// Rows of a batch that is not cut short by `maxRows`; nil: no limit.
    package var batchRows: Int? { isLimited ? pacing.rows : nil }

    /// What to do now. Asking twice without telling a result between gives the same answer.
    ///
    /// - Parameter mayContinue: false once a signal came or the budget is spent; no batch begins then.
    package mutating func next(mayContinue: Bool) -> Action {
        if case .deleting = state {
            let remaining = maxRows.map { $0 - deletedCount }
            if !mayContinue {
                state = .counting(because: .interrupted)
            } else if let remaining, remaining <= 0 {
                state = .counting(because: .limitReached)
            } else if let pendingPause {
                return .pause(pendingPause)
            } else {
                let limit = [batchRows, remaining].compactMap { $0 }.min()
                return .delete(DeletionBounds(rows: limit, isRest: limit == remaining && limit != batchRows))
            }
        }
        if case .stopped(let reason, let residue) = state { return .stop(reason, residue: residue) }
        return .countResidue
    }

    /// Tells that the pause asked for is over.
    package mutating func didPause() { pendingPause = nil }

    /// Tells what the batch asked for did.
    ///
    /// - Parameters:
    ///   - elapsed: how long it took.
    ///   - hasCompany: asked only where the answer decides: whether others are at work on the store.
    package mutating func didDelete(
        _ part: DeletionPart, elapsed: Duration = .zero, hasCompany: () -> Bool = { false }
    ) {
        guard case .deleting = state else { return }
        pacing.didCommit(elapsed: elapsed)
        let count = part.result.deletedCount
        deletedCount += count
        deletedInPass += count
        if count > 0 { batchCount += 1 }
        if part.hasMore, deletedInPass <= expectedInPass {
            pendingPause = pacing.pause(after: elapsed, hasCompany: hasCompany)
        } else {
            // The end of the pass; or more rows went than there were.
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
            idlePasses = residue < fewestLeft ? 0 : idlePasses + 1
            fewestLeft = min(fewestLeft, residue)
            deletedInPass = 0
            expectedInPass = residue
            state = idlePasses < Self.mostIdlePasses ? .deleting : .stopped(.notShrinking, residue: residue)
        case .finished, .notShrinking, .limitReached, .interrupted:
            state = .stopped(reason, residue: residue)
        }
    }
}

extension BatchLoop {
    /// Makes the loop of a planned step.
    init(_ step: Plan.Step, _ outline: DeletionOutline) {
        self.init(
            expiredCount: step.survey.expiredCount, batch: step.batch(outline), isLimited: outline.isInBatches,
            maxRows: step.maxRows)
    }

    /// Goes on in another way, since the engine does.
    mutating func adopt(_ outline: DeletionOutline, of step: Plan.Step) {
        isLimited = outline.isInBatches
        pacing = Pacing(step.batch(outline))
    }
}
