import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Why rows cannot be archived is reported before anything is deleted.
struct ArchiveObstacleTests {
    private func obstacle(
        _ statements: [String], _ rule: BatchDeleteRequest.RelationshipRule = .asDeclared
    ) throws -> String? {
        let store = try TemporaryStore()
        try store.change { db in
            for statement in ["PRAGMA foreign_keys = OFF"] + statements { try db.execute(sql: statement) }
        }
        var request = ArchivedStore.request("t")
        request.relationships = rule
        let reader = try store.reader()
        _ = try reader.survey(request)
        return try reader.archiveObstacle(of: request)
    }

    private static let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER)"

    private static let hidden = [
        (
            "CREATE TABLE x (s UNIQUE ON CONFLICT\n REPLACE)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN INSERT INTO x VALUES (1); END", "x uses REPLACE"
        ),
        (
            "CREATE TABLE x (s UNIQUE ON/**/CONFLICT -- it is\n/* so */REPLACE)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN UPDATE x SET s = 1; END", "x uses REPLACE"
        ),
        (
            "CREATE TABLE x (s UNIQUE)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN INSERT OR/**/REPLACE INTO x VALUES (1); END", "y uses REPLACE"
        ),
        (
            "CREATE TABLE x (s UNIQUE)",
            "CREATE TRIGGER y AFTER/**/DELETE/**/ON t BEGIN REPLACE\nINTO x VALUES (1); END",
            "y uses REPLACE"
        ),
        (
            "CREATE TABLE x (s UNIQUE)", "CREATE TRIGGER y DELETE ON t BEGIN UPDATE OR -- \n REPLACE x SET s = 1; END",
            "y uses REPLACE"
        ),
        (
            "CREATE VIRTUAL TABLE \"geo-box\" USING rtree (id, a, b)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE FROM \"geo-box\" WHERE id = OLD.id; END",
            "virtual table geo-box"
        ),
        (
            "CREATE VIRTUAL TABLE [a \"b\".c] USING rtree (id, a, b)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE/**/FROM--\n \"a \"\"b\"\".c\"; END",
            "virtual table a \"b\".c"
        ),
        (
            "CREATE VIRTUAL TABLE f USING fts5 (s); CREATE VIEW v AS SELECT * FROM f; "
                + "CREATE TRIGGER z INSTEAD OF DELETE ON v BEGIN DELETE FROM f; END",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE FROM v; END", "virtual table f"
        ),
        (
            "CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE FROM sqlite_sequence; END", "sqlite_sequence"
        ),
        (
            "CREATE TABLE x (\"rowid\", \"_rowid_\", \"oid\")",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE FROM x; END", "rows of x cannot be identified"
        ),
        (
            "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE x (rowid, _rowid_, oid REFERENCES p ON DELETE SET NULL)",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE FROM p; END", "rows of x cannot be identified"
        ),
    ]

    @Test(arguments: hidden)
    func aTriggerWhoseDeletesCannotBeSeen(schema: String, trigger: String, reason: String) throws {
        let found = try obstacle([Self.table, schema, trigger])
        #expect(found?.contains(reason) == true, "\(found ?? "no obstacle")")
    }

    @Test(arguments: [
        "UPDATE x SET n = n - 1; DELETE FROM x WHERE n = 0", "UPDATE\"x\"SET n = 0;DELETE FROM[x]",
        "INSERT INTO x VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = n - 1; DELETE FROM x WHERE n = 0",
        "UPDATE x SET id = id + 100; DELETE FROM p", "UPDATE t SET at = 0",
    ])
    func aTriggerThatChangesRowsWhichAreDeleted(body: String) throws {
        let schema = [
            Self.table, "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE x (id INTEGER PRIMARY KEY REFERENCES p ON DELETE CASCADE, n INTEGER)",
        ]
        let found = try obstacle(schema + ["CREATE TRIGGER y BEFORE DELETE ON t BEGIN \(body); END"])
        #expect(found?.contains("the trigger y changes rows of") == true, "\(found ?? "no obstacle")")
    }

    @Test(arguments: [
        "INSERT INTO x VALUES ('or replace into', OLD.id OR replace('a', 'b', 'c')) /* REPLACE INTO */",
        "UPDATE x SET n = n - 1 -- DELETE FROM x\n", "DELETE FROM x WHERE \"delete from\" = 1",
        "INSERT INTO \"f\" (f, rowid, s) VALUES ('delete', OLD.id, 's')",
    ])
    func aTriggerThatDoesNoneOfThisIsNoObstacle(body: String) throws {
        let schema = [
            Self.table, "CREATE TABLE x (\"delete from\", n INTEGER)",
            "CREATE VIRTUAL TABLE f USING fts5 (s, content='')",
            // No delete sets these off.
            "CREATE TRIGGER other AFTER INSERT ON t BEGIN REPLACE INTO x VALUES (1, 1); END",
            "CREATE TRIGGER touch AFTER UPDATE ON t BEGIN UPDATE t SET at = 1; END",
        ]
        #expect(try obstacle(schema + ["CREATE TRIGGER y AFTER DELETE ON t BEGIN \(body); END"]) == nil)
    }

    @Test func aTriggerThatChangesRowsWhichLoseAReference() throws {
        let schema = [
            Self.table,
            "CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE SET NULL, state TEXT)",
            "CREATE TRIGGER y AFTER UPDATE OF t ON c BEGIN UPDATE c SET state = 'orphan' WHERE id = new.id; END",
        ]
        #expect(try obstacle(schema)?.contains("the trigger y changes rows of c, whose references are cleared") == true)
        #expect(try obstacle(Array(schema.dropLast())) == nil)
    }

    private static let family = [
        "CREATE TABLE p (id INTEGER PRIMARY KEY)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, p INTEGER REFERENCES p, up INTEGER REFERENCES t)",
        "CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE, p TEXT REFERENCES p)",
        "INSERT INTO p VALUES (1); INSERT INTO t VALUES (1, 1, 1, 1), (2, 2, NULL, 1), (9, 99, 7, 8)",
        "INSERT INTO c VALUES (1, 1, '1'), (8, 8, '8'), (9, 9, '9')",
    ]

    @Test func rowsThatReferToNothingCouldNotBeRestored() throws {
        #expect(try obstacle(Self.family) == nil, "rows that stay do not matter")
        for (row, reason) in [
            ("INSERT INTO t VALUES (3, 3, 7, NULL)", "rows of t refer to rows of p that are not in the store"),
            ("INSERT INTO t VALUES (3, 3, NULL, 7)", "rows of t refer to rows of t that are not in the store"),
            ("INSERT INTO c VALUES (2, 2, '7')", "rows of c refer to rows of p that are not in the store"),
            ("DROP TABLE p", "refer to rows of p that are not in the store"),
        ] {
            let found = try obstacle(Self.family + [row])
            #expect(found?.contains(reason) == true, "\(row): \(found ?? "no obstacle")")
        }
    }

    @Test(arguments: ["UTF-16le", "UTF-16be"]) func textsInUTF16(_ encoding: String) throws {
        #expect(try obstacle(["PRAGMA encoding = '\(encoding)'", Self.table])?.contains("are in \(encoding)") == true)
    }

    @Test func columnsThatAnArchiveCannotTellApart() throws {
        let schema = [
            Self.table, "CREATE TABLE c (OLD_p INTEGER PRIMARY KEY, p INTEGER REFERENCES t ON DELETE SET NULL)",
        ]
        let reason = "the column OLD_p of c has a name that an archive uses for old values of references"
        #expect(try obstacle(schema) == reason)
    }

    /// A table of the archive may need more columns than that of the store.
    @Test func tablesThatWouldBeTooWide() throws {
        func columns(_ count: Int) -> String { (1...count).map { "c\($0)" }.joined(separator: ", ") }
        for (width, isRefused) in [(1998, false), (1999, true)] {
            let own = try obstacle(["CREATE TABLE t (at INTEGER, \(columns(width)))"])
            #expect((own != nil) == isRefused && own?.contains("2001 columns would be needed for rows of t") ?? true)
        }
        #expect(try obstacle(["CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, \(columns(1998)))"]) == nil)
        for (width, isRefused) in [(1997, false), (1998, true)] {
            let child = "CREATE TABLE c (t INTEGER REFERENCES t ON DELETE SET NULL, \(columns(width)))"
            let found = try obstacle([Self.table, child])
            #expect((found != nil) == isRefused && found?.contains("for old values of references of c") ?? true)
        }
        // A trigger may delete rows of any table.
        let any = [
            Self.table, "CREATE TABLE x (\(columns(2000)))",
            "CREATE TRIGGER y AFTER DELETE ON t BEGIN DELETE FROM x; END",
        ]
        #expect(try obstacle(any)?.contains("for rows of x") == true)
    }
}
