import Foundation
import TestSupport
import Testing

/// An acceptance of restored rows is for a run that is completed.
struct RestoredRowsTests {
    @Test func aRunThatIsStoppedAcceptsNothingForTheNext() throws {
        let archive = "archive: { folder: archive, keep: 30d }"
        let policy = Sample.policy(Sample.rule(), head: archive)
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0), policy: policy)
        try job.makeFolder("archive")
        #expect(try job.retention("undo", job.report().run).status == 0)
        let slow = Sample.policy(Sample.rule("batch: { rows: 1, pause: 1min }"), head: archive)
        try job.folder.write(slow, to: "retention.yaml")
        let left = try job.number("SELECT count(*) FROM Price")
        let run = try RunningProgram(job, "run", "--accept", "restored_rows")
        #expect(try eventually { try job.number("SELECT count(*) FROM Price") < left })
        run.send(SIGTERM)
        #expect(run.wait() == 128 + SIGTERM)
        let stopped = try #require(try job.log().last)
        #expect(stopped.rules[0].outcome == "interrupted" && stopped.totals.deleted == 1)
        for arguments in [["--dry-run"], []] { #expect(try job.report(arguments).rules[0].refusal == "restored_rows") }
        try job.folder.write(policy, to: "retention.yaml")
        #expect(try job.report("--accept", "restored_rows").totals.residue == 0)
        #expect(try job.report().exitCode == 0)
    }
}
