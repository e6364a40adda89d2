import Foundation
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// A file that is renamed, replaced or taken away after an interrupted run had saved some of it: no row is saved twice.
struct PendingRenameTests {
    let fixture: PendingStoreFixture

    init() throws {
        fixture = try PendingStoreFixture()
        // Without a key, a row that is saved twice is in the store twice.
        let writer = try fixture.writer()
        try writer.dropEntity(named: "Price")
        try writer.createEntity(
            Entity(
                name: "Price",
                attributes: [
                    Attribute(name: "updateTime", affinity: .integer, declaredType: "INTEGER"),
                    Attribute(name: "price", affinity: .real, declaredType: "REAL"),
                    Attribute(name: "symbol", affinity: .text, declaredType: "TEXT"),
                ], primaryKey: []))
        try fixture.folder.write("pending/a.csv", Self.text)
    }

    private static let lines = (1...1700).map { $0 % 397 == 0 ? "x\($0)" : "\($0)" }
    private static let text = "updateTime\n" + lines.joined(separator: "\n") + "\n"
    private static let good = (1...1700).filter { $0 % 397 != 0 }.map(Int64.init)

    /// A run that dies at a commit: the sixth is within the file.
    private func die(atCommit fatal: Int = 6) throws {
        var commits = 0
        let hooked = HookedWriter(try fixture.writer()) { change throws(StoreError) in
            if change == .commit { commits += 1 }
            guard commits < fatal else { throw StoreError(.inputOutput, store: "test", message: "dies") }
        }
        #expect(throws: StoreError.self) { try fixture.save(into: hooked) }
    }

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

    @Test(arguments: [4, 6, 8]) func aRenamedFileIsContinued(commit: Int) throws {
        try die(atCommit: commit)
        let saved = try fixture.dates().count
        #expect(saved > 0)
        try move("pending/a.csv", to: "pending/b.csv")
        let predicted = try fixture.save(into: SQLiteReader(path: fixture.storePath))
        var notes: [String] = []
        let report = try fixture.save(note: { notes.append($0) })
        #expect(report == predicted && report.saved == Self.good.count - saved && report.problems.isEmpty, "\(report)")
        #expect(notes.count == 1 && notes[0].hasPrefix("pending/b.csv was "), "\(notes)")
        try expectAllOnce()
    }

    @Test func aRenamedFileIsFoundBehindAnotherOfItsName() throws {
        try die()
        try move("pending/a.csv", to: "pending/b.csv")
        try fixture.folder.write("pending/a.csv", "updateTime\n5000\n")
        #expect(try fixture.save().problems.isEmpty)
        try expectAllOnce([5000])
    }

