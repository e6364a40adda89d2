import Foundation
import PriceObjects
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// A file of several batches: others can write in between, and a run that dies is continued.
struct PendingBatchTests {
    let fixture: PendingStoreFixture
    private static let rowCount = 1700

    init() throws { fixture = try PendingStoreFixture() }

    /// Rows with a bad line here and there: one that cannot be read, and one whose key is there already.
    private static let lines = (1...rowCount).map { number in
        number % 397 == 0 ? "x\(number)" : number % 499 == 0 ? "\(number - 1)" : "\(number)"
    }
    private static let text = "updateTime\n" + lines.joined(separator: "\n") + "\n"
    private static let good = (1...rowCount).filter { $0 % 397 != 0 && $0 % 499 != 0 }.map(Int64.init)
    private static let rejected = lines.enumerated().compactMap { index, line in
        line.hasPrefix("x")
            ? "# line \(index + 2): updateTime: not an ISO 8601 date, nor a number in unix_seconds\n\(line)\n"
            : line == "\(index + 1)"
                ? nil : "# line \(index + 2): UNIQUE constraint failed: Price.updateTime\n\(line)\n"
    }.joined()

    private func expectAllOnce(_ others: [Int64] = []) throws {
        #expect(try fixture.dates() == Self.good + others)
        #expect(fixture.pendingFiles() == ["a.csv.rejected", "done/a.csv"])
        #expect(try fixture.folder.read("pending/a.csv.rejected") == Self.rejected)
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func aFileIsSavedInShortTransactions() throws {
        let more = (2000..<10_000).map(Int64.init)
        try fixture.folder.write("pending/a.csv", Self.text + more.map { "\($0)\n" }.joined())
        var inserts = 0
        var largest = 0
        let hooked = HookedWriter(try fixture.writer()) { change in
            inserts = change == .insert ? inserts + 1 : change == .commit ? inserts : 0
            largest = max(largest, inserts)
        }
        let report = try fixture.save(into: hooked)
        #expect(report.saved == Self.good.count + more.count && report.rejected == Self.rowCount - Self.good.count)
        #expect(largest == 500)
        try expectAllOnce(more)
    }

    @Test func aRunThatIsStoppedAnywhereIsContinued() throws {
        // So long that the run asks while it takes the hash, too.
        let long = String(repeating: "x", count: 17 << 20)
        try fixture.folder.write("pending/a.csv", Self.text + long + "\n")
        var (most, isInterrupted) = (0, true)
        while isInterrupted {
            var asked = 0
            isInterrupted = try fixture.save(mayContinue: {
                asked += 1
                return asked <= most
            }).isInterrupted
            most += 1
        }
        #expect(try fixture.dates() == Self.good)
        #expect(fixture.pendingFiles() == ["a.csv.rejected", "done/a.csv"])
        #expect(try !fixture.hasTakenRecord())
    }

    @Test(arguments: 1...9) func aDeadRunIsContinued(commit: Int) throws {
        for before in [true, false] {
            let tests = try PendingBatchTests()
            try tests.fixture.folder.write("pending/a.csv", Self.text)
            try tests.fixture.die(atCommit: commit, before: before)
            let saved = try tests.fixture.dates().count
            let predicted = try tests.fixture.save(into: SQLiteReader(path: tests.fixture.storePath))
            let report = try tests.fixture.save()
            #expect(report == predicted && report.saved == Self.good.count - saved, "\(commit) \(report)")
            try tests.expectAllOnce()
        }
    }

    @Test func everyRunMayDieAgain() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        for _ in 0..<3 { try fixture.die(atCommit: 4) }
        #expect(try !fixture.dates().isEmpty)
        try fixture.save()
        try expectAllOnce()
    }

    @Test func aStoppedRunStopsWithinAFile() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        var notes: [String] = []
        let fixture = fixture
        let report = try fixture.save(
            mayContinue: { ((try? fixture.dates().count) ?? 0) < 600 }, note: { notes.append($0) })
        #expect(report.isInterrupted && report.files == 0)
        #expect(try report.saved == fixture.dates().count)
        #expect(report.saved > 600 && report.saved < 1200)
        #expect(notes == ["pending/a.csv is saved in part; the next run continues with the rest"])
        #expect(fixture.pendingFiles().contains("a.csv"))
        let rest = try fixture.save()
        #expect(rest.saved + report.saved == Self.good.count && !rest.isInterrupted)
        try expectAllOnce()
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

