import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

@Suite struct BatchLoopTests {
    /// What a part did that is not the last one, or is.
    private func part(_ deletedCount: Int, cascaded: Int = 0, hasMore: Bool = false) -> DeletionPart {
        DeletionPart(BatchDeleteResult(deletedCount: deletedCount, cascadedCount: cascaded), hasMore: hasMore)
    }

    @Test func stopsAtOnceWhenNothingIsExpired() {
        var loop = BatchLoop(expiredCount: 0, batch: .fixed(rows: 10))
        #expect(loop.next(mayContinue: true) == .stop(.finished, residue: 0))
    }

    @Test func nothingExpiredIsFinishedEvenWhenInterrupted() {
        var loop = BatchLoop(expiredCount: 0, batch: .fixed(rows: 10))
        #expect(loop.next(mayContinue: false) == .stop(.finished, residue: 0))
    }

    @Test func continuesWhereTheBatchBeforeEnded() {
        var loop = BatchLoop(expiredCount: 25, batch: .fixed(rows: 10))
        #expect(loop.next(mayContinue: true) == .delete(DeletionBounds(rows: 10)))
        loop.didDelete(part(10, hasMore: true))
        #expect(loop.next(mayContinue: true) == .delete(DeletionBounds(rows: 10)))
        loop.didDelete(part(10, hasMore: true))
        #expect(loop.next(mayContinue: true) == .delete(DeletionBounds(rows: 10)))
        loop.didDelete(part(5))
        #expect(loop.next(mayContinue: true) == .countResidue)
        loop.didCount(residue: 0)
        #expect(loop.next(mayContinue: true) == .stop(.finished, residue: 0))
        #expect(loop.deletedCount == 25)
        #expect(loop.batchCount == 3)
    }

    @Test func askingTwiceGivesTheSameAnswer() {
        var loop = BatchLoop(expiredCount: 25, batch: .fixed(rows: 10))
        #expect(loop.next(mayContinue: true) == loop.next(mayContinue: true))
        loop.didDelete(part(25))
        #expect(loop.next(mayContinue: true) == loop.next(mayContinue: true))
    }

    @Test func aWindowWithoutExpiredRowsIsNotTheEnd() {
        var loop = BatchLoop(expiredCount: 3, batch: .fixed(rows: 10))
        loop.didDelete(part(0, hasMore: true))
        #expect(loop.next(mayContinue: true) == .delete(DeletionBounds(rows: 10)))
        #expect(loop.batchCount == 0)
    }

    @Test func endsAPassThatDeletedNothing() {
        var loop = BatchLoop(expiredCount: 3, batch: .fixed(rows: 10))
        loop.didDelete(part(0, hasMore: true))
        loop.didDelete(part(0))
        #expect(loop.next(mayContinue: true) == .countResidue)
        loop.didCount(residue: 3)
        #expect(loop.next(mayContinue: true) == .stop(.finished, residue: 3))
    }

    @Test func rowsThatArrivedWaitForTheNextRun() {
        var loop = BatchLoop(expiredCount: 5, batch: .fixed(rows: 10))
        loop.didDelete(part(5))
        #expect(loop.next(mayContinue: true) == .countResidue)
        loop.didCount(residue: 2)
        #expect(loop.next(mayContinue: true) == .stop(.finished, residue: 2))
    }

    @Test func nothingIsDeletedOnceThereAreAsManyAsThePlanCounted() {
        var loop = BatchLoop(expiredCount: 15, batch: .fixed(rows: 10))
        loop.didDelete(part(10, hasMore: true))
        loop.didDelete(part(5, hasMore: true))
        #expect(loop.next(mayContinue: true) == .countResidue)
        #expect(loop.deletedCount == 15)
    }

    @Test func oneBatchDeletesAllRowsIfBatchesHaveNoSize() {
        var loop = BatchLoop(expiredCount: 12, batch: .fixed(rows: 10), isLimited: false)
        #expect(loop.next(mayContinue: true) == .delete(DeletionBounds(rows: nil)))
    }

