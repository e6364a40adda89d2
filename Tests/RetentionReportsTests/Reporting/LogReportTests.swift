import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

@testable import RetentionReports

/// What `retention log` shows on a terminal: no outcome, reason or number is cut.
struct LogReportTests {
    private func table(_ width: Int, store: String? = nil) -> String {
        var rule = ReviewSample.rule("prices-of-the-european-exchanges-by-minute", .refused, expired: 5)
        rule.refusal = .tooManyRows
        let runs = [
            ReviewSample.run(3, [rule]), ReviewSample.run(2, [], failure: "the file is not a SQLite database"),
            ReviewSample.run(0),
        ]
        var every = MaxAge(written: "1d")
        every.days = 1
        let missed = MissedRuns(runs, every: every, zone: .utc, now: ReviewSample.now)
        let storeName = store.map { name in { (_: String) in name } }
        let names = RunNames(runs.map(\.report.runID), now: ReviewSample.now)
        return LogReport(runs, missed: missed, names: names, storeName: storeName)
            .table(TextLayout(width: width, tableWidth: width))
    }

    @Test(arguments: [40, 60, 80, 100], [nil, "data/prices-of-the-american-exchanges.sqlite"] as [String?])
    func nothingIsCut(width: Int, store: String?) {
        let text = table(width, store: store)
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for result in [
            "prices-of-the-european-exchanges-by-minute: too_many_rows; 5 left",
            "exit 75: the file is not a SQLite database", "2 d 00 h without a run; one is expected every 1d",
            "10 deleted",
        ] {
            #expect(words.contains(result), "\(text)")
        }
        #expect(!text.contains("…"), "\(text)")
        // The name of a rule or a store may be wider than the terminal.
        let isNarrow = text.split(separator: "\n").allSatisfy { $0.count <= width }
        #expect(isNarrow || width == 40, "\(text)")
    }

    /// The name of the store leaves its row before what the run did.
    @Test func aShortResultStaysInItsRow() {
        let rows = table(80, store: "data/prices-of-the-american-exchanges.sqlite").split(separator: "\n")
        #expect(rows.contains { $0.contains("03:00  ok       10 deleted") }, "\(rows)")
        #expect(rows.contains("    store data/prices-of-the-american-exchanges.sqlite"), "\(rows)")
    }
}
