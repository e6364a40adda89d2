import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

@testable import retention

struct ExitStatusTests {
    struct Row {
        let error: any Error & Sendable
        let code: Int32
    }

    private static let source = PolicySource(path: "retention.yaml", sha256: "", lines: ["version: 2"])

    private static func store(_ kind: StoreError.Kind) -> StoreError {
        StoreError(kind, store: "prices.sqlite", message: "it failed", engineCode: "SQLITE_X", hint: "do this")
    }

    @Test(arguments: [
        Row(error: CommandFailure.usage("wrong"), code: 64),
        Row(error: store(.constraint), code: 65), Row(error: store(.missing), code: 66),
        Row(error: store(.unreachable), code: 69), Row(error: store(.defect), code: 70),
        Row(error: store(.cannotCreate), code: 73), Row(error: store(.inputOutput), code: 74),
        Row(error: store(.replaced), code: 74), Row(error: store(.busy), code: 75),
        Row(error: store(.permission), code: 77), Row(error: store(.unknownName), code: 78),
        Row(error: RunLock.Failure.held(path: "p", processID: 7), code: 75),
        Row(error: RunLock.Failure.permission(path: "p", reason: "r"), code: 77),
        Row(error: RunLock.Failure.cannotCreate(path: "p", reason: "r"), code: 73),
        Row(error: RunLock.Failure.inputOutput(path: "p", reason: "r"), code: 74),
        Row(error: PolicyError.missing(path: "p"), code: 66),
        Row(error: PolicyError.unreadable(path: "p", code: 13, reason: "r"), code: 77),
        Row(error: PolicyError.unreadable(path: "p", code: 21, reason: "r"), code: 74),
        Row(error: PolicyError.invalid([Diagnostic(at: Mark(line: 1, column: 1), "wrong")], source), code: 78),
        Row(error: CancellationError(), code: 70),
    ])
    func everyErrorHasItsStatusAndSaysSomething(_ row: Row) {
        let status = ExitStatus(of: row.error)
        #expect(status.code == row.code)
        #expect(!status.lines.isEmpty && status.lines.allSatisfy { !$0.isEmpty && !$0.contains("\n") })
    }

    @Test func storeErrorsHaveTheStoreTheCodeAndAHint() {
        #expect(
            ExitStatus(of: Self.store(.inputOutput)).lines == [
                "retention: error: prices.sqlite: it failed (SQLITE_X)", "  do this",
            ])
    }
}

struct ProgressBarTests {
    private final class Screen {
        var lines: [String] = []
        var erasures = 0
        var time = Duration.zero

        var bar: ProgressBar {
            ProgressBar(
                show: { self.lines.append($0) }, erase: { self.erasures += 1 }, uptime: { self.time }, width: { 80 })
        }
    }

    @Test func theLineShowsRowsRateAndTimeLeft() {
        #expect(
            ProgressBar.line(
                label: "yahoo-gold", deletedCount: 200_000, expiredCount: 500_000, elapsed: .seconds(2))
                == "yahoo-gold  [########------------]  40.0%  200,000 of 500,000 rows  100,000 rows/s  3.0 s left")
        #expect(
            ProgressBar.line(label: "r", deletedCount: 0, expiredCount: 0, elapsed: .zero)
                == "r  [--------------------]  0 of 0 rows")
        #expect(
            ProgressBar.line(label: "r", deletedCount: 7, expiredCount: 5, elapsed: .zero)
                == "r  [####################]  100.0%  7 of 7 rows")
    }

    /// The time left matters most: other parts are omitted first.
    @Test(arguments: [
        (79, "yahoo-gold  [########------------]  40.0%  200,000 of 500,000 rows  3.0 s left"),
        (70, "yahoo-gold  40.0%  200,000 of 500,000 rows  3.0 s left"), (40, "yahoo-gold  40.0%  3.0 s left"),
        (25, "yahoo-gold  3.0 s left"), (16, "yah…  3.0 s left"), (10, "…  3.0 s left"),
    ])
    func aNarrowLineKeepsTheTimeLeft(width: Int, line: String) {
        #expect(
            ProgressBar.line(
                label: "yahoo-gold", deletedCount: 200_000, expiredCount: 500_000, elapsed: .seconds(2), width: width)
                == line)
    }

    @Test func showsAtMostTenLinesASecondAndErasesAtTheEnd() {
        let screen = Screen()
        let bar = screen.bar
        bar.runDidBegin(rule: "r", expiredCount: 1000)
        for step in 1...1000 {
            screen.time = .milliseconds(step)
            bar.runDidDelete(deletedCount: step, expiredCount: 1000)
        }
        bar.runDidEnd()
        // The first at once.
        #expect(screen.lines.count == 1 + 10 && screen.erasures == 1)
    }
}
