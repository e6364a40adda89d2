import Foundation
import Testing

/// A plan that meets another program at work. What plans do otherwise is in the cases `plan-*`.
struct PlanTests {
    @Test func aRowWhoseDateWasChangedMeanwhileStays() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(20, daysAgo: 90) + Sample.rows(5, daysAgo: 1) + Sample.slowDeletes(steps: 100),
            policy: Sample.policy(Sample.rule("batch: { rows: 1, pause: 100ms }", age: "60d")))
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
