import Foundation
import Testing

/// The guards that remember earlier runs. The ledger's times are moved in place of the clock.
extension RefusalTests {
    /// A store whose rows are `newest` days old and older, with a ledger of runs that ended so many seconds ago.
    private func job(newest: Int = 20, endsAgo: [Int], keys: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(4, daysAgo: newest), policy: Sample.policy(Sample.rule(keys)))
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
        // What is expired now was not at the runs before.
        try job.change(Sample.rows(3, daysAgo: 100))
        return job
    }

    private func expectRefusal(_ code: String, by job: LaunchedJob, names figure: String) throws {
        // Twice: a run whose clock is doubted does not make it believable for the next one.
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

    @Test func aClockBeforeTheLastRunIsRefused() throws {
        let job = try job(endsAgo: [-120])
        let end = try job.rows("SELECT finished FROM run", in: "retention.ledger.sqlite")
        try expectRefusal("clock_moved_back", by: job, names: end[0])
    }

    @Test func aClockAMinuteBeforeTheLastRunIsNot() throws {
        let report = try job(endsAgo: [-50]).report()
        #expect(report.exitCode == 0 && report.rules[0].deleted == 3)
    }

    @Test func aClockFarPastTheLastRunIsRefusedWhereNoRowIsNewer() throws {
        // Longest gap 1 day, now 8 days.
        try expectRefusal("clock_jumped", by: job(endsAgo: [9 * Sample.day, 8 * Sample.day]), names: "192 h")
    }

    struct Pause: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var newest = 20
        var daysAgo: [Int]
    }

    @Test(arguments: [
        Pause(testDescription: "six days", daysAgo: [7, 6]),
        Pause(testDescription: "not three times the longest gap", daysAgo: [12, 8]),
        Pause(testDescription: "a row is newer than the last run", newest: 5, daysAgo: [9, 8]),
    ])
    func aPauseThatCanBeExplainedIsNot(_ pause: Pause) throws {
        let report = try job(newest: pause.newest, endsAgo: pause.daysAgo.map { $0 * Sample.day }).report()
        #expect(report.exitCode == 0 && report.rules[0].deleted == 3, "\(report)")
    }

    @Test func theClockCanBeAcceptedInTheRule() throws {
        let report = try job(endsAgo: [-120], keys: "accept: [clock_moved_back]").report()
        #expect(report.exitCode == 0 && report.rules[0].deleted == 3)
        #expect(report.rules[0].accepted == ["clock_moved_back"])
    }
}
