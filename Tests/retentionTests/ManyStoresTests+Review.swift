import Foundation
import Testing

/// What is said of all stores of a pattern.
extension ManyStoresTests {
    /// A run says it once, and the review for 30 days.
    @Test func aStoreThatIsGoneIsTold() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"])
        #expect(try job.retention("run").status == 0)
        try job.move("data/b.sqlite", to: "away")
        for arguments in [["run", "--dry-run"], ["run", "--quiet"]] {
            let run = try job.perform(arguments)
            let says = "warning: 1 store of the last run is gone: data/b.sqlite\n"
            #expect(run.status == 0 && run.errors.contains(says), "\(run)")
        }
        let next = try job.retention("run")
        #expect(next.status == 0 && !next.errors.contains("gone"), "\(next)")
        let review = try job.retention("report")
        let says = "\n- 1 store of the last 30 days is gone: data/b.sqlite\n"
        #expect(review.status == 0 && review.output.contains(says), "\(review)")
        // One that is left out is none of the policy's.
        let policy = try job.text("retention.yaml").replacing("data/test*", with: "data/b*")
        try job.folder.write(policy, to: "retention.yaml")
        #expect(try !job.retention("report").output.contains("gone"))
    }

    @Test func ofManyStoresThatAreGoneTheFirstAreNamed() throws {
        let job = try job((1...8).map { "\($0).sqlite" })
        #expect(try job.retention("run").status == 0)
        for store in 2...8 { try job.move("data/\(store).sqlite", to: "\(store)") }
        let run = try job.retention("run")
        let names = (2...6).map { "data/\($0).sqlite" }.joined(separator: ", ")
        #expect(run.errors.contains("7 stores of the last run are gone: \(names) and 2 others\n"), "\(run)")
    }

    @Test func theFirstRunOfAllStoresIsToldOnce() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        // A run without figures does not count all rows.
        let policy = try job.text("retention.yaml") + "metrics: { textfile: m.prom }\n"
        try job.folder.write(policy, to: "retention.yaml")
        let dry = try job.retention("run", "--dry-run")
        let says =
            "This would be the first run: 20 of 22 rows (90.9%). Without an archive the rows could not be restored. To "
            + "keep copies for 30 days: mkdir -m 700 archive archive: { folder: archive, keep: 30d } # in the policy 2 "
        #expect(dry.words.contains(says), "\(dry)")
        let run = try job.retention("run").words
        let done =
            "This was the first run: 20 of 22 rows (90.9%). Without an archive the rows cannot be restored. 2 stores "
        #expect(run.contains(done), "\(run)")
        #expect(try !job.retention("run").output.contains("first run"))
        try add("c.sqlite", to: job)
        let new = try job.retention("run").words
        #expect(new.contains("This was the first run in 1 of 3 stores: 10 of 11 rows (90.9%). "), "\(new)")
    }

    /// It can be copied.
    @Test func nothingFollowsACommand() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        try job.change(
            "DELETE FROM Price WHERE at > unixepoch() - 86400; DROP INDEX IF EXISTS Price_at", in: "data/a.sqlite")
        let report = try job.retention("report").output
        let commands = report.split(separator: "\n").filter { $0.contains("retention run -c ") }
        #expect(commands.count == 1 && commands[0].hasSuffix(" --accept would_empty_entity"), "\(report)")
        #expect(report.contains("\n    prices: no index begins with the date"), "\(report)")
    }

    /// Each store has its record, and the mistake is shown once.
    @Test func aMistakeInThePolicyOfManyStoresIsRecorded() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        #expect(try job.retention("run").status == 0)
        let policy = try job.text("retention.yaml")
        try job.folder.write(policy.replacing("max_age: 30d", with: "max_age: 30m"), to: "retention.yaml")
        let run = try job.retention("run")
        #expect(run.status == 78 && run.output.isEmpty && run.errors.hasSuffix("1 error\n"), "\(run)")
        #expect(try job.log().compactMap(\.exitCode).sorted() == [0, 0, 78, 78])
        let report = try job.retention("report")
        #expect(report.status == 78 && report.errors.isEmpty, "\(report)")
        #expect(report.output.components(separatedBy: "a run now would fail: retention.yaml:").count == 2, "\(report)")
        #expect(report.words.contains("· failed · Deleted no rows"), "\(report)")
    }
}
