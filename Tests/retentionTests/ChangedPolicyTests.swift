import Foundation
import TestSupport
import Testing

/// Rows that came back after a run that somebody stopped.
struct ChangedPolicyTests {
    @Test func aNarrowerRuleThatIsInterruptedRemembersWhatWasLeft() throws {
        let batch = "batch: { rows: 1, pause: 1min }, "
        func rule(_ limit: Int, _ more: String = "") -> String {
            Sample.rule("\(more)limits: { max_rows: \(limit) }", age: "60d")
        }
        let job = try LaunchedJob(
            Sample.price + Sample.rows(20, daysAgo: 90) + Sample.rows(5, daysAgo: 1), policy: Sample.policy(rule(9000)))
        try job.report()
        try job.folder.write(Sample.policy(rule(8999, batch)), to: "retention.yaml")
        try job.change(Sample.rows(9, daysAgo: 61))
        let left = try job.number("SELECT count(*) FROM Price")
        let run = try RunningProgram(job, "run")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < left })
        run.send(SIGTERM)
        #expect(run.wait() == 128 + SIGTERM)
        #expect(try job.number("SELECT count(*) FROM Price") == left - 1)
        try job.change(Sample.rows(1001, daysAgo: 100))
        #expect(try job.report().rules[0].refusal == "rows_came_back")
    }
}
