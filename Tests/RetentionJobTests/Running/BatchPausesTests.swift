import PriceStore
import Testing

@testable import RetentionJob

struct BatchPausesTests {
    /// A clock that only waiting moves.
    private final class Clock {
        var now = Duration.zero
        var waits: [String] = []
        func pauses(until end: Duration = .seconds(60)) -> BatchPauses {
            BatchPauses(
                uptime: { self.now }, sleep: { self.now += $0 }, mayContinue: { self.now < end },
                didWait: { self.waits.append("\($0) \($1)") })
        }
    }

    @Test func eachWaitHasItsReasonAndItsLength() {
        let clock = Clock()
        clock.pauses().wait(.milliseconds(120))
        clock.pauses().wait(.seconds(2), because: "batch.pause")
        #expect(clock.waits == ["pauses for other programs 0.12 seconds", "batch.pause 2.0 seconds"])
    }

    /// A wait that a signal ends counts only as long as it was.
    @Test func aWaitThatIsCutShortCountsAsLongAsItWas() {
        let clock = Clock()
        clock.pauses(until: .milliseconds(200)).wait(.seconds(2))
        #expect(clock.waits == ["pauses for other programs 0.2 seconds"])
    }

    @Test func waitsForOneReasonAreOne() {
        var report = RunReport(
            runID: "01K", mode: .run, asOf: Instant(unixSeconds: 0), started: Instant(unixSeconds: 0), config: "",
            configSHA256: "", store: "", engine: "sqlite")
        for (reason, seconds) in [("a", 1), ("b", 2), ("a", 3), ("c", 0)] {
            report.note(wait: .seconds(seconds), because: reason)
        }
        #expect(report.waits == ["a": 4_000_000, "b": 2_000_000])
        var row: [String: StoreValue] = [:]
        report.record(in: &row)
        report.waits = [:]
        report.read(row)
        #expect(report.waits == ["a": 4_000_000, "b": 2_000_000])
    }
}
