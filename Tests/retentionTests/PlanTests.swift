import Foundation
import PriceStore
import RetentionJob
import Testing

/// Plans that are too old, or that meet another program at work. What plans do otherwise is in the cases `plan-*`.
struct PlanTests {
    private func job(_ rule: String = Sample.rule(age: "60d")) throws -> LaunchedJob {
        let rows = Sample.rows(20, daysAgo: 90) + Sample.rows(30, daysAgo: 40) + Sample.rows(5, daysAgo: 1)
        return try LaunchedJob(Sample.price + rows, policy: Sample.policy(rule))
    }

    @Test func aPlanIsValidForItsTime() throws {
        let job = try job()
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let text = try job.text("plan.txt")
        var old = try #require(SavedPlan(text: text))
        old.validUntil = Instant(unixSeconds: 1_700_000_000)
        try job.folder.write(old.text, to: "old.txt")
        for arguments in [["--dry-run"], []] {
            let end = try job.perform(["run", "--plan", "old.txt"] + arguments)
            #expect(
                end.status == 65 && end.errors.contains("was valid until 2023-11-14 22:13:20Z; nothing was deleted"),
                "\(end)")
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 55)
    }

    @Test func aRowWhoseDateWasChangedMeanwhileStays() throws {
        let job = try job(Sample.rule("batch: { rows: 1, pause: 100ms }", age: "60d"))
        try job.change(Sample.slowDeletes(steps: 100))
        try job.retention("run", "--dry-run", "--save-plan", "plan.txt")
        let run = try RunningProgram(job, "run", "--plan", "plan.txt", "--format", "json")
        #expect(job.hasBegunSlowDeletes())
        // One of them is the last of the plan.
        try job.change("UPDATE Price SET at = unixepoch() WHERE id IN (1, 20)")
        #expect(run.wait() == 0)
        #expect(try Report(json: job.text("stdout.txt")).rules[0].deleted == 19)
        #expect(try job.number("SELECT count(*) FROM Price WHERE id IN (1, 20)") == 1)
    }
}
