import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// Pending files beside another program and with little time. What is read of them otherwise is in the cases `pending-*` and
/// `dry-run-and-pending-files`.
@Suite struct PendingFolderTests {
    let fixture: PendingStoreFixture

    init() throws { fixture = try PendingStoreFixture() }

    @Test func aFileThatChangesWhileItIsReadWaits() throws {
        try fixture.folder.write("pending/a.csv", "updateTime\n1\nx\n")
        var notes: [String] = []
        var isFirst = true
        let hooked = HookedWriter(try fixture.writer()) { [folder = fixture.folder] change in
            guard change == .insert, isFirst else { return }
            isFirst = false
            #expect((try? folder.write("pending/a.csv", "updateTime\n1\n2\n")) != nil)
        }
        #expect(try fixture.save(into: hooked, note: { notes.append($0) }) == RunReport.Pending())
        #expect(notes == ["pending/a.csv changed while it was read, and waits for the next run"])
        #expect(try fixture.dates() == [])
        #expect(fixture.pendingFiles() == ["a.csv"])
        let next = try fixture.save()
        #expect(next.files == 1 && next.saved == 2 && next.rejected == 0)
    }

    @Test func filesBeyondTheBudgetWait() throws {
        for name in ["a", "b", "c"] {
            try fixture.folder.write("pending/\(name).csv", "updateTime\n\(name.utf8.count)\n")
        }
        fixture.source.onConflict = .ignore
        let folder = fixture.folder
        let report = try fixture.save(mayContinue: { !folder.exists("pending/done/b.csv") })
        #expect(report.files == 2 && report.saved == 1 && report.ignored == 1 && report.isInterrupted)
        #expect(fixture.pendingFiles() == ["c.csv", "done/a.csv", "done/b.csv"])
    }
}
