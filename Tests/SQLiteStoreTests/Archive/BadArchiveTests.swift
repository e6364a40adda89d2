import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Files that are not the archive that is meant: one clear error each, and the store is as it was.
struct BadArchiveTests {
    private static func sql(_ statement: String) -> @Sendable (ArchivedStore) throws -> Void {
        { archived in
            let queue = try DatabaseQueue(path: archived.archive)
            try queue.writeWithoutTransaction { try $0.execute(sql: statement) }
            try queue.close()
        }
    }

    private static let cases: [(String, StoreError.Kind, String, @Sendable (ArchivedStore) throws -> Void)] = [
        ("missing", .missing, "the archive does not exist", { try FileManager.default.removeItem(atPath: $0.archive) }),
        (
            "a link", .inputOutput, "the archive is a symbolic link, but an archive is always a regular file",
            { archived in
                try FileManager.default.moveItem(atPath: archived.archive, toPath: archived.archive + ".moved")
                try FileManager.default.createSymbolicLink(
                    atPath: archived.archive, withDestinationPath: archived.archive + ".moved")
            }
        ),
        (
            "a folder", .inputOutput, "the archive is a folder, but an archive is always a regular file",
            { archived in
                try FileManager.default.removeItem(atPath: archived.archive)
                try FileManager.default.createDirectory(atPath: archived.archive, withIntermediateDirectories: false)
            }
        ),
        (
            "truncated", .inputOutput, "the archive is damaged",
            { archived in
                let handle = try FileHandle(forUpdating: URL(fileURLWithPath: archived.archive))
                try handle.truncate(atOffset: try handle.seekToEnd() / 2 / 4096 * 4096)
                try handle.close()
            }
        ),
        (
            "no database", .inputOutput, "the archive is damaged",
            { try Data("nothing of the kind, but long enough".utf8).write(to: URL(fileURLWithPath: $0.archive)) }
        ),
        (
            "empty", .unsupported, "the file is not an archive of retention",
            { try Data().write(to: URL(fileURLWithPath: $0.archive)) }
        ),
        (
            "another program's", .unsupported, "the file is not an archive of retention",
            sql("PRAGMA application_id = 7")
        ),
        (
            "of a store with another text encoding", .unsupported,
            "the store has another text encoding than when the archive was made",
            { archived in
                let path = archived.store.path
                try FileManager.default.removeItem(atPath: path)
                let queue = try DatabaseQueue(path: path)
                try queue.writeWithoutTransaction {
                    try $0.execute(sql: "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (at INTEGER)")
                }
                try queue.close()
            }
        ),
        (
            "a newer format", .unsupported, "the archive has the format 2, and this version reads 1",
            sql("UPDATE retention_archive SET value = 2 WHERE name = 'format'")
        ),
        (
            "without a format", .unsupported, "the archive has the format ?, and this version reads 1",
            sql("UPDATE retention_archive SET value = NULL WHERE name = 'format'")
        ),
        (
            "of no run", .unsupported, "the archive is of run ?, not of",
            sql("DELETE FROM retention_archive WHERE name = 'run'")
        ),
        (
            "of no engine", .unsupported, "the archive is of another engine: ?",
            sql("DELETE FROM retention_archive WHERE name = 'engine'")
        ),
        (
            "with pages of nothing", .inputOutput, "the archive is damaged: its check fails",
            sql("CREATE INDEX i ON price (at); PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'i'")
        ),
        (
            "without a column of its list", .inputOutput, "the archive is damaged: no such column: kind",
            sql("ALTER TABLE retention_tables DROP COLUMN kind")
        ),
        (
            "another run's", .unsupported, "the archive is of run X, not of",
            sql("UPDATE retention_archive SET value = 'X' WHERE name = 'run'")
        ),
        (
            "another engine's", .unsupported, "the archive is of another engine: x",
            sql("UPDATE retention_archive SET value = 'x' WHERE name = 'engine'")
        ),
        (
            "not complete", .unsupported, "the archive is not complete",
            sql("UPDATE retention_archive SET value = 0 WHERE name = 'complete'")
        ),
        (
            "with a trigger", .unsupported, "the archive contains a trigger that no run creates: t",
            sql("CREATE TRIGGER t AFTER INSERT ON price BEGIN SELECT 1; END")
        ),
        (
            "with a view", .unsupported, "the archive contains a view that no run creates",
            sql("DROP TABLE price; CREATE VIEW price AS SELECT 1 AS id")
        ),
        (
            "without a table", .inputOutput, "the archive is damaged: its table price is missing",
            sql("DROP TABLE price")
        ),
        (
            "without a row", .inputOutput, "the archive is damaged: its table price does not have the rows",
            sql("DELETE FROM price WHERE id = 2")
        ),
        (
            "with another row", .inputOutput, "the archive is damaged: its table price does not have the rows",
            sql("INSERT INTO price VALUES (77, 1, 'x')")
        ),
        (
            "with a large part", .inputOutput, "the archive is damaged: its table price does not have the rows",
            sql("UPDATE retention_parts SET last_rowid = 100")
        ),
        (
            "with a huge part", .inputOutput,
            "the archive is damaged: a value in its lists is not a number (first_rowid)",
            sql("UPDATE retention_parts SET first_rowid = -9223372036854775808, last_rowid = 9223372036854775807")
        ),
        (
            "with a small part", .inputOutput, "the archive is damaged: its table price does not have the rows",
            sql("UPDATE retention_parts SET last_rowid = first_rowid")
        ),
        (
            "with a part the wrong way round", .inputOutput, "the archive is damaged: a part of it has no rows",
            sql("UPDATE retention_parts SET last_rowid = 0")
        ),
        (
            "with a part of no rule", .inputOutput,
            "the archive is damaged: a value in its lists is not a number (rule)",
            sql("UPDATE retention_parts SET rule = NULL")
        ),
        (
            "with a text for a number", .inputOutput,
            "the archive is damaged: a value in its lists is not a number (table_number)",
            sql("UPDATE retention_parts SET table_number = 'x'")
        ),
        (
            "with a rule without a name", .inputOutput, "the archive is damaged: a rule in it has no name",
            sql("UPDATE retention_rules SET name = NULL")
        ),
        (
            "with a table without a name", .inputOutput,
            "the archive is damaged: its list of tables has no store_table",
            sql("UPDATE retention_tables SET store_table = NULL")
        ),
        (
            "with a table without columns", .inputOutput, "the archive is damaged: its table price has no columns",
            sql("UPDATE retention_tables SET columns = '[]'")
        ),
        (
            "with a column twice", .inputOutput,
            "the archive is damaged: its table price has no columns, or a column twice",
            sql("UPDATE retention_tables SET columns = '[\"id\", \"at\", \"AT\"]'")
        ),
        (
            "with no list of columns", .inputOutput, "the archive is damaged: a list of names in it",
            sql("UPDATE retention_tables SET columns = 'x'")
        ),
        (
            "with an unknown kind", .inputOutput, "the archive is damaged: it has a table of an unknown kind",
            sql("UPDATE retention_tables SET kind = 'x'")
        ),
        (
            "with another table's number", .inputOutput, "the archive is damaged: a part of it belongs to a table",
            sql("UPDATE retention_tables SET number = 7")
        ),
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
