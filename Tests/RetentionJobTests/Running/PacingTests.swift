import RetentionPolicy
import Testing

@testable import RetentionJob

/// How many rows a batch gets.
struct PacingTests {
    /// The rows of the last of some batches, and how long the longest of the later ones took, in milliseconds.
    ///
    /// - Parameter fixed: the time of each batch's commit, by the number of its rows.
    private func batches(
        _ count: Int = 60, fixed: (Int) -> Double, perRow: Double, isShared: Bool
    ) -> (rows: Int, longest: Double) {
        var pacing = Pacing(Rule.BatchSetting())
        var longest = 0.0
        for number in 1...count {
            let commit = fixed(pacing.rows)
            let elapsed = commit + perRow * Double(pacing.rows)
            if number > 30 { longest = max(longest, elapsed) }
            pacing.didCommit(
                elapsed: .microseconds(Int64(elapsed * 1000)), fixed: .microseconds(Int64(commit * 1000)))
            _ = pacing.pause(after: .milliseconds(1)) { isShared }
        }
        return (pacing.rows, longest)
    }

    /// Fewer rows would not make such a batch shorter: a commit waits for the disk. Half of the target has 400 rows, or 320.
    @Test(arguments: [4.5, 5.85, 7, 10, 30, 400], [true, false])
    func theFixedCostOfACommitDoesNotMakeBatchesOfFewRows(_ fixed: Double, _ isShared: Bool) {
        #expect(batches(fixed: { _ in fixed }, perRow: 0.01, isShared: isShared).rows >= 319)
    }

    /// A busy disk: now and then a commit takes thirty times as long.
    @Test(arguments: 1...5) func aDiskThatIsBusyNowAndThenMakesNoBatchesOfFewRows(_ seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
        func commit(_: Int) -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return (state >> 60) < 8 ? 2 : 60
        }
        #expect(batches(5000, fixed: commit, perRow: 0.02, isShared: true).rows >= 159)
    }

    /// A commit that writes the rows takes longer with more of them, and the batch still ends.
    @Test func aCommitThatWritesTheRowsDoesNotMakeBatchesGrowWithoutEnd() {
        #expect(batches(fixed: { Double($0) }, perRow: 0.5, isShared: true).longest <= 20)
    }

    /// A row that costs more than the target is deleted alone.
    @Test(arguments: [3.0, 5, 9, 13, 50], [true, false])
    func costlyRowsGoOneByOneOrByFew(_ perRow: Double, _ isShared: Bool) {
        #expect(batches(fixed: { _ in 0.5 }, perRow: perRow, isShared: isShared).longest <= max(8, perRow + 0.5))
    }

    @Test(arguments: [0.05, 0.2, 1], [true, false]) func batchesMeetTheTarget(_ perRow: Double, _ isShared: Bool) {
        #expect(batches(fixed: { _ in 1 }, perRow: perRow, isShared: isShared).longest <= 8.1)
    }

    /// Where each batch has costs of many rows, it keeps many rows.
    @Test func aBatchHasAtLeastTheFewestRows() {
        var setting = Rule.BatchSetting()
        (setting.rows, setting.fewestRows) = (1000, 500)
        var pacing = Pacing(setting)
        for _ in 1...20 { pacing.didCommit(elapsed: .seconds(3), fixed: .zero) }
        #expect(pacing.rows == 500)
    }
}
