import Foundation
import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob

/// What is in `done/` when a file moves there.
struct DoneFolderTests {
    let fixture: PendingStoreFixture

    init() throws {
        fixture = try PendingStoreFixture()
        fixture.source.files = "pending/*.csv"
    }

    @Test func noLinkIsFollowed() throws {
        try fixture.folder.write("elsewhere/a.csv", "")
        try fixture.folder.write("pending/b.csv", "updateTime\n7\n")
        try FileManager.default.createSymbolicLink(
            atPath: fixture.folder.path("pending/done"), withDestinationPath: fixture.folder.path("elsewhere"))
        // Its rows are saved once all the same.
        for _ in 1...2 { #expect(throws: StoreError.self) { try fixture.save() } }
        #expect(fixture.pendingFiles().contains("b.csv") && !fixture.folder.exists("elsewhere/b.csv"))
        #expect(try fixture.dates() == [7])
    }

    @Test func aFileOfTheSameTextIsTakenAgain() throws {
        fixture.source.onConflict = .ignore
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n")
        #expect(try fixture.save().saved == 1)
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n")
        #expect(try fixture.save().ignored == 1)
        #expect(fixture.pendingFiles() == ["done/a-2.csv", "done/a.csv"])
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func aRunThatDiedAfterTheMoveIsMadeUpForByTheNext() throws {
        try fixture.folder.write("pending/done/a.csv", "updateTime\n0\n")
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n")
        try fixture.save()
        // As if the run had died before it removed the entry.
        let bytes = try PendingFile(path: fixture.folder.path("pending/done/a-2.csv"))
        let hash = try #require(try bytes.sha256(through: bytes.sizeBytes, mayContinue: { true }))
        try TakenFiles.put(
            TakenFiles.Entry(
                path: fixture.folder.path("pending/a.csv"), entity: fixture.source.entity, sizeBytes: bytes.sizeBytes,
                sha256: hash, takenAt: PendingStoreFixture.now, savedBytes: bytes.sizeBytes), to: fixture.writer())
        #expect(try fixture.save().problems.isEmpty)
        #expect(try !fixture.hasTakenRecord() && fixture.dates() == [1])
    }

    @Test func namesThatAreTooLongForAnEndingAreCut() throws {
        let name = String(repeating: "ä", count: 125) + "x.csv"
        #expect(name.utf8.count == 255)
        for line in ["x", "y"] {
            try fixture.folder.write("pending/\(name)", "updateTime\n\(line)\n")
            #expect(try fixture.save().rejected == 1)
        }
        let files = fixture.pendingFiles()
        #expect(
            files.count { $0.hasSuffix(".rejected") } == 2 && files.count { $0.hasPrefix("done/") } == 2, "\(files)")
        #expect(files.allSatisfy { $0.utf8.count <= 260 })
    }
}
