import Foundation
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// A file that changes, or is not where it was, after an interrupted run had saved some of it: no row is saved twice.
struct PendingLostTests {
    let fixture: PendingStoreFixture

    init() throws {
        fixture = try PendingStoreFixture()
        // Without a key, a row that is saved twice is in the store twice.
        let writer = try fixture.writer()
        try writer.dropEntity(named: "Price")
        try writer.createEntity(PendingStoreFixture.entity())
        try fixture.folder.write("pending/a.csv", Self.text)
    }

    private static let lines = (1...1700).map { $0 % 397 == 0 ? "x\($0)" : "\($0)" }
    private static let text = "updateTime\n" + lines.joined(separator: "\n") + "\n"
    private static let good = (1...1700).filter { $0 % 397 != 0 }.map(Int64.init)

    private func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: fixture.folder.path(name), toPath: fixture.folder.path(other))
    }

    /// All bad lines that the files `*.rejected` name, once each.
    private func rejectedLines() throws -> [String] {
        try fixture.pendingFiles().filter { $0.hasSuffix(".rejected") }
            .flatMap { try fixture.folder.read("pending/" + $0).split(separator: "\n").map(String.init) }
            .filter { $0.hasPrefix("x") }.sorted()
    }

    private func expectAllOnce(_ others: [Int64] = []) throws {
        #expect(try fixture.dates() == Self.good + others)
        #expect(try rejectedLines() == Self.lines.filter { $0.hasPrefix("x") }.sorted())
        #expect(!fixture.pendingFiles().contains { $0.hasSuffix(".part") })
        #expect(try !fixture.hasTakenRecord())
    }

    /// What can happen to the file.
    enum Change: CaseIterable, Sendable { case renamed, takenAway, renamedBehindAnother }

    private func apply(_ change: Change) throws {
        try move("pending/a.csv", to: place(of: change))
        if change == .renamedBehindAnother {
            try fixture.folder.write("pending/a.csv", Self.text.replacing("1699", with: "1701"))
        }
    }

    private func undo(_ change: Change) throws {
        if fixture.folder.exists("pending/a.csv") {
            try FileManager.default.removeItem(atPath: fixture.folder.path("pending/a.csv"))
        }
        try move(place(of: change), to: "pending/a.csv")
    }

    private func place(of change: Change) -> String {
        change == .takenAway ? "away" : "pending/b.csv"
    }

    @Test(arguments: [4, 6, 8], Change.allCases)
    func nothingOfItsSourceIsSavedUntilItIsBack(commit: Int, change: Change) throws {
        try fixture.die(atCommit: commit)
        let saved = try fixture.dates()
        #expect(!saved.isEmpty)
        try apply(change)
        try fixture.folder.write("pending/c.csv", "updateTime\n5000\n")
        let predicted = try fixture.save(into: SQLiteReader(path: fixture.storePath))
        for _ in 0..<2 {
            let report = try fixture.save()
            #expect(report == predicted && report.problems.count == 1 && report.saved == 0, "\(report)")
            #expect(report.problems.first?.contains("bytes of \(fixture.folder.path("pending/a.csv")), and") == true)
            #expect(try fixture.dates() == saved)
        }
        try undo(change)
        #expect(try fixture.save().problems.isEmpty)
        try expectAllOnce([5000])
    }

    /// Whoever deletes its row in the record gives up the rest of the file.
    @Test func theOthersAreSavedWhenItsRowIsDeleted() throws {
        try fixture.die(atCommit: 6)
        let saved = try fixture.dates()
        try move("pending/a.csv", to: "away")
        try fixture.folder.write("pending/c.csv", "updateTime\n5000\n")
        #expect(try fixture.save().problems.count == 1)
        try fixture.forgetTakenFiles()
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates() == saved + [5000] && !fixture.hasTakenRecord())
    }

    /// A source of the same entity could take the renamed file; one of another entity could not.
    @Test func sourcesOfTheSameEntityWaitToo() throws {
        try fixture.die(atCommit: 6)
        let saved = try fixture.dates()
        try FileManager.default.createDirectory(
            atPath: fixture.folder.path("other"), withIntermediateDirectories: true)
        try move("pending/a.csv", to: "other/a.csv")
        var policy = fixture.policy()
        policy.pending[0].files = "other/*"
        let report = try fixture.save(policy: policy)
        #expect(report.problems.count == 1 && report.saved == 0, "\(report)")
        #expect(try fixture.dates() == saved)
        let writer = try fixture.writer()
        try writer.createEntity(PendingStoreFixture.entity("Other"))
        var other = fixture.source
        (other.files, other.entity) = ("third/*", "Other")
        policy.pending.append(other)
        policy.rules.append(policy.rules[0])
        policy.rules[1].entity = "Other"
        try fixture.folder.write("third/t.csv", "updateTime\n1\n")
        let next = try fixture.save(into: writer, policy: policy)
        #expect(next.problems.count == 1 && next.saved == 1, "\(next)")
        try move("other/a.csv", to: "pending/a.csv")
        #expect(try fixture.save().problems.isEmpty)
        try expectAllOnce()
    }

    @Test func aCopyIsAFileOfItsOwn() throws {
        try fixture.die(atCommit: 6)
        try fixture.folder.write("pending/b.csv", Self.text)
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates().count == 2 * Self.good.count)
    }

    /// The run that saved all of it died before it moved the file.
    @Test func aFileThatIsSavedWhollyIsMissedUnlessItIsInDone() throws {
        for isInDone in [false, true] {
            let tests = try PendingLostTests()
            let folder = tests.fixture.folder
            try tests.fixture.dieBeforeTheMove()
            try FileManager.default.createDirectory(
                atPath: folder.path("pending/done"), withIntermediateDirectories: true)
            try tests.move("pending/a.csv", to: isInDone ? "pending/done/a.csv" : "pending/b.csv")
            let report = try tests.fixture.save()
            #expect(report.saved == 0 && report.files == 0 && report.problems.count == (isInDone ? 0 : 1), "\(report)")
            if !isInDone {
                try tests.move("pending/b.csv", to: "pending/a.csv")
                #expect(try tests.fixture.save().files == 1)
            }
            try tests.expectAllOnce()
        }
    }

    @Test func aFileThatWasSavedWhollyAndHasGrownIsLeft() throws {
        try fixture.dieBeforeTheMove()
        try fixture.folder.write("pending/a.csv", Self.text + "5000\n")
        let report = try fixture.save()
        #expect(report.saved == 0 && report.problems.count == 1, "\(report)")
        #expect(report.problems.first?.contains("cut this one to that size") == true)
        #expect(try fixture.dates() == Self.good && fixture.hasTakenRecord())
        #expect(fixture.folder.exists("pending/a.csv"))
    }

    /// The policy names another entity by now.
    @Test func anUnfinishedFileIsNotContinuedForAnotherEntity() throws {
        try fixture.die(atCommit: 6)
        let saved = try fixture.dates()
        let writer = try fixture.writer()
        try writer.createEntity(PendingStoreFixture.entity("Other"))
        var policy = fixture.policy()
        policy.pending[0].entity = "Other"
        policy.rules[0].entity = "Other"
        for inserter: any RetentionInserter in [try SQLiteReader(path: fixture.storePath), writer] {
            let report = try fixture.save(into: inserter, policy: policy)
            #expect(report.saved == 0 && report.problems.count == 1, "\(report)")
            #expect(report.problems.first?.contains("write entity: Price until a run has saved the rest") == true)
        }
        #expect(try fixture.dates() == saved && writer.count(StoreFetchRequest(entity: "Other")) == 0)
        #expect(try fixture.save().problems.isEmpty)
        try expectAllOnce()
    }

    @Test func longNamesHaveHiddenFilesOfTheirOwn() throws {
        let name = String(repeating: "n", count: 245)
        try fixture.folder.write("pending/\(name)1.csv", Self.text)
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/a.csv"))
        try fixture.die(atCommit: 6)
        try fixture.folder.write("pending/\(name)0.csv", "updateTime\nx0\n")
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates() == Self.good)
        #expect(try rejectedLines() == (Self.lines.filter { $0.hasPrefix("x") } + ["x0"]).sorted())
    }
}
