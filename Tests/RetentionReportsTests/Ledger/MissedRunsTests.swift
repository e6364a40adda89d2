import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports
import Testing

struct MissedRunsTests {
    private let day: Int64 = 24

    private func runs(_ hours: [Int64], crashed: Set<Int> = []) -> [LedgerRun] {
        hours.enumerated().map { index, hour in
            LedgerRun(
                number: index + 1, report: LedgerFile.report("R\(index)", hour: hour),
                outcome: crashed.contains(index) ? .crashed : .completed,
                process: LedgerProcess(pid: 1, host: "gold", user: "cron", version: "0.1.0"))
        }
    }

    private func missed(_ runs: [LedgerRun], nowHour: Int64, since: Int64? = nil) -> MissedRuns {
        var every = MaxAge(written: "1d")
        every.days = 1
        let instant = { (hour: Int64) in ReportSample.asOf.advanced(byMicroseconds: hour * LedgerFile.hour) }
        return MissedRuns(runs, every: every, zone: .utc, since: since.map(instant), now: instant(nowHour))
    }

    @Test func runsInTimeLeaveNoGap() {
        let missed = missed(runs([0, 24, 50, 74]), nowHour: 98)
        #expect(missed.gaps.isEmpty && !missed.isOverdue && missed.text.hasPrefix("No run was missed"))
    }

    @Test func aGapBetweenRunsIsReported() {
        let missed = missed(runs([0, 24, 72]), nowHour: 80)
        #expect(missed.gaps.count == 1 && !missed.isOverdue)
        #expect(missed.gaps[0].after == ReportSample.asOf.advanced(byMicroseconds: 24 * LedgerFile.hour))
        #expect(missed.text.contains("MISSED: 48 h 00 min without a run; one is expected every 1d"), "\(missed.text)")
    }

    @Test func aRunThatIsMissingNowIsReported() {
        // A tenth of a day is allowed: until 26 h 24 min after the last one.
        #expect(!missed(runs([0]), nowHour: 26).isOverdue)
        #expect(missed(runs([0]), nowHour: 27).isOverdue)
        #expect(missed([], nowHour: 0).isOverdue)
    }

    @Test func aRunThatCrashedIsNoRun() {
        #expect(missed(runs([0, 24, 48], crashed: [1]), nowHour: 50).gaps.count == 1)
        #expect(missed(runs([0, 24], crashed: [1]), nowHour: 30).isOverdue)
    }

    @Test func olderGapsCanBeLeftOut() {
        #expect(missed(runs([0, 72, 96, 170]), nowHour: 171).gaps.count == 2)
        #expect(missed(runs([0, 72, 96, 170]), nowHour: 171, since: 100).gaps.count == 1)
    }

    @Test func theTableShowsGapsAmongTheRuns() {
        let runs = runs([0, 72])
        let lines = LogReport(runs, missed: missed(runs, nowHour: 200)).table().split(separator: "\n")
        #expect(lines.count == 5, "\(lines)")
        #expect(
            lines[2] == "     2026-11-21 00:00:00  MISSED: 72 h 00 min without a run; one is expected every 1d")
        #expect(
            lines[4]
                == "     2026-11-24 00:00:00  MISSED: the last run began 128 h 00 min ago; one is expected every 1d")
    }
}
