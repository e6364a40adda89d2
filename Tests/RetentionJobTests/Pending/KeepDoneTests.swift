import Foundation
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// `keep_done` deletes files that a run took, and no others.
struct KeepDoneTests {
    let fixture: PendingStoreFixture
    /// Long before the time of the other runs.
    static let past = PendingStoreFixture.now.advanced(byMicroseconds: -31 * 86_400_000_000)

    init() throws {
        fixture = try PendingStoreFixture()
        fixture.source.files = "pending/*.csv"
        var age = MaxAge(written: "30d")
        age.days = 30
        fixture.source.keepDone = age
    }

    /// Imports files at a time, each with one row.
    private func take(_ names: String..., at now: Instant = past) throws {
        for name in names {
            try fixture.folder.write("pending/\(name)", "updateTime\n\(try fixture.dates().count + 1)\n")
            try fixture.save(now: now)
        }
    }

    private var done: [String] {
        fixture.pendingFiles().filter { $0.hasPrefix("done/") }.map { String($0.dropFirst(5)) }
    }

    @Test func takenFilesGoWhenTheyAreOld() throws {
        try take("a.csv", "a.csv", "b.csv")
        try take("new.csv", at: Self.past.advanced(byMicroseconds: 20 * 86_400_000_000))
        #expect(done == ["a-2.csv", "a.csv", "b.csv", "new.csv"])
        try fixture.save(into: SQLiteReader(path: fixture.storePath))
        #expect(done.count == 4)
        // Exactly as old as the policy says is not older.
        try fixture.save(now: Self.past.advanced(byMicroseconds: 30 * 86_400_000_000))
        #expect(done.count == 4)
        try fixture.save()
        #expect(done == ["new.csv"])
        #expect(try fixture.hasTakenRecord())
        try fixture.save(now: PendingStoreFixture.now.advanced(byMicroseconds: 31 * 86_400_000_000))
        #expect(done.isEmpty)
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func filesThatNoRunImportedStay() throws {
        try take("a.csv")
        let names = ["precious.csv", "a-2.csv", "b.csv", ".b.csv", "b.txt"]
        for name in names {
            try fixture.folder.write("pending/done/\(name)", "updateTime\n1\n")
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 0)],
                ofItemAtPath: fixture.folder.path("pending/done/\(name)"))
        }
        try fixture.save()
        #expect(done == names.sorted())
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func anImportedFileThatHasChangedStays() throws {
        try take("longer.csv", "changed.csv", "link.csv", "folder.csv", "gone.csv")
        try fixture.folder.write("pending/done/longer.csv", "updateTime\n1\n2\n")
        try fixture.folder.write("pending/done/changed.csv", "updateTime\n9\n")
        try fixture.folder.write("pending/done/target", "updateTime\n3\n")
        for name in ["link.csv", "folder.csv", "gone.csv"] {
            try FileManager.default.removeItem(atPath: fixture.folder.path("pending/done/\(name)"))
        }
        try FileManager.default.createSymbolicLink(
            atPath: fixture.folder.path("pending/done/link.csv"), withDestinationPath: "target")
        try fixture.folder.write("pending/done/folder.csv/x", "")
        try fixture.save()
        #expect(done == ["changed.csv", "folder.csv/x", "link.csv", "longer.csv", "target"])
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func noLinkIsFollowed() throws {
        try take("a.csv")
        let folder = fixture.folder.path("elsewhere")
        try FileManager.default.moveItem(atPath: fixture.folder.path("pending/done"), toPath: folder)
        try FileManager.default.createSymbolicLink(
            atPath: fixture.folder.path("pending/done"), withDestinationPath: folder)
        #expect(throws: StoreError.self) { try fixture.save() }
        #expect(fixture.folder.exists("elsewhere/a.csv"))
        // Nor is a file moved there: its rows are saved once all the same.
        try fixture.folder.write("pending/b.csv", "updateTime\n7\n")
        for _ in 1...2 { #expect(throws: StoreError.self) { try fixture.save() } }
        #expect(fixture.pendingFiles().contains("b.csv") && !fixture.folder.exists("elsewhere/b.csv"))
        #expect(try fixture.dates() == [1, 7])
    }

    @Test func aRunThatDiedAfterTheMoveIsMadeUpForByTheNext() throws {
        try take("a.csv", "a.csv")
        // As if the second run had died before it noted where the file is.
        let moved = StoreFetchRequest(
            entity: TakenFiles.entityName,
            predicate: .compare("path", .equal, .text(fixture.folder.path("pending/done/a-2.csv"))))
        let pending = StoreValue.text(fixture.folder.path("pending/a.csv"))
        #expect(try fixture.writer().update(moved, set: ["path": pending]) == 1)
        try fixture.save()
        #expect(done == ["a-2.csv"])
        try fixture.save()
        #expect(done.isEmpty)
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func aFileOfTheSameTextIsTakenAgain() throws {
        fixture.source.onConflict = .ignore
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n")
        #expect(try fixture.save().saved == 1)
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n")
        #expect(try fixture.save().ignored == 1)
        #expect(done == ["a-2.csv", "a.csv"])
    }

    @Test func withoutKeepDoneNoRecordStays() throws {
        try take("a.csv")
        #expect(try fixture.hasTakenRecord())
        fixture.source.keepDone = nil
        try fixture.save()
        #expect(try !fixture.hasTakenRecord())
        #expect(done == ["a.csv"])
    }

    @Test func namesThatAreTooLongForAnEndingAreCut() throws {
        let name = String(repeating: "ä", count: 125) + "x.csv"
        #expect(name.utf8.count == 255)
        for line in ["x", "y"] {
            try fixture.folder.write("pending/\(name)", "updateTime\n\(line)\n")
            #expect(try fixture.save(now: Self.past).rejected == 1)
        }
        let files = fixture.pendingFiles()
        #expect(
            files.count { $0.hasSuffix(".rejected") } == 2 && files.count { $0.hasPrefix("done/") } == 2, "\(files)")
        #expect(files.allSatisfy { $0.utf8.count <= 260 })
        try fixture.save()
        #expect(done.isEmpty)
    }
}
