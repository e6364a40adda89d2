import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

@testable import retention

struct ExitStatusTests {
    private static let source = PolicySource(path: "retention.yaml", sha256: "", lines: ["version: 2"])

    private static func store(_ kind: StoreError.Kind) -> StoreError {
        StoreError(kind, store: "prices.sqlite", message: "it failed", engineCode: "SQLITE_X", hint: "do this")
    }

    @Test(
        arguments: [
            (CommandFailure.usage("wrong"), 64), (store(.constraint), 65), (store(.missing), 66),
            (store(.unreachable), 69), (store(.defect), 70), (store(.cannotCreate), 73), (store(.inputOutput), 74),
            (store(.replaced), 74), (store(.busy), 75), (store(.permission), 77), (store(.unknownName), 78),
            (RunLock.Failure.held(path: "p", processID: 7), 75),
            (RunLock.Failure.permission(path: "p", reason: "r"), 77),
            (RunLock.Failure.cannotCreate(path: "p", reason: "r"), 73),
            (RunLock.Failure.inputOutput(path: "p", reason: "r"), 74), (PolicyError.missing(path: "p"), 66),
            (PolicyError.unreadable(path: "p", code: 13, reason: "r"), 77),
            (PolicyError.unreadable(path: "p", code: 21, reason: "r"), 74),
            (PolicyError.invalid([Diagnostic(at: Mark(line: 1, column: 1), "wrong")], source), 78),
            (CancellationError(), 70),
        ] as [(any Error & Sendable, Int32)])
    func everyErrorHasItsStatusAndSaysSomething(error: any Error & Sendable, code: Int32) {
        let status = ExitStatus(of: error)
        #expect(status.code == code)
        #expect(!status.lines.isEmpty && status.lines.allSatisfy { !$0.isEmpty && !$0.contains("\n") })
    }

    @Test(
        arguments: [
            .missing, .unreachable, .permission, .busy, .inputOutput, .constraint, .unsupported, .unpredictable,
            .unknownName, .cannotCreate, .replaced, .cancelled, .historyMissing, .defect,
        ] as [StoreError.Kind])
    func aStoreErrorWithoutAHintGetsOne(_ kind: StoreError.Kind) {
        let status = ExitStatus(of: StoreError(kind, store: "prices.sqlite", message: "it failed"))
        #expect(status.lines.first == "retention: error: prices.sqlite: it failed")
        #expect(status.lines.count == 2 && status.lines.last?.hasPrefix("  ") == true)
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
