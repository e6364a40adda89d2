import PriceStore
import Testing

/// The order in which the rows of an archive are restored, and what is restored together.
struct RestorationStepsTests {
    private struct Source: RestorableSource {
        var table: String
        var kind = ArchivedKind.rows
        var relationships: [Relationship] { [] }
        var triggers: [String] { [] }
    }

    /// The tables and rows of each transaction.
    private func transactions(_ parts: [[ArchivedRows]], of sources: [Source], rows: Int) -> [[ArchivedRows]] {
        var steps = RestorationSteps(parts, of: sources)
        var found: [[ArchivedRows]] = []
        while !steps.isEnd(steps.place) {
            let (batch, next) = steps.next(rows: rows)
            found.append(batch.flatMap(\.portions))
            steps.place = next
        }
        return found
    }

    @Test(arguments: [1, 10, 11, 19]) func rowsAndTheirCandlesAreRestoredTogether(_ rows: Int) {
        let ticks = Source(table: "tick"), candles = Source(table: "candle", kind: .candles)
        let first = [ArchivedRows(table: 1, rows: 1...2), ArchivedRows(table: 0, rows: 1...10)]
        let second = [ArchivedRows(table: 0, rows: 11...20), ArchivedRows(table: 1, rows: 3...4)]
        #expect(
            transactions([first, second], of: [ticks, candles], rows: rows) == [second, first.reversed()])
    }

    @Test func rowsWithoutCandlesAreDivided() {
        let part = [ArchivedRows(table: 0, rows: 1...5)]
        let found = transactions([part], of: [Source(table: "tick")], rows: 3)
        #expect(found.map { $0.map(\.rows) } == [[3...5], [1...2]])
    }
}
