import RetentionPolicy
import Testing

@testable import RetentionJob

/// How many rows a batch gets.
struct PacingTests {
    /// The rows of the last of some batches, and how long the longest of the later ones took, in milliseconds.
    private func batches(_ count: Int, fixed: Double, perRow: Double, isShared: Bool) -> (rows: Int, longest: Double) {
        var pacing = Pacing(Rule.BatchSetting())
        var longest = 0.0
        for number in 1...count {
            let elapsed = fixed + perRow * Double(pacing.rows)
            if number > 30 { longest = max(longest, elapsed) }
            pacing.didCommit(elapsed: .microseconds(Int64(elapsed * 1000)))
            _ = pacing.pause(after: .milliseconds(1)) { isShared }
        }
        return (pacing.rows, longest)
    }

    /// Fewer rows would not make such a batch shorter: a commit waits for the disk.
    @Test(arguments: [4.5, 5.85, 7, 10, 30], [true, false])
    func theFixedCostOfACommitDoesNotMakeBatchesOfFewRows(_ fixed: Double, _ isShared: Bool) {
        #expect(batches(60, fixed: fixed, perRow: 0.01, isShared: isShared).rows >= 50)
    }

    /// A row that costs more than the target is deleted alone.
    @Test(arguments: [3.0, 5, 9, 13, 50], [true, false])
    func costlyRowsGoOneByOneOrByFew(_ perRow: Double, _ isShared: Bool) {
        #expect(batches(60, fixed: 0.5, perRow: perRow, isShared: isShared).longest <= max(8, 2 * perRow + 0.5))
    }

    @Test(arguments: [0.05, 0.2, 1], [true, false]) func batchesMeetTheTarget(_ perRow: Double, _ isShared: Bool) {
        #expect(batches(60, fixed: 1, perRow: perRow, isShared: isShared).longest <= 8.1)
    }
}
