import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Files that are not the archive that is meant: one clear error each, and the store is as it was.
struct BadArchiveTests {
    /// What an archive is then, and the statement that makes it so.
    private static let others = [
        ("the file is not an archive of retention", "PRAGMA application_id = 7"),
        (
            "the archive has the format 2, and this version reads 1",
            "UPDATE retention_archive SET value = 2 WHERE name = 'format'"
        ),
        (
            "the archive has the format ?, and this version reads 1",
            "UPDATE retention_archive SET value = NULL WHERE name = 'format'"
        ),
        ("the archive is of run ?, not of", "DELETE FROM retention_archive WHERE name = 'run'"),
        ("the archive is of another engine: ?", "DELETE FROM retention_archive WHERE name = 'engine'"),
        ("the archive is of run X, not of", "UPDATE retention_archive SET value = 'X' WHERE name = 'run'"),
        ("the archive is of another engine: x", "UPDATE retention_archive SET value = 'x' WHERE name = 'engine'"),
        ("the archive is not complete", "UPDATE retention_archive SET value = 0 WHERE name = 'complete'"),
        (
            "the archive contains a trigger that no run creates: t",
            "CREATE TRIGGER t AFTER INSERT ON price BEGIN SELECT 1; END"
        ),
        ("the archive contains a view that no run creates", "DROP TABLE price; CREATE VIEW price AS SELECT 1 AS id"),
    ]
    /// What is damaged.
    private static let damages = [
        (
            "its check fails",
            "CREATE INDEX i ON price (at); PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'i'"
        ),
        ("no such column: kind", "ALTER TABLE retention_tables DROP COLUMN kind"),
        ("its table price is missing", "DROP TABLE price"),
        ("its table price does not have the rows", "DELETE FROM price WHERE id = 2"),
        ("its table price does not have the rows", "INSERT INTO price VALUES (77, 1, 'x')"),
        ("its table price does not have the rows", "UPDATE retention_parts SET last_rowid = 100"),
        (
            "a value in its lists is not a number (first_rowid)",
            "UPDATE retention_parts SET first_rowid = -9223372036854775808, last_rowid = 9223372036854775807"
        ),
        ("its table price does not have the rows", "UPDATE retention_parts SET last_rowid = first_rowid"),
        ("its table price does not have the rows", "UPDATE retention_parts SET first_rowid = 2"),
        ("a part of it has no rows", "UPDATE retention_parts SET last_rowid = 0"),
        ("a value in its lists is not a number (rule)", "UPDATE retention_parts SET rule = NULL"),
        ("a value in its lists is not a number (table_number)", "UPDATE retention_parts SET table_number = 'x'"),
        ("a rule in it has no name", "UPDATE retention_rules SET name = NULL"),
        ("its list of tables has no store_table", "UPDATE retention_tables SET store_table = NULL"),
        ("its table price has no columns", "UPDATE retention_tables SET columns = '[]'"),
        (
            "its table price has no columns, or a column twice",
            "UPDATE retention_tables SET columns = '[\"id\", \"at\", \"AT\"]'"
        ),
        ("a list of names in it", "UPDATE retention_tables SET columns = 'x'"),
        ("it has a table of an unknown kind", "UPDATE retention_tables SET kind = 'x'"),
        ("a part of it belongs to a table", "UPDATE retention_tables SET number = 7"),
        ("it has no table retention_parts", "DROP TABLE retention_parts"),
    ]

    @Test(arguments: others + damages.map { ("the archive is damaged: " + $0, $1) })
    func aChangedArchiveIsRefusedWithOneSentence(_ message: String, _ sql: String) throws {
        try expectRefused(message) { archived in
            let queue = try DatabaseQueue(path: archived.archive)
            try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
            try queue.close()
        }
    }

    private static let files: [(String, @Sendable (ArchivedStore) throws -> Void)] = [
        (
            "the archive is damaged",
            { archived in
                let handle = try FileHandle(forUpdating: URL(fileURLWithPath: archived.archive))
                try handle.truncate(atOffset: try handle.seekToEnd() / 2 / 4096 * 4096)
                try handle.close()
            }
        ),
        (
            "the archive is damaged",
            { try Data("nothing of the kind, but long enough".utf8).write(to: URL(fileURLWithPath: $0.archive)) }
        ),
        (
            "the file is not an archive of retention",
            { try Data().write(to: URL(fileURLWithPath: $0.archive)) }
        ),
        (
            "the store has another text encoding than when the archive was made",
            { archived in
                try FileManager.default.removeItem(atPath: archived.store.path)
                try archived.store.change("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (at INTEGER)")
            }
        ),
    ]

    @Test(arguments: files.indices) func anotherFileIsRefusedWithOneSentence(_ index: Int) throws {
        try expectRefused(Self.files[index].0, Self.files[index].1)
    }

    private func expectRefused(_ message: String, _ change: (ArchivedStore) throws -> Void) throws {
        let archived = try ArchivedStore(RestorationTests.prices)
        try archived.delete("price")
        try change(archived)
        let bytes = try archived.store.bytes()
        for attempt in [
            { _ = try archived.store.reader().restorable(archived.request()) }, { _ = try archived.undo() },
        ] {
            let error = try #require(throws: StoreError.self) { try attempt() }
            #expect(error.kind == (message.hasPrefix("the archive is damaged") ? .inputOutput : .unsupported))
            #expect(error.message.hasPrefix(message), "\(error)")
        }
        #expect(try archived.store.bytes() == bytes)
    }

    @Test func itMustHaveTheRulesAndBeADatabase() throws {
        let archived = try ArchivedStore(RestorationTests.prices)
        try archived.delete("price")
        let missing = #expect(throws: StoreError.self) {
            try archived.store.reader().restorable(archived.request(["r0", "other"]))
        }
        #expect(missing?.message == "the archive has no rows of a rule 'other'")
        // A run that was killed may have left a WAL beside its archive, which is opened for writing then.
        var request = archived.request()
        request.mustBeComplete = false
        try Data("nothing of the kind, but long enough".utf8).write(to: URL(fileURLWithPath: archived.archive))
        let error = #expect(throws: StoreError.self) { try archived.store.reader().restorable(request) }
        #expect(error?.message.hasPrefix("the archive cannot be recovered") == true, "\(String(describing: error))")
    }

    @Test func aStoreThatIsReachedThroughALinkIsTheSameStore() throws {
        let archived = try ArchivedStore(RestorationTests.prices)
        try archived.delete("price")
        let writer = try SQLiteWriter(path: archived.store.link())
        #expect(try archived.undo(on: writer).total.restoredCount == 3)
    }
}
