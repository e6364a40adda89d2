import Foundation
import Testing

/// `retention report` says of a real store what its runs did.
struct ReportTests {
    private func job(_ age: String = "30d") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(40, daysAgo: 40) + Sample.rows(20, daysAgo: 20) + Sample.rows(9, daysAgo: 0),
            policy: policy(age))
        try job.makeFolder("archive")
        return job
    }

    private func policy(_ age: String) -> String {
        Sample.policy(
            Sample.rule("limits: { max_fraction: 0.9 }", age: age),
            head: "expected_every: 1d\narchive: { folder: archive, keep: 30d }")
    }

    /// The text, the page and the words of the JSON, each with white space made plain.
    private func everywhere(_ job: LaunchedJob) throws -> [String] {
        try [["report"], ["report", "--html", "-"], ["report", "--format", "json"]].map { arguments in
            let end = try job.perform(arguments)
            #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
            return end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    @Test func beforeTheFirstRunNothingIsSaidToHaveHappened() throws {
        let job = try job()
        let texts = try everywhere(job)
        #expect(
            texts[0].contains("Last run: none is recorded") && texts[0].contains("40 rows expired now"), "\(texts[0])")
        #expect(texts[1].contains("<dd class=\"caution\">none is recorded</dd>"))
        #expect(texts[2].contains("\"last_run\": null"))
        #expect(try job.listing() == ["archive", "prices.sqlite", "retention.yaml"])
    }

    @Test func aRunIsShownUntilWhenItCanBeUndone() throws {
        let job = try job()
        try job.report()
        let text = try everywhere(job)[0]
        #expect(text.contains("· completed · Deleted 40 rows in"), "\(text)")
        #expect(text.contains("no expired row is left · undo possible until"), "\(text)")
        #expect(text.contains("Next: due 20") && text.contains("; if you read this after 20"), "\(text)")
        #expect(text.contains("0 rows expired now, 0 more within 24 hours Attention: nothing"), "\(text)")
    }

    @Test func aRefusedRunAndItsSolutionAreTold() throws {
        let job = try job()
        try job.report()
        try job.folder.write(policy("10d"), to: "retention.yaml")
        #expect(try job.report().exitCode == 65)
        for text in try everywhere(job)[..<2] {
            #expect(
                text.contains("refused: policy_widened (gold)") && text.contains("20 expired rows are left"), "\(text)")
            #expect(
                text.contains("gold: a run now would refuse it, as all since 20")
                    && text.contains("--accept policy_widened"))
            #expect(!text.contains("no expired row is left"), "\(text)")
        }
        try job.report("--accept", "policy_widened")
        for text in try everywhere(job)[..<2] {
            #expect(text.contains("refused: policy_widened (gold)") && !text.contains("--accept"), "\(text)")
            #expect(text.contains("policy_widened was accepted for gold"), "\(text)")
        }
    }

    @Test func anUndoIsNotTheLastRunAndItsRowsAreExpired() throws {
        let job = try job()
        let run = try job.report().run
        #expect(try job.retention("undo", run).status == 0)
        for text in try everywhere(job)[..<2] {
            #expect(text.contains("completed · Deleted 40 rows") && text.contains("undone by run"), "\(text)")
            #expect(text.contains(": undo of \(run): restored 40 rows"), "\(text)")
            #expect(text.contains("none of gold, which a run would refuse"), "\(text)")
        }
    }

    @Test func aPageIsNotAlsoText() throws {
        let job = try job()
        let end = try job.retention("report", "--html", "page.html", "--format", "json")
        #expect(end.status == 64 && end.errors.contains("mutually exclusive"), "\(end)")
        #expect(try !job.listing().contains("page.html"))
    }
}
