import Foundation
import Testing

/// A store is known by its path, and by its path from the folder of its ledger.
struct MovedStoreTests {
    private static let head = "archive: { folder: archive, keep: 30d }"

    /// A folder `a` with store, policy and archive; five prices are deleted and restored.
    private func job(ledger: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob("", policy: "")
        try FileManager.default.createDirectory(atPath: job.path("a/archive"), withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: job.path("a/archive"))
        try job.change(Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0), in: "a/prices.sqlite")
        try job.folder.write(Sample.policy(Sample.rule(), head: Self.head + ledger), to: "a/retention.yaml")
        return job
    }

    private func report(_ job: LaunchedJob, _ folder: String, _ arguments: String...) throws -> Report {
        try job.report(["-c", "\(folder)/retention.yaml"] + arguments)
    }

    @Test(arguments: ["", "\nledger: records/l.sqlite"])
    func whatIsMovedTogetherIsKnown(_ ledger: String) throws {
        let job = try job(ledger: ledger)
        try FileManager.default.createDirectory(atPath: job.path("a/records"), withIntermediateDirectories: false)
        let run = try report(job, "a")
        #expect(run.totals.deleted == 5)
        try job.move("a", to: "b")
        let list = try job.retention("undo", "-c", "b/retention.yaml", "--list")
        #expect(list.output.contains(run.run.prefix(10)) && list.output.contains("possible until"), "\(list)")
        #expect(try job.retention("undo", "-c", "b/retention.yaml", run.run, "--dry-run").status == 0)
        let undone = try job.retention("undo", "-c", "b/retention.yaml", run.run)
        #expect(undone.status == 0 && undone.output.contains("Restored 5 rows"), "\(undone)")

        try job.move("b", to: "c")
        let refused = try report(job, "c")
        #expect(refused.rules[0].refusal == "restored_rows" && refused.warnings == [], "\(refused)")
        try job.folder.write(
            Sample.policy(Sample.rule(age: "20d"), head: Self.head + ledger), to: "c/retention.yaml")
        #expect(try report(job, "c").rules[0].refusals.map(\.code) == ["restored_rows", "policy_widened"])
        let check = try job.retention("check", "-c", "c/retention.yaml").output
        #expect(check.contains("(restored_rows)") && check.contains("(policy_widened)"), "\(check)")
        let accepted = try report(job, "c", "--accept", "restored_rows", "--accept", "policy_widened")
        #expect(accepted.totals.deleted == 5)
        try job.move("c", to: "d")
        let text = try job.retention("log", "-c", "d/retention.yaml", "--run", run.run).output
        #expect(text.contains("run \(accepted.run) has deleted rows again"), "\(text)")
        #expect(try job.retention("log", "-c", "d/retention.yaml", "--verify").status == 0)
        #expect(try report(job, "d").exitCode == 0)
    }

    /// A copy is known too.
    @Test func aCopyHasItsGuards() throws {
        let job = try job()
        let run = try report(job, "a")
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        try FileManager.default.copyItem(atPath: job.path("a"), toPath: job.path("b"))
        #expect(try report(job, "b").rules[0].refusal == "restored_rows")
        #expect(try job.retention("undo", "-c", "b/retention.yaml", run.run).status == 0)
    }

    /// A link from the old folder to the new one is no other store.
    @Test func aLinkAtTheOldPlaceIsNoOtherStore() throws {
        let job = try job()
        let run = try report(job, "a")
        try job.move("a", to: "b")
        try FileManager.default.createSymbolicLink(atPath: job.path("a"), withDestinationPath: job.path("b"))
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        #expect(try report(job, "a").rules[0].refusal == "restored_rows")
    }

    /// Restored rows of a store whose file was moved afterwards; a link is in its old place.
    private func movedBehindALink(ledger: String = "") throws -> (LaunchedJob, run: String) {
        let job = try job(ledger: ledger)
        let run = try report(job, "a")
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        try FileManager.default.createDirectory(atPath: job.path("big"), withIntermediateDirectories: false)
        try job.move("a/prices.sqlite", to: "big/prices.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: job.path("a/prices.sqlite"), withDestinationPath: "../big/prices.sqlite")
        return (job, run.run)
    }

    @Test(arguments: [false, true])
    func aLedgerBesideALinkIsNotLeftBehind(_ hasOther: Bool) throws {
        let (job, run) = try movedBehindALink()
        if hasOther {
            // As a run of an earlier version made it.
            let policy = Sample.policy(Sample.rule(age: "300d"))
            try job.folder.write(policy, to: "big/retention.yaml")
            #expect(try report(job, "big").exitCode == 0)
        }
        for arguments in [
            ["run"], ["run", "--dry-run"], ["check"], ["log"], ["undo", "--list"], ["undo", run],
            ["report", "--html", "-"],
        ] {
            let end = try job.perform(arguments + ["-c", "a/retention.yaml"])
            #expect(end.status == 78, "\(arguments): \(end)")
            let other = job.path("big/retention.ledger.sqlite")
            #expect(end.errors.contains("has runs of the store, and the policy uses another: \(other)"), "\(end)")
            #expect(end.errors.contains("`ledger: \(job.path("a/retention.ledger.sqlite"))`"), "\(end)")
        }
        #expect(FileManager.default.fileExists(atPath: job.path("big/retention.ledger.sqlite")) == hasOther)
        #expect(try job.number("SELECT count(*) FROM Price", in: "big/prices.sqlite") == 7)
    }

    /// The policy names the ledger; the last link of several is found, too.
    @Test(arguments: [false, true])
    func aFormerPathThatLeadsToTheStoreIsTheStore(_ hasTwoLinks: Bool) throws {
        let (job, run) = try movedBehindALink(ledger: "\nledger: retention.ledger.sqlite")
        if hasTwoLinks {
            try FileManager.default.createSymbolicLink(
                atPath: job.path("link.sqlite"), withDestinationPath: job.path("a/prices.sqlite"))
            try job.folder.write(
                Sample.policy(Sample.rule(), head: Self.head + "\nledger: retention.ledger.sqlite")
                    .replacing("prices.sqlite", with: "../link.sqlite"), to: "a/retention.yaml")
        }
        let list = try job.retention("undo", "-c", "a/retention.yaml", "--list")
        #expect(list.output.contains(run.prefix(10)) && list.errors == "", "\(list)")
        #expect(try job.retention("check", "-c", "a/retention.yaml").output.contains("(restored_rows)"))
        #expect(try report(job, "a", "--dry-run").rules[0].refusal == "restored_rows")
        let refused = try report(job, "a")
        #expect(refused.rules[0].refusal == "restored_rows" && refused.warnings == [], "\(refused)")
        let accepted = try report(job, "a", "--accept", "restored_rows")
        #expect(accepted.totals.deleted == 5)
        let text = try job.retention("log", "-c", "a/retention.yaml", "--run", run).output
        #expect(text.contains("run \(accepted.run) has deleted rows again"), "\(text)")
        #expect(try report(job, "a").exitCode == 0)
    }

    /// A folder above the store was moved, and a link to it is in the old place.
    @Test func aStoreInAFolderThatWasMovedBehindALinkIsKnown() throws {
        let job = try job(
            ledger: "\nledger: \(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString).sqlite")
        let run = try report(job, "a")
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        // The policy leads by a link, too.
        try FileManager.default.createSymbolicLink(atPath: job.path("by"), withDestinationPath: "a")
        try FileManager.default.createDirectory(atPath: job.path("big"), withIntermediateDirectories: false)
        try job.move("a", to: "big/b")
        try FileManager.default.createSymbolicLink(atPath: job.path("a"), withDestinationPath: "big/./b")
        for folder in ["a", "by", "big/b"] {
            let refused = try report(job, folder)
            #expect(refused.rules[0].refusal == "restored_rows" && refused.warnings == [], "\(refused)")
            let list = try job.retention("undo", "-c", "\(folder)/retention.yaml", "--list")
            #expect(list.output.contains(run.run.prefix(10)) && list.errors == "", "\(list)")
        }
    }

    /// The policy then names the new place, and the link stays.
    @Test(arguments: [false, true])
    func aStoreThatAFormerPathLeadsToKeepsItsRestoredRows(_ isRunByTheLink: Bool) throws {
        let (job, run) = try movedBehindALink(ledger: "\nledger: retention.ledger.sqlite")
        if isRunByTheLink { #expect(try report(job, "a").rules[0].refusal == "restored_rows") }
        try job.folder.write(
            Sample.policy(Sample.rule(), head: Self.head + "\nledger: retention.ledger.sqlite")
                .replacing("prices.sqlite", with: "../big/prices.sqlite"), to: "a/retention.yaml")
        let list = try job.retention("undo", "-c", "a/retention.yaml", "--list")
        #expect(list.output.contains(run.prefix(10)), "\(list)")
        #expect(try job.retention("check", "-c", "a/retention.yaml").output.contains("(restored_rows)"))
        for arguments in [["--dry-run"], []] {
            #expect(try job.report(["-c", "a/retention.yaml"] + arguments).rules[0].refusal == "restored_rows")
        }
        #expect(try report(job, "a", "--accept", "restored_rows", "--accept", "policy_widened").totals.deleted == 5)
        #expect(try report(job, "a").exitCode == 0)
    }

    /// Later the link is removed, too, and another file may be in its place.
    @Test(arguments: [false, true])
    func aStoreFromAPathWithNoFileKeepsItsRestoredRows(_ isAnother: Bool) throws {
        let (job, _) = try movedBehindALink(ledger: "\nledger: retention.ledger.sqlite")
        try FileManager.default.removeItem(atPath: job.path("a/prices.sqlite"))
        if isAnother {
            try FileManager.default.copyItem(
                atPath: job.path("big/prices.sqlite"), toPath: job.path("a/prices.sqlite"))
        }
        try job.folder.write(
            Sample.policy(Sample.rule(), head: Self.head + "\nledger: retention.ledger.sqlite")
                .replacing("prices.sqlite", with: "../big/prices.sqlite"), to: "a/retention.yaml")
        #expect(try report(job, "a", "--dry-run").rules[0].refusal == "restored_rows")
        #expect(try report(job, "a").rules[0].refusal == "restored_rows")
        #expect(try report(job, "a", "--accept", "restored_rows", "--accept", "policy_widened").totals.deleted == 5)
        #expect(try report(job, "a").exitCode == 0)
    }

    /// Two stores were moved with the ledger that they share: only one has restored rows.
    @Test func aNeighbourThatWasMovedTooIsAnotherStore() throws {
        let job = try job(ledger: "\nledger: retention.ledger.sqlite")
        let run = try report(job, "a")
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        try FileManager.default.copyItem(atPath: job.path("a/prices.sqlite"), toPath: job.path("a/other.sqlite"))
        try job.move("a", to: "b")
        #expect(try report(job, "b", "--dry-run").rules[0].refusal == "restored_rows")
        try job.folder.write(
            Sample.policy(Sample.rule(), head: Self.head + "\nledger: retention.ledger.sqlite")
                .replacing("prices.sqlite", with: "other.sqlite"), to: "b/retention.yaml")
        #expect(try report(job, "b").totals.deleted == 5)
    }

    /// The ledger of neighbours knows nothing of the store.
    @Test func aLedgerBesideALinkThatDoesNotKnowTheStoreIsNotInTheWay() throws {
        let job = try job()
        _ = try report(job, "a")
        try FileManager.default.createDirectory(atPath: job.path("b"), withIntermediateDirectories: false)
        try job.change(Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0), in: "b/other.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: job.path("a/other.sqlite"), withDestinationPath: job.path("b/other.sqlite"))
        let policy = Sample.policy(Sample.rule()).replacing("prices.sqlite", with: "other.sqlite")
        try job.folder.write(policy, to: "a/retention.yaml")
        #expect(try report(job, "a").totals.deleted == 5)
        #expect(FileManager.default.fileExists(atPath: job.path("b/retention.ledger.sqlite")))
    }

    /// Restored rows stay protected when the policy names another ledger, or none.
    @Test(arguments: ["ledger: other.sqlite", "ledger: none"])
    func aLedgerIsNotLeftBehindByThePolicy(_ setting: String) throws {
        let job = try job()
        let run = try report(job, "a")
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        let isOff = setting.hasSuffix("none")
        let policy = Sample.policy(Sample.rule(), head: setting + (isOff ? "" : "\n" + Self.head))
        try job.folder.write(policy, to: "a/retention.yaml")
        let ledger = job.path("a/retention.ledger.sqlite")
        // Without a ledger there is nothing to show.
        let shown = isOff ? [] : [["log"], ["undo", "--list"]]
        for arguments in [["check"], ["run", "--dry-run"], ["run"], ["report", "--html", "-"]] + shown {
            let end = try job.launch(arguments + ["-c", "a/retention.yaml"])
            #expect(end.status == 78, "\(arguments): \(end)")
            #expect(end.errors.contains("the ledger \(ledger) has runs of the store, and the policy "), "\(end)")
            #expect(end.errors.contains(isOff ? "turns the ledger off" : "uses another: "), "\(end)")
            #expect(end.errors.contains("`ledger: \(ledger)`"), "\(end)")
        }
        #expect(!FileManager.default.fileExists(atPath: job.path("a/other.sqlite")))
        #expect(try job.number("SELECT count(*) FROM Price", in: "a/prices.sqlite") == 7)
        // The ways out: moved it still knows the store, by another name it is not asked.
        try job.move("a/retention.ledger.sqlite", to: isOff ? "a/old.sqlite" : "a/other.sqlite")
        let end = try report(job, "a")
        #expect(isOff ? end.totals.deleted == 5 : end.rules[0].refusal == "restored_rows", "\(end)")
        // A ledger that knows the store is used, whatever else there is.
        guard !isOff else { return }
        try FileManager.default.copyItem(atPath: job.path("a/other.sqlite"), toPath: ledger)
        #expect(try report(job, "a").rules[0].refusal == "restored_rows")
    }

    /// The ledger in the default place is of a neighbour.
    @Test func aLedgerOfAnotherStoreIsNotInTheWayOfANamedOne() throws {
        let job = try job()
        _ = try report(job, "a")
        try job.change(Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(2, daysAgo: 0), in: "a/other.sqlite")
        let policy = Sample.policy(Sample.rule(), head: "ledger: l.sqlite").replacing(
            "prices.sqlite", with: "other.sqlite")
        try job.folder.write(policy, to: "a/retention.yaml")
        for _ in 0..<2 { #expect(try report(job, "a").exitCode == 0) }
        #expect(try job.number("SELECT count(*) FROM Price", in: "a/other.sqlite") == 2)
    }

    /// What SQLite has written beside a file that was moved is missing in the file.
    @Test(arguments: ["-wal", "-journal"])
    func changesBesideALinkAreNotLeftBehind(_ ending: String) throws {
        let (job, _) = try movedBehindALink(ledger: "\nledger: retention.ledger.sqlite")
        try job.folder.write("changes", to: "a/prices.sqlite" + ending)
        for arguments in [["run"], ["run", "--dry-run"], ["check"]] {
            let end = try job.perform(
                arguments
                    + ["-c", "a/retention.yaml", "--accept", "restored_rows"].prefix(arguments == ["check"] ? 2 : 4))
            #expect(end.status == 74 && end.errors.contains("changes of the store are in"), "\(arguments): \(end)")
        }
        try job.folder.write("", to: "a/prices.sqlite" + ending)
        #expect(try job.retention("check", "-c", "a/retention.yaml").status == 0)
    }

    /// Old archives are removed in the new place.
    @Test func archivesOfBeforeAreRemovedWhenTheirTimeIsOver() throws {
        let job = try job()
        try job.folder.write(
            Sample.policy(Sample.rule(), head: "archive: { folder: archive, keep: 1h }"), to: "a/retention.yaml")
        let run = try report(job, "a")
        try job.move("a", to: "b")
        let archive = job.path("b/archive/\(run.run).sqlite")
        for isOver in [false, true] {
            if isOver { try job.change(LedgerChange.hoursBack(2), in: "b/retention.ledger.sqlite") }
            #expect(try report(job, "b").exitCode == 0)
            #expect(FileManager.default.fileExists(atPath: archive) != isOver)
        }
    }

    @Test func aLedgerThatKnowsOtherStoresSaysSo() throws {
        let job = try job(
            ledger: "\nledger: \(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString).sqlite")
        _ = try report(job, "a")
        try job.move("a", to: "b")
        let line = "store not known: the ledger knows \(job.path("a/prices.sqlite")), but no run of this store"
        let check = try job.retention("check", "-c", "b/retention.yaml").output
        let flat = check.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(flat.contains("warning: the ledger knows") && flat.contains("but no run of this store"), "\(check)")
        let list = try job.retention("undo", "-c", "b/retention.yaml", "--list")
        #expect(list.errors.contains(line), "\(list)")
        for arguments in [["--dry-run"], []] {
            let found = try job.report(["-c", "b/retention.yaml"] + arguments).warnings ?? []
            #expect(found.contains { $0.hasPrefix(line) }, "\(found)")
        }
        // Now it is known.
        #expect(try report(job, "b").warnings == [])
        #expect(try job.retention("check", "-c", "b/retention.yaml").words.contains("prices.sqlite fits"))
    }

    /// An earlier version recorded no relative path; the path alone finds its runs.
    @Test func aLedgerOfAnEarlierVersionIsRead() throws {
        let job = try job()
        let run = try report(job, "a")
        #expect(try job.retention("undo", "-c", "a/retention.yaml", run.run).status == 0)
        try job.change("ALTER TABLE run DROP COLUMN store_relative", in: "a/retention.ledger.sqlite")
        try job.change("ALTER TABLE run_rule DROP COLUMN refusals", in: "a/retention.ledger.sqlite")
        #expect(try job.retention("check", "-c", "a/retention.yaml").output.contains("(restored_rows)"))
        #expect(try report(job, "a", "--dry-run").rules[0].refusal == "restored_rows")
        #expect(try report(job, "a").rules[0].refusal == "restored_rows")
    }
}
