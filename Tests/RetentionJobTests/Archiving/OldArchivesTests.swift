import Foundation
@preconcurrency import Glibc
import GRDB
import PriceStore
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

@testable import RetentionJob

/// Archives of real stores, which the engine made, and what is removed of a folder.
struct OldArchivesTests {
    private static let day: Int64 = 86_400_000_000

    private final class Place {
        let file: PriceFile
        let folder: String
        var recorded: [String: RecordedRun] = [:]

        init() throws {
            file = try PriceFile()
            folder = file.folder.appending(path: "archive").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        /// Archives ten rows in a run that began so many days ago and took an hour.
        @discardableResult
        func archive(daysAgo: Int64, of other: PriceFile? = nil, isComplete: Bool = true) throws -> String {
            let store = other ?? file
            try store.addPrices(daysOld: 100..<110)
            let start = PriceFile.now.advanced(byMicroseconds: -daysAgo * OldArchivesTests.day)
            let run = ArchiveFixture.run(at: start)
            try ArchiveFixture.make(
                in: folder, run: run, of: store.path, now: PriceFile.now, isComplete: isComplete)
            if other == nil {
                recorded[run] = RecordedRun(
                    ended: isComplete ? start.advanced(byMicroseconds: OldArchivesTests.day / 24) : nil,
                    hasCompleteArchive: isComplete, archiveUntil: nil)
            }
            return run
        }

        func path(_ name: String) -> String { folder + "/" + name }

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
        }

        private func archives(_ keep: String?) throws -> OldArchives {
            OldArchives(
                folder: ArchiveFolder(folder),
                age: ArchiveAge(keep: try keep.map { try MaxAge(parsing: $0) }, zone: .utc),
                open: { try SQLiteReader(path: $0, owner: .archive) })
        }

        func findings(keep: String?, current: String = "", isAfterCrash: Bool = true) throws -> OldArchives.Findings {
            try archives(keep).findings(now: PriceFile.now, besides: current, isAfterCrash: isAfterCrash) { runs in
                recorded.filter { runs.contains($0.key) }
            }
        }

        /// Removes what is past its time; the runs that were removed, and the problems.
        func clean(keep: String?, current: String = "") throws -> (removed: [String], problems: [String]) {
            let found = try findings(keep: keep, current: current).expired
            let problems = try found.compactMap { try archives(keep).remove($0) }
            return (found.map(\.run), problems)
        }
    }

