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
}
