import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

@testable import RetentionReports

struct MissedRunsTests {
    private let day: Int64 = 24

    private func runs(_ hours: [Int64], crashed: Set<Int> = []) -> [LedgerRun] {
        hours.enumerated().map { index, hour in
            LedgerRun(
                number: index + 1, report: LedgerFile.report("R\(index)", hour: hour),
                outcome: crashed.contains(index) ? .crashed : .completed,
                process: LedgerProcess(pid: 1, host: "gold", user: "cron", version: "1.2.3"))
        }
    }

    private func missed(_ runs: [LedgerRun], nowHour: Int64, since: Int64? = nil) -> MissedRuns {
        var every = MaxAge(written: "1d")
        every.days = 1
        return MissedRuns(
            runs, of: ReviewSample.policy(["gold", "silver"]), every: every, zone: .utc,
            since: since.map(LedgerFile.instant),
            now: LedgerFile.instant(nowHour))
    }

    @Test func runsInTimeLeaveNoGap() {
        let missed = missed(runs([0, 24, 50, 74]), nowHour: 98)
        #expect(missed.gaps.isEmpty && !missed.isOverdue && missed.text.hasPrefix("No run was missed"))
    }

    @Test func aGapBetweenRunsIsReported() {
        let missed = missed(runs([0, 24, 72]), nowHour: 80)
        #expect(missed.gaps.count == 1 && !missed.isOverdue)
        #expect(missed.gaps[0].after == ReportSample.asOf.advanced(byMicroseconds: 24 * LedgerFile.hour))
        #expect(missed.text.contains("MISSED: 2 d 00 h without a run; one is expected every 1d"), "\(missed.text)")
    }

    @Test func theLastGapIsNamedIfNoRunIsMissingNow() {
        var missed = missed(runs([0, 24, 72, 144]), nowHour: 150)
        missed.leaveOutPast()
        #expect(
            missed.lines == [
                "No run is missing now; one is expected every 1d.",
                "The last gap was from 2026-11-25 00:00:00Z to 2026-11-27 00:00:00Z; --since shows earlier gaps too.",
            ], "\(missed.lines)")
    }

    @Test func aRunThatIsMissingNowIsReported() {
        // A tenth of a day is allowed: until 26 h 24 min after the last one.
        #expect(!missed(runs([0]), nowHour: 26).isOverdue)
        #expect(missed(runs([0]), nowHour: 27).isOverdue)
        #expect(missed([], nowHour: 0).isOverdue)
    }

    /// The log and the review show it as what it was.
    @Test func aRunThatCrashedOrFailedBeforeItsRulesIsNotMissed() {
        var runs = runs([0, 24, 48], crashed: [1])
        (runs[2].outcome, runs[2].report.rules) = (.failed, [])
        #expect(missed(runs, nowHour: 50).gaps.isEmpty)
        #expect(missed(runs, nowHour: 80).text.contains("MISSED: the last run began 1 d 08 h ago; one is"))
        #expect(missed([runs[2]], nowHour: 50).gaps.isEmpty)
        var now = missed(runs, nowHour: 50)
        #expect(!now.isAlarm)
        now.leaveOutPast()
        #expect(now.isAlarm)
        #expect(now.lines == ["The last run, 2026-11-23 00:00:00Z, failed before its first rule."], "\(now.lines)")
    }

    /// A run of a clock that was ahead is no sign that the job lives, also if nothing refused it.
    @Test func aRunByAClockThatWasAheadHidesNoMissingOne() {
        #expect(missed(runs([0, 24, 24 * 60]), nowHour: 100).isOverdue)
        // Nor is it one later.
        let later = missed(runs([0, 24, 24 * 60, 72]), nowHour: 80)
        #expect(!later.isOverdue && later.gaps == missed(runs([0, 24, 72]), nowHour: 80).gaps, "\(later.text)")
        #expect(later.gaps.count == 1)
        #expect(missed(runs([0, 24, 24 * 60, 48, 72]), nowHour: 24 * 61).gaps.count == 1)
    }

    /// The other rules waited.
    @Test func aRunOfSomeRulesIsNotTheOneThatIsExpected() {
        var runs = runs([0, 24, 48])
        runs[1].report.onlyRules = ["gold"]
        #expect(missed(runs, nowHour: 50).gaps.count == 1)
        #expect(missed(runs, nowHour: 50).text.contains("MISSED: 2 d 00 h without a run of all rules; one is"))
        runs[2].report.onlyRules = ["gold"]
        let now = missed(runs, nowHour: 50)
        #expect(now.text.contains("00:00:00Z MISSED: the last run of all rules began 2 d 02 h ago"), "\(now.text)")
        let never = missed([runs[2]], nowHour: 50)
        #expect(never.text == "MISSED: no run of all rules is recorded; one is expected every 1d\n", "\(never.text)")
        // A schedule for each rule.
        runs[1].report.onlyRules = ["silver"]
        #expect(!missed(runs, nowHour: 50).isOverdue && missed(runs, nowHour: 50).gaps.count == 1)
    }

    @Test func olderGapsCanBeLeftOut() {
        #expect(missed(runs([0, 72, 96, 170]), nowHour: 171).gaps.count == 2)
        #expect(missed(runs([0, 72, 96, 170]), nowHour: 171, since: 100).gaps.count == 1)
    }

    /// A gap is shown when a run was due. A run that failed is not missed.
    @Test func theTableShowsGapsInOrderOfTime() {
        var runs = runs([0, 72, 97])
        (runs[2].outcome, runs[2].report.rules) = (.failed, [])
        runs[2].report.failure = "locked"
        let missed = missed(runs, nowHour: 200)
        let names = RunNames(runs.map(\.report.runID), now: missed.now)
        let lines = LogReport(runs, missed: missed, names: names).table().split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true).prefix(5).joined(separator: " ")
        }
        #expect(
            lines == [
                "STARTED (UTC) OUTCOME RESULT TIME", "21 Nov 00:00 ok nothing", "22 Nov 00:00 MISSED 3",
                "24 Nov 00:00 ok nothing", "25 Nov 01:00 FAILED locked", "26 Nov 01:00 MISSED the",
            ], "\(lines)")
    }
}