    @Test func beginsNoBatchOnceInterrupted() {
        var loop = BatchLoop(expiredCount: 25, batch: .fixed(rows: 10))
        loop.didDelete(part(10, hasMore: true))
        #expect(loop.next(mayContinue: false) == .countResidue)
        loop.didCount(residue: 15)
        #expect(loop.next(mayContinue: false) == .stop(.interrupted, residue: 15))
    }

    @Test func interruptedWithNothingLeftIsFinished() {
        var loop = BatchLoop(expiredCount: 10, batch: .fixed(rows: 10))
        loop.didDelete(part(10, hasMore: true))
        #expect(loop.next(mayContinue: false) == .countResidue)
        loop.didCount(residue: 0)
        #expect(loop.next(mayContinue: false) == .stop(.finished, residue: 0))
    }

    // MARK: Size and pauses

    @Test func theSizeFollowsTheTargetByAtMostHalfOrTwice() {
        var setting = Rule.BatchSetting()
        setting.rows = 1000
        setting.target = .milliseconds(8)
        var loop = BatchLoop(expiredCount: 100_000, batch: setting)
        func took(_ milliseconds: Int) -> Int? {
            guard case .delete = loop.next(mayContinue: true) else { return nil }
            loop.didDelete(
                part(10, hasMore: true),
                elapsed: .milliseconds(milliseconds))
            return loop.batchRows
        }
        #expect(took(8) == 1000)
        #expect(took(10) == 800)
        #expect(took(80) == 400)
        #expect(took(80) == 200)
        #expect(took(1) == 400)
    }

    @Test func batchesAreLongerWhileNothingElseUsesTheStore() {
        var setting = Rule.BatchSetting()
        setting.rows = 1000
        setting.target = .milliseconds(10)
        setting.targetAlone = .milliseconds(20)
        var loop = BatchLoop(expiredCount: 100_000, batch: setting)
        func rows(after elapsed: Int, inUse: Bool) -> Int? {
            loop.didDelete(part(1, hasMore: true), elapsed: .milliseconds(elapsed), isInUseByOthers: { inUse })
            loop.didPause()
            return loop.batchRows
        }
        #expect(rows(after: 10, inUse: true) == 2000, "the answer counts from the next batch on")
        #expect(rows(after: 10, inUse: true) == 1600)
        #expect(rows(after: 10, inUse: false) == 1280)
        #expect(rows(after: 20, inUse: false) == 1280)
        #expect(rows(after: 40, inUse: false) == 640)
    }

    @Test func rowsWithoutTargetIsAFixedSize() {
        var loop = BatchLoop(expiredCount: 100, batch: .fixed(rows: 10))
        loop.didDelete(part(10), elapsed: .seconds(1))
        #expect(loop.batchRows == 10)
    }

    @Test func waitsAsLongAsTheBatchTookIfOthersAreAtWork() {
        for (pause, isInUseByOthers, expected) in [
            (.auto, true, .milliseconds(5)), (.auto, false, nil), (.none, true, nil),
            (.fixed(.milliseconds(70)), false, .milliseconds(70)),
        ] as [(Rule.BatchSetting.Pause, Bool, Duration?)] {
            var setting = Rule.BatchSetting.fixed(rows: 10)
            setting.pause = pause
            var loop = BatchLoop(expiredCount: 100, batch: setting)
            loop.didDelete(
                part(10, hasMore: true), elapsed: .milliseconds(5),
                isInUseByOthers: { isInUseByOthers })
            if let expected {
                #expect(loop.next(mayContinue: true) == .pause(expected))
                #expect(loop.next(mayContinue: false) == .countResidue, "no pause outlasts the end of the run")
            } else {
                #expect(loop.next(mayContinue: true) == .delete(DeletionBounds(rows: 10)))
            }
        }
    }
}
