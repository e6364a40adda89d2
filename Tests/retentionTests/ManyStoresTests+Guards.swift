import Foundation
import Testing

/// What one store of a pattern means for another: one that is new, has moved, or has had an undo.
extension ManyStoresTests {
    /// Stores that were carried out with a longer age than their policy has now.
    private func shortenedJob(_ stores: [String]) throws -> LaunchedJob {
        let job = try job(stores)
        let policy = try job.text("retention.yaml")
        try job.folder.write(policy.replacing("30d", with: "200d"), to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        try job.folder.write(policy, to: "retention.yaml")
        return job
    }

    @Test func aStoreThatHasMovedIsTold() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        #expect(try job.retention("run").status == 0)
        try job.move("data/a.sqlite", to: "data/c.sqlite")
        let run = try job.retention("run")
        #expect(run.output.contains("store not known: the ledger knows"), "\(run)")
    }

    /// Nothing is remembered of a store without a table that the rules have.
    @Test func aStoreWithoutARuleIsKnown() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite"], skips: true)
        try job.change("ALTER TABLE Price RENAME TO other", in: "data/b.sqlite")
        #expect(try job.retention("run").status == 0)
        try FileManager.default.removeItem(atPath: job.path("data/a.sqlite"))
        let run = try job.retention("run")
        #expect(!run.output.contains("store not known"), "\(run)")
    }

    /// A store with another name waits for a hold that was removed in the same night, until that is accepted for it.
    @Test func aHeldStoreWithAnotherNameWaits() throws {
        let job = try job(["a.sqlite", "held.sqlite"])
        try job.change("DELETE FROM Price WHERE at < unixepoch() - 86400", in: "data/a.sqlite")
        let policy = try job.text("retention.yaml")
        try job.folder.write(policy + "holds: [{ name: h, entity: Price, reason: an audit }]\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        try job.folder.write(policy, to: "retention.yaml")
        try job.move("data/held.sqlite", to: "data/moved.sqlite")
        for night in 1...2 {
            let run = try job.retention("run")
            #expect(run.status == 65 && run.output.contains("the hold h is removed or keeps less"), "\(night): \(run)")
            #expect(try count("moved.sqlite", job) == 11)
            let other = try job.retention("run", "--store", "data/a.sqlite", "--accept", "policy_widened")
            #expect(other.status == 0, "\(other)")
        }
        #expect(try job.retention("run", "--store", "data/moved.sqlite", "--accept", "policy_widened").status == 0)
        #expect(try count("moved.sqlite", job) == 1)
    }

    /// A shorter age that is accepted for one store is not accepted for those that appear.
    @Test func aNewStoreWaitsLikeTheOthers() throws {
        let job = try shortenedJob(["a.sqlite", "b.sqlite"])
        try add("c.sqlite", to: job)
        #expect(try job.retention("run", "--store", "data/a.sqlite", "--accept", "policy_widened").status == 0)
        for night in 1...2 {
            #expect(try job.retention("run").status == 65)
            #expect(try count("c.sqlite", job) == 11, "\(night)")
        }
        #expect(try job.retention("run", "--accept", "policy_widened").status == 0)
        #expect(try count("c.sqlite", job) == 1)
    }

    /// Two stores after a run that was undone in the first one.
    private func undoneJob() throws -> LaunchedJob {
        let job = try job(["a.sqlite", "b.sqlite"])
        try job.makeFolder("archive")
        try job.folder.write(try job.text("retention.yaml") + "archive: { folder: archive }\n", to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        #expect(try job.retention("undo", "last", "--store", "data/a.sqlite").status == 0)
        return job
    }

    /// The application gives a file another name after an undo, and begins a new one: the restored rows stay.
    @Test func restoredRowsStayInAFileWithANewName() throws {
        let job = try undoneJob()
        try job.change("DELETE FROM Price WHERE at < unixepoch() - 86400", in: "data/b.sqlite")
        try job.move("data/a.sqlite", to: "data/a-2025.sqlite")
        try add("c.sqlite", to: job)
        try job.move("data/c.sqlite", to: "data/a.sqlite")
        try job.change("DELETE FROM Price WHERE at < unixepoch() - 86400", in: "data/a.sqlite")
        for night in 1...2 {
            let run = try job.retention("run")
            #expect(
                run.status == 65 && run.output.contains("they may be in this store now"),
                "\(night): \(run)")
            #expect(try count("a-2025.sqlite", job) == 11)
        }
        #expect(try job.retention("run", "--accept", "restored_rows").status == 0)
        #expect(try count("a-2025.sqlite", job) == 1)
        // It is known now.
        try job.change(Sample.rows(3, daysAgo: 40), in: "data/a-2025.sqlite")
        #expect(try job.retention("run").status == 0)
    }

    /// The others are asked also if the run is for the new store alone.
    @Test func aNewStoreWaitsAlsoAlone() throws {
        let job = try shortenedJob(["a.sqlite"])
        try add("b.sqlite", to: job)
        for words in [["--dry-run"], []] {
            let run = try job.perform(["run", "--store", "data/b.sqlite"] + words)
            #expect(run.status == 65 && run.output.contains("the policy is wider"), "\(run)")
        }
        #expect(try count("b.sqlite", job) == 11)
    }

    /// What is accepted for one store is not accepted for one that waits, also not under another name.
    @Test func aWaitingStoreWithAnotherNameWaits() throws {
        let job = try shortenedJob(["a.sqlite", "b.sqlite"])
        #expect(try job.retention("run").status == 65)
        #expect(try job.retention("run", "--store", "data/a.sqlite", "--accept", "policy_widened").status == 0)
        try job.move("data/b.sqlite", to: "data/c.sqlite")
        for words in [["--store", "data/c.sqlite"], []] {
            let run = try job.perform(["run"] + words)
            #expect(run.status == 65 && run.output.contains("the policy is wider"), "\(run)")
        }
        #expect(try count("c.sqlite", job) == 11)
    }

    /// What an undo has restored in one store binds no other store.
    @Test func anUndoKeepsTheRowsOfItsStoreOnly() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        let policy = try job.text("retention.yaml") + "archive: { folder: archive }\n"
        try job.folder.write(policy, to: "retention.yaml")
        try job.makeFolder("archive")
        for store in ["data/a.sqlite", "data/b.sqlite"] {
            try job.change(
                "CREATE TABLE Note(id INTEGER PRIMARY KEY, price REFERENCES Price ON DELETE CASCADE);"
                    + "INSERT INTO Note(price) SELECT rowid FROM Price", in: store)
        }
        #expect(try job.retention("run").status == 0)
        #expect(try job.retention("undo", "last", "--store", "data/a.sqlite").status == 0)
        try job.change(
            Sample.rows(5, daysAgo: 90) + "INSERT INTO Note(price) SELECT rowid FROM Price", in: "data/b.sqlite")
        let run = try job.retention("run", "--store", "data/b.sqlite")
        #expect(run.status == 0, "\(run)")
        #expect(try count("b.sqlite", job) == 1)
        #expect(try job.number("SELECT count(*) FROM Note", in: "data/b.sqlite") == 2)
    }

    /// The pattern of the stores is a part of the policy: a file that it no longer leaves out waits.
    @Test func aFileThatIsNoLongerLeftOutWaits() throws {
        let job = try job(["a.sqlite", "b.sqlite"])
        let policy = try job.text("retention.yaml")
        let without = policy.replacing("\"data/test*\"", with: "\"data/test*\", \"data/b.sqlite\"")
        try #require(without != policy)
        try job.folder.write(without, to: "retention.yaml")
        #expect(try job.retention("run").status == 0)
        #expect(try count("a.sqlite", job) == 1 && count("b.sqlite", job) == 11)
        try job.folder.write(policy, to: "retention.yaml")
        let run = try job.retention("run")
        #expect(run.status == 65 && run.output.contains("store was"), "\(run)")
        #expect(try count("b.sqlite", job) == 11)
        #expect(try job.retention("run", "--accept", "policy_widened").status == 0)
        #expect(try count("b.sqlite", job) == 1)
        // A new file that the agreed pattern matches does not wait.
        try add("c.sqlite", to: job)
        #expect(try job.retention("run").status == 0)
        #expect(try count("c.sqlite", job) == 1)
    }

    /// Files are rotated after an undo: the one with the restored rows takes a name that the ledger knows.
    @Test func restoredRowsStayInAFileThatTakesAKnownName() throws {
        let job = try undoneJob()
        try job.move("data/b.sqlite", to: "data/c.sqlite")
        try job.move("data/a.sqlite", to: "data/b.sqlite")
        #expect(try job.retention("run").status == 65)
        #expect(try count("b.sqlite", job) == 11)
    }
}