    @Test func aCopyIsAFileOfItsOwn() throws {
        try die()
        try fixture.folder.write("pending/b.csv", Self.text)
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates().count == 2 * Self.good.count)
    }

    @Test func aRenamedFileThatIsSavedWhollyIsOnlyMoved() throws {
        try fixture.folder.write("pending/done", "no folder")
        #expect(throws: StoreError.self) { try fixture.save() }
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/done"))
        try move("pending/a.csv", to: "pending/b.csv")
        let report = try fixture.save()
        #expect(report.saved == 0 && report.files == 1 && fixture.pendingFiles().contains("done/b.csv"), "\(report)")
        try expectAllOnce()
    }

    @Test(arguments: [4, 6, 8]) func aRenamedFileThatHasGrownIsContinued(commit: Int) throws {
        try die(atCommit: commit)
        try fixture.folder.write(
            "pending/c.csv", "updateTime\n7000\n" + String(repeating: "\n", count: Self.text.count))
        try fixture.folder.write("pending/d.csv", Self.text + "5000\n6000\n")
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/a.csv"))
        let predicted = try fixture.save(into: SQLiteReader(path: fixture.storePath))
        let report = try fixture.save()
        #expect(report == predicted && report.problems.isEmpty, "\(report)")
        try expectAllOnce([5000, 6000, 7000])
    }

    @Test func aFileThatWasSavedWhollyAndHasGrownUnderAnotherNameIsLeft() throws {
        try fixture.folder.write("pending/done", "no folder")
        #expect(throws: StoreError.self) { try fixture.save() }
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/done"))
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/a.csv"))
        try fixture.folder.write("pending/b.csv", Self.text + "5000\n")
        let report = try fixture.save()
        #expect(report.saved == 0 && report.problems.count == 1, "\(report)")
        #expect(report.problems.first?.contains("cut this one to that size") == true)
        #expect(try fixture.dates() == Self.good)
    }

    /// The policy names another entity by now.
    @Test func anUnfinishedFileIsNotContinuedForAnotherEntity() throws {
        try die()
        let saved = try fixture.dates()
        let writer = try fixture.writer()
        try writer.createEntity(
            Entity(
                name: "Other",
                attributes: [Attribute(name: "updateTime", affinity: .integer, declaredType: "INTEGER")], primaryKey: []
            ))
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

    /// A missing file is reported once; when it is back under any name, the rest of it is imported.
    @Test func aMissingFileIsReportedOnceAndContinuedWhenItIsBack() throws {
        try die()
        try move("pending/a.csv", to: "away")
        #expect(try fixture.save().problems.count == 1)
        #expect(try fixture.save().problems.isEmpty)
        try fixture.folder.write("pending/a.csv", "updateTime\n5000\nx0\n")
        #expect(try fixture.save().saved == 1)
        try move("away", to: "pending/c.csv")
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates() == Self.good + [5000])
        #expect(try rejectedLines() == (Self.lines.filter { $0.hasPrefix("x") } + ["x0"]).sorted())
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func aRunMayDieAnywhereWhileItContinuesUnderAnotherName() throws {
        for isMissing in [false, true] {
            var fatal = 0
            var isDead = true
            while isDead {
                let tests = try PendingRenameTests()
                try tests.die()
                try tests.move("pending/a.csv", to: isMissing ? "away" : "pending/b.csv")
                var changes = 0
                isDead = false
                let hooked = HookedWriter(try tests.fixture.writer()) { _ throws(StoreError) in
                    changes += 1
                    guard changes <= fatal else {
                        isDead = true
                        throw StoreError(.inputOutput, store: "test", message: "dies")
                    }
                }
                _ = try? tests.fixture.save(into: hooked)
                if isMissing { try tests.move("away", to: "pending/c.csv") }
                try tests.fixture.save()
                try tests.expectAllOnce()
                // The first changes are those of the record; then come thousands of rows.
                fatal += fatal < 12 ? 1 : 400
            }
        }
    }

    /// Another pattern may mean another entity, or other constants.
    @Test func aFileThatAnotherSourceTakesIsLeft() throws {
        try die()
        let saved = try fixture.dates()
        try FileManager.default.createDirectory(
            atPath: fixture.folder.path("other"), withIntermediateDirectories: true)
        try move("pending/a.csv", to: "other/a.csv")
        var policy = fixture.policy()
        var other = fixture.source
        other.files = "other/*"
        policy.pending.append(other)
        let report = try fixture.save(policy: policy)
        #expect(report.problems.count == 1 && report.problems[0].contains("give it that name again"), "\(report)")
        #expect(try fixture.dates() == saved)
        try move("other/a.csv", to: "pending/a.csv")
        #expect(try fixture.save(policy: policy).problems.isEmpty)
        try expectAllOnce()
    }

    @Test func longNamesHaveHiddenFilesOfTheirOwn() throws {
        let name = String(repeating: "n", count: 245)
        try fixture.folder.write("pending/\(name)1.csv", Self.text)
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/a.csv"))
        try die()
        try fixture.folder.write("pending/\(name)0.csv", "updateTime\nx0\n")
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates() == Self.good)
        #expect(try rejectedLines() == (Self.lines.filter { $0.hasPrefix("x") } + ["x0"]).sorted())
    }
}