    @Test func othersGetInBetween() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        let other = try fixture.writer()
        var count = 0
        var depth = 0
        let hooked = HookedWriter(try fixture.writer()) { change throws(StoreError) in
            if change == .commit { depth -= 1 }
            guard change == .begin else { return }
            depth += 1
            guard depth == 1 else { return }
            count += 1
            _ = try other.insert(entity: "Price", values: ["updateTime": .integer(-Int64(count))], onConflict: .fail)
        }
        try fixture.save(into: hooked)
        #expect(try fixture.dates().filter { $0 > 0 } == Self.good && count > 4)
    }

    // MARK: Another file in its place

    /// What has the name of an unfinished file now.
    enum Replacement: String, CaseIterable, CustomTestStringConvertible {
        case short, otherFirstRow, otherLastRow, cut
        var testDescription: String { rawValue }
        var text: String {
            switch self {
            case .short: "updateTime\n9999\n"
            case .otherFirstRow: PendingBatchTests.text.replacing("\n1\n", with: "\n9\n")
            case .otherLastRow: PendingBatchTests.text.replacing("\n1700\n", with: "\n1709\n")
            case .cut: String(PendingBatchTests.text.dropLast(10))
            }
        }
    }

    @Test(arguments: Replacement.allCases) func anotherFileIsNotContinued(_ replacement: Replacement) throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        try fixture.die(atCommit: 4)
        let saved = try fixture.dates()
        #expect(!saved.isEmpty)
        try fixture.folder.write("pending/a.csv", replacement.text)
        for inserter in [try SQLiteReader(path: fixture.storePath), nil] as [(any RetentionInserter)?] {
            let report = try fixture.save(into: inserter)
            #expect(report.problems.count == 1 && report.problems[0].contains("is not there any more or has changed"))
        }
        #expect(try fixture.dates() == saved)
        // The same file is continued when it is back.
        try fixture.folder.write("pending/a.csv", Self.text)
        try fixture.save()
        #expect(try fixture.dates() == Self.good)
        #expect(try !fixture.hasTakenRecord())
    }

    @Test func aFileThatGrewIsContinued() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        try fixture.die(atCommit: 4)
        try fixture.folder.write("pending/a.csv", Self.text + "5000\n5001")
        #expect(try fixture.save().problems.isEmpty)
        #expect(try fixture.dates() == Self.good + [5000, 5001])
        #expect(try fixture.folder.read("pending/a.csv.rejected") == Self.rejected)
    }

    @Test func aFileThatGrowsWhileItIsReadIsLeftAtOnce() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        let handle = try #require(FileHandle(forWritingAtPath: fixture.folder.path("pending/a.csv")))
        var notes: [String] = []
        var inserts = 0
        let hooked = HookedWriter(try fixture.writer()) { change in
            guard change == .insert else { return }
            inserts += 1
            _ = try? handle.seekToEnd()
            try? handle.write(contentsOf: Data("7\n".utf8))
        }
        _ = try fixture.save(into: hooked, note: { notes.append($0) })
        #expect(notes == ["pending/a.csv changed while it was read, and waits for the next run"])
        #expect(inserts <= 500)
        #expect(try fixture.dates().isEmpty)
        #expect(fixture.pendingFiles() == ["a.csv"])
    }

    @Test func theBadLinesOfADeadRunMayNotBeTakenAway() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        try fixture.die(atCommit: 6)
        #expect(fixture.pendingFiles().contains(".a.csv.rejected.part"))
        let saved = try fixture.dates()
        try FileManager.default.removeItem(atPath: fixture.folder.path("pending/.a.csv.rejected.part"))
        let report = try fixture.save()
        #expect(report.problems.count == 1 && report.problems[0].contains("are gone"), "\(report)")
        #expect(try fixture.dates() == saved)
    }

    @Test func whatADeadRunWroteOfAnUncommittedBatchIsCutOff() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        try fixture.die(atCommit: 6)
        let handle = try #require(
            FileHandle(forWritingAtPath: fixture.folder.path("pending/.a.csv.rejected.part")))
        _ = try handle.seekToEnd()
        try handle.write(contentsOf: Data("# line 900: half a li".utf8))
        try fixture.save()
        try expectAllOnce()
    }

    @Test func aTableThatOthersChangedIsAnError() throws {
        try fixture.folder.write("pending/a.csv", Self.text)
        try fixture.die(atCommit: 6)
        for value in [StoreValue.integer(-1), .integer(.max), .text("x")] {
            let writer = try fixture.writer()
            try writer.execute(BatchUpdateRequest(entity: TakenFiles.entityName, propertiesToUpdate: ["saved": value]))
            #expect(throws: StoreError.self) { try fixture.save() }
        }
    }
}
