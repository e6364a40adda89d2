import Foundation
import PriceStore
import SQLiteStore
import Testing

@testable import RetentionJob

/// Whatever the instant at which a run dies: after the next run each row is in the store once and no file is lost.
@Suite struct PendingCrashTests {
    let fixture: PendingStoreFixture

    init() throws {
        fixture = try PendingStoreFixture()
        try fixture.folder.write("pending/a.csv", "updateTime\n1\nx\n2\n")
        try fixture.folder.write("pending/b.csv", "updateTime\n3\n4\n")
    }

    private func expectEachRowOnceAndNoFileLost() throws {
        #expect(try fixture.dates() == [1, 2, 3, 4])
        #expect(fixture.pendingFiles() == ["a.csv.rejected", "done/a.csv", "done/b.csv"])
        #expect(
            try fixture.folder.read("pending/a.csv.rejected")
                == "# line 3: updateTime: not an ISO 8601 date, nor a number in unix_seconds\nx\n")
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func aRunThatDiesBeforeAnyChangeOfTheStoreIsRepeated() throws {
        var changes = 0
        let probe = try PendingCrashTests().fixture
        try probe.save(into: HookedWriter(try probe.writer()) { _ in changes += 1 })
        #expect(changes > 15)
        for fatal in 0..<changes {
            let tests = try PendingCrashTests()
            var done = 0
            let hooked = HookedWriter(try tests.fixture.writer()) { _ throws(StoreError) in
                guard done < fatal else { throw StoreError(.inputOutput, store: "test", message: "dies") }
                done += 1
            }
            #expect(throws: StoreError.self) { try tests.fixture.save(into: hooked) }
            try tests.fixture.save()
            try tests.expectEachRowOnceAndNoFileLost()
        }
    }

    /// Lets a run commit the rows of the first file and fail to move it.
    private func dieAfterCommit() throws {
        try fixture.dieBeforeTheMove()
        #expect(try fixture.dates() == [1, 2])
        #expect(try fixture.hasTakenRecord())
    }

    @Test func aFileWhoseRowsAreSavedIsOnlyMoved() throws {
        try dieAfterCommit()
        let predicted = try fixture.save(into: SQLiteReader(path: fixture.storePath))
        #expect(predicted.files == 2)
        #expect(predicted.saved == 2)
        #expect(try fixture.save() == predicted)
        try expectEachRowOnceAndNoFileLost()
    }

    @Test func aFileWithBothNamesLosesTheOldOne() throws {
        try dieAfterCommit()
        try FileManager.default.createDirectory(
            atPath: fixture.folder.path("pending/done"), withIntermediateDirectories: true)
        try FileManager.default.linkItem(
            atPath: fixture.folder.path("pending/a.csv"), toPath: fixture.folder.path("pending/done/a.csv"))
        try fixture.save()
        try expectEachRowOnceAndNoFileLost()
    }

    /// The saved file may be there under another name.
    @Test func anotherFileOfTheSameNameWaits() throws {
        try dieAfterCommit()
        let saved = try fixture.dates()
        try fixture.folder.write("pending/a.csv", "updateTime\n9\n")
        #expect(try fixture.save().problems.count == 1)
        #expect(try fixture.dates() == saved)
        try fixture.forgetTakenFiles()
        try fixture.save()
        #expect(try fixture.dates() == [1, 2, 3, 4, 9])
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func theRecordOfAMissingFileStays() throws {
        try dieAfterCommit()
        let text = try fixture.folder.read("pending/a.csv")
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/a.csv"))
        try fixture.save()
        #expect(try fixture.hasTakenRecord())
        try fixture.folder.write("pending/a.csv", text)
        try fixture.save()
        try expectEachRowOnceAndNoFileLost()
    }

    @Test func whenTheRejectedFileCannotBeWrittenNothingIsSaved() throws {
        let blocker = fixture.folder.path("pending/.a.csv.rejected.part")
        try FileManager.default.createDirectory(atPath: blocker, withIntermediateDirectories: true)
        #expect(throws: StoreError.self) { try fixture.save() }
        #expect(try fixture.dates() == [])
        #expect(fixture.pendingFiles() == ["a.csv", "b.csv"])
        try FileManager.default.removeItem(atPath: blocker)
        try fixture.save()
        try expectEachRowOnceAndNoFileLost()
    }

    @Test(arguments: ["", "# li", "# line 2: half a li", "\0\0\0\0\0\0\0\0"])
    func aLeftoverOfADeadRunIsNoHindrance(_ text: String) throws {
        try fixture.folder.write("pending/.a.csv.rejected.part", text)
        try fixture.save()
        try expectEachRowOnceAndNoFileLost()
    }

    @Test func aHiddenFileOfAnotherProgramIsNotChanged() throws {
        try fixture.folder.write("pending/.a.csv.rejected.part", "mine")
        #expect(throws: StoreError.self) { try fixture.save() }
        #expect(try fixture.dates() == [])
        #expect(try fixture.folder.read("pending/.a.csv.rejected.part") == "mine")
    }
}
