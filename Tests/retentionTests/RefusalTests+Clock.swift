import Foundation
import Testing

/// The guards that remember earlier runs. The ledger's times are moved in place of the clock.
extension RefusalTests {
    /// Twice: a run whose clock is doubted does not make it believable for the next one.
    @Test(arguments: [("clock_moved_back", [-120]), ("clock_jumped", [9 * Sample.day, 8 * Sample.day])])
    func aDoubtedClockIsRefusedUntilItIsAcceptedOnce(_ code: String, endsAgo: [Int]) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(4, daysAgo: 20), policy: Sample.policy(Sample.rule()))
        for _ in endsAgo { #expect(try job.report().exitCode == 0) }
        for (index, ago) in endsAgo.enumerated() {
            let time = ["started", "finished"].map {
                "\($0)_us = (unixepoch() - \(ago)) * 1000000, "
                    + "\($0) = strftime('%Y-%m-%dT%H:%M:%SZ', unixepoch() - \(ago), 'unixepoch')"
            }
            try job.change(
                "UPDATE run SET \(time.joined(separator: ", ")) WHERE number = \(index + 1)",
                in: "retention.ledger.sqlite")
        }
        // What is expired now was not at the runs before: also where the rows are other ones.
        try job.change("DELETE FROM Price; " + Sample.rows(4, daysAgo: 20) + Sample.rows(3, daysAgo: 100))
        // The end of the last run, and how long ago it was; the longest gap was one day.
        let figure =
            code == "clock_jumped"
            ? "8 d 00 h" : try job.rows("SELECT finished FROM run", in: "retention.ledger.sqlite")[0]
        for arguments in [["--dry-run"], [], []] {
            let report = try job.report(arguments)
            #expect(report.exitCode == 65 && report.rules[0].refusal == code, "\(report)")
            let message = try #require(report.rules[0].message)
            #expect(message.hasPrefix("refusing to") && message.contains(figure), "\(message)")
            #expect(message.contains("--accept \(code)"))
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 7)
        let accepted = try job.report("--accept", code)
        #expect(accepted.exitCode == 0 && accepted.rules[0].deleted == 3)
        #expect(try job.log().last?.rules[0].accepted == [code])
    }
}