    @Test func theAgeCountsFromTheEndOfTheRun() throws {
        let place = try Place()
        // It began 30 days and half an hour ago, and ended half an hour later than 30 days ago.
        let run = try place.archive(daysAgo: 31)
        place.recorded[run]?.ended = PriceFile.now.advanced(byMicroseconds: -30 * Self.day + 1)
        #expect(try place.findings(keep: "30d").expired.isEmpty)
        place.recorded[run]?.ended = PriceFile.now.advanced(byMicroseconds: -30 * Self.day - 1)
        #expect(try place.findings(keep: "30d").expired.map(\.run) == [run])
        // A file that was copied, or touched, is as old as before.
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: place.path(run + ".sqlite"))
        #expect(try place.findings(keep: "30d").expired.map(\.run) == [run])
    }

    @Test func theDateThatTheRunRecordedIsKept() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 20)
        place.recorded[run]?.archiveUntil = PriceFile.now.advanced(byMicroseconds: 10 * Self.day)
        #expect(try place.findings(keep: "1d").expired.isEmpty)
        place.recorded[run]?.archiveUntil = PriceFile.now
        #expect(try place.findings(keep: "1d").expired.map(\.run) == [run])
        #expect(try place.findings(keep: "30d").expired.isEmpty)
        #expect(try place.findings(keep: nil).expired.isEmpty)
    }

    @Test func theRunItselfIsLeftAlone() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 31)
        #expect(try place.clean(keep: "1d", current: run).removed == [])
    }

    @Test func archivesOfOtherStoresAreLeftAlone() throws {
        let place = try Place()
        let other = try PriceFile()
        let run = try place.archive(daysAgo: 400, of: other)
        #expect(try place.findings(keep: "30d") == OldArchives.Findings())
        #expect(try place.names == [run + ".sqlite"])
    }

    /// Everything that looks like an archive by its name or by its content alone.
    @Test func noOtherFileIsRemoved() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 400)
        let archive = place.path(run + ".sqlite")
        let old = PriceFile.now.advanced(byMicroseconds: -400 * Self.day)
        func name(_ letter: Character) -> String { place.path(ArchiveFixture.run(at: old, letter) + ".sqlite") }
        let manager = FileManager.default
        try manager.copyItem(atPath: archive, toPath: name("B"))
        try manager.copyItem(atPath: archive, toPath: place.path("copy of \(run).sqlite"))
        try manager.copyItem(atPath: archive, toPath: place.path(run.lowercased() + ".sqlite"))
        try manager.copyItem(atPath: archive, toPath: place.path("8" + run.dropFirst() + ".sqlite"))
        try manager.copyItem(atPath: archive, toPath: place.path(run + ".sqlite.bak"))
        try manager.copyItem(atPath: place.file.path, toPath: name("C"))
        try Data("not a database".utf8).write(to: URL(filePath: name("D")))
        try Data().write(to: URL(filePath: name("E")))
        try manager.createDirectory(atPath: name("F"), withIntermediateDirectories: true)
        #expect(symlink(archive, name("G")) == 0)
        let before = try place.names
        let (removed, problems) = try place.clean(keep: "30d")
        #expect(removed == [run] && problems.isEmpty)
        #expect(try Set(place.names) == Set(before).subtracting([run + ".sqlite"]))
    }

    /// A file with the name of an archive that a run of this store recorded.
    @Test(arguments: [
        "DROP TABLE retention_archive", "UPDATE retention_archive SET value = 'other' WHERE name = 'run'",
        "DROP TABLE retention_archive; CREATE VIEW retention_archive AS SELECT 'run' AS name, 'x' AS value",
    ]) func aFileThatIsNotTheArchiveOfTheRunIsLeftAlone(_ change: String) throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 400)
        let queue = try DatabaseQueue(path: place.path(run + ".sqlite"))
        try queue.writeWithoutTransaction { try $0.execute(sql: change) }
        try queue.close()
        #expect(try place.findings(keep: "30d") == OldArchives.Findings())
    }

    @Test func anArchiveWithTwoNamesIsLeftAlone() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 400)
        #expect(link(place.path(run + ".sqlite"), place.path("other.sqlite")) == 0)
        #expect(try place.clean(keep: "30d").removed == [])
    }

    @Test func aFileThatReplacesTheArchiveMeanwhileIsLeftAlone() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 400)
        let found = try place.findings(keep: "30d").expired
        unlink(place.path(run + ".sqlite"))
        try Data("mine".utf8).write(to: URL(filePath: place.path(run + ".sqlite")))
        let archives = OldArchives(
            folder: ArchiveFolder(place.folder), age: ArchiveAge(keep: nil, zone: .utc),
            open: { try SQLiteReader(path: $0) })
        #expect(archives.remove(try #require(found.first))?.contains("another file is in its place") == true)
        #expect(try String(contentsOfFile: place.path(run + ".sqlite"), encoding: .utf8) == "mine")
    }

    @Test func aCompleteArchiveThatIsOpenIsLeftAlone() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 400)
        try Data("x".utf8).write(to: URL(filePath: place.path(run + ".sqlite-wal")))
        let (_, problems) = try place.clean(keep: "30d")
        #expect(problems.first?.contains("-wal is beside it") == true)
        #expect(try place.names.contains(run + ".sqlite"))
    }

    @Test func anIncompleteArchiveIsNamedUntilItsTimeIsOver() throws {
        let place = try Place()
        let young = try place.archive(daysAgo: 3, isComplete: false)
        var findings = try place.findings(keep: "30d")
        #expect(findings.expired.isEmpty && findings.warnings.count == 1)
        #expect(findings.warnings.first?.contains("\(young).sqlite is not complete") == true)
        let old = try place.archive(daysAgo: 40, isComplete: false)
        findings = try place.findings(keep: "30d")
        #expect(findings.expired.map(\.run) == [old] && findings.warnings.count == 2)
        // Later runs tell only what they remove.
        findings = try place.findings(keep: "30d", isAfterCrash: false)
        #expect(findings.expired.map(\.run) == [old] && findings.warnings.count == 1)
        #expect(try place.clean(keep: "30d").problems.isEmpty)
        #expect(try place.names.filter { $0.hasPrefix(old) }.isEmpty)
        #expect(try place.names.contains(young + ".sqlite"))
        #expect(try place.findings(keep: nil).warnings.count == 1)
    }

    @Test func anArchiveOfThisStoreThatCannotBeReadIsNamed() throws {
        let place = try Place()
        let run = try place.archive(daysAgo: 400)
        try Data("not a database at all".utf8).write(to: URL(filePath: place.path(run + ".sqlite")))
        let findings = try place.findings(keep: "30d")
        #expect(findings.expired.isEmpty)
        #expect(findings.warnings.first?.contains("cannot be read and is not removed") == true)
    }
}
