import Foundation
import GRDB
import PriceStore
import Testing

@testable import SQLiteStore

/// Files that are not the archive that is meant: one clear error each, and the store is as it was.
struct BadArchiveTests {
    private static func sql(_ statement: String) -> @Sendable (ArchivedStore) throws -> Void {
        { archived in
            let queue = try DatabaseQueue(path: archived.path)
            try queue.writeWithoutTransaction { try $0.execute(sql: statement) }
            try queue.close()
        }
    }

    private static let cases: [(String, StoreError.Kind, String, @Sendable (ArchivedStore) throws -> Void)] = [
        ("missing", .missing, "the archive is not there", { try FileManager.default.removeItem(atPath: $0.path) }),
        (
            "a link", .inputOutput, "the archive is a symbolic link, and a run makes it as a file",
            { archived in
                try FileManager.default.moveItem(atPath: archived.path, toPath: archived.path + ".moved")
                try FileManager.default.createSymbolicLink(
                    atPath: archived.path, withDestinationPath: archived.path + ".moved")
            }
        ),
        (
            "a folder", .inputOutput, "the archive is a folder, and a run makes it as a file",
            { archived in
                try FileManager.default.removeItem(atPath: archived.path)
                try FileManager.default.createDirectory(atPath: archived.path, withIntermediateDirectories: false)
            }
        ),
        (
            "truncated", .inputOutput, "the archive is damaged",
            { archived in
                let handle = try FileHandle(forUpdating: URL(fileURLWithPath: archived.path))
                try handle.truncate(atOffset: try handle.seekToEnd() / 2 / 4096 * 4096)
                try handle.close()
            }
        ),
        (
            "no database", .inputOutput, "the archive is damaged",
            { try Data("nothing of the kind, but long enough".utf8).write(to: URL(fileURLWithPath: $0.path)) }
        ),
        (
            "empty", .unsupported, "the file is not an archive of retention",
            { try Data().write(to: URL(fileURLWithPath: $0.path)) }
        ),
        (
            "another program's", .unsupported, "the file is not an archive of retention",
            sql("PRAGMA application_id = 7")
        ),
        (
            "a newer format", .unsupported, "the archive has the format 2, and this version reads 1",
            sql("UPDATE retention_archive SET value = 2 WHERE name = 'format'")
        ),
        (
            "another run's", .unsupported, "the archive is of run X, not of",
            sql("UPDATE retention_archive SET value = 'X' WHERE name = 'run'")
        ),
        (
            "another store's", .unsupported, "the archive is of another store: /other",
            sql("UPDATE retention_archive SET value = '/other' WHERE name = 'store'")
        ),
        (
            "not complete", .unsupported, "the archive is not complete",
            sql("UPDATE retention_archive SET value = 0 WHERE name = 'complete'")
        ),
        (
            "with a trigger", .unsupported, "the archive holds a trigger that no run makes: t",
            sql("CREATE TRIGGER t AFTER INSERT ON price BEGIN SELECT 1; END")
        ),
        (
            "with a view", .unsupported, "the archive holds a view that no run makes",
            sql("DROP TABLE price; CREATE VIEW price AS SELECT 1 AS id")
        ),
        ("without a table", .unsupported, "the archive's table price cannot be read", sql("DROP TABLE price")),
        (
            "without its list", .inputOutput, "the archive is damaged: it has no table retention_parts",
            sql("DROP TABLE retention_parts")
        ),
    ]

    @Test(arguments: cases.indices)
    func isRefusedWithOneSentence(_ index: Int) throws {
        let (name, kind, message, change) = Self.cases[index]
        let archived = try ArchivedStore(RestorationTests.prices)
        try archived.delete("price")
        try change(archived)
        let bytes = try archived.store.bytes()
        for attempt in [
            { _ = try archived.store.reader().restorable(archived.request()) }, { _ = try archived.undo() },
        ] {
            let error = try #require(throws: StoreError.self, "\(name)") { try attempt() }
            #expect(error.kind == kind && error.message.hasPrefix(message), "\(name): \(error)")
        }
        #expect(try archived.store.bytes() == bytes)
    }

    @Test func aStoreThatIsReachedThroughALinkIsTheSameStore() throws {
        let archived = try ArchivedStore(RestorationTests.prices)
        try archived.delete("price")
        let writer = try SQLiteWriter(path: archived.store.link())
        #expect(try archived.undo(on: writer).total.restoredCount == 3)
    }
}
