import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

/// What a part did that is not the last one, or is.
private func part(_ deletedCount: Int, hasMore: Bool = false) -> DeletionPart {
    DeletionPart(BatchDeleteResult(deletedCount: deletedCount), hasMore: hasMore)
}

@Suite struct BatchLoopTests {
    @Test(arguments: [true, false]) func stopsAtOnceWhenNothingIsExpired(mayContinue: Bool) {
        var loop = BatchLoop(expiredCount: 0, batch: .fixed(rows: 10))
        #expect(loop.next(mayContinue: mayContinue) == .stop(.finished, residue: 0))
    }

    /// After a pass that deleted nothing, rows that arrived meanwhile, and an interruption, which may leave no row.
    @Test(
        arguments: [
            (3, [part(0, hasMore: true), part(0)], .finished, 3), (5, [part(5)], .finished, 2),
            (25, [part(10, hasMore: true)], .interrupted, 15), (10, [part(10, hasMore: true)], .finished, 0),
        ] as [(Int, [DeletionPart], BatchLoop.Reason, Int)])
    func whatIsLeftIsCountedBeforeTheEnd(expired: Int, parts: [DeletionPart], reason: BatchLoop.Reason, residue: Int) {
        var loop = BatchLoop(expiredCount: expired, batch: .fixed(rows: 10))
        for part in parts { loop.didDelete(part) }
        let mayContinue = parts.last?.hasMore == false
        #expect(loop.next(mayContinue: mayContinue) == .countResidue)
        loop.didCount(residue: residue)
        #expect(loop.next(mayContinue: mayContinue) == .stop(reason, residue: residue))
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
