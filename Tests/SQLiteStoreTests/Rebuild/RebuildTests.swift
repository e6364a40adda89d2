import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a rebuild leaves is what a delete leaves, and nothing else in the store is touched.
struct RebuildTests {
    /// A store with everything that a file can have: an odd page size, hidden rowids, generated columns, sequences,
    /// statistics, a view, triggers, full text, numbers in the header.
    private func oddStore(_ journal: String = "WAL") throws -> TemporaryStore {
        let store = try TemporaryStore(inMemory: true)
        try store.change { db in
            try db.execute(
                sql: """
                    PRAGMA page_size = 1024; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA encoding = 'UTF-16le';
                    PRAGMA application_id = 4711; PRAGMA user_version = 42; PRAGMA journal_mode = \(journal);
                    CREATE TABLE Price (symbol TEXT COLLATE NOCASE, at INTEGER, price REAL,
                        doubled AS (price * 2) VIRTUAL, kept AS (at + 1) STORED, UNIQUE (symbol, at));
                    CREATE INDEX Price_at ON Price (at);
                    CREATE INDEX "odd "" index" ON Price (price DESC) WHERE price > 10;
                    CREATE TABLE "a "" b" ("rowid" TEXT, x BLOB UNIQUE);
                    CREATE TABLE key (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
                    CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, x);
                    CREATE VIEW recent AS SELECT * FROM Price WHERE at > 500;
                    CREATE TRIGGER on_insert AFTER INSERT ON Price BEGIN INSERT INTO counted (x) VALUES (new.at); END;
                    CREATE VIRTUAL TABLE words USING fts5 (body);
                    """)
            try db.execute(sql: "BEGIN")
            for number in 0..<1000 {
                try db.execute(
                    sql: "INSERT INTO Price (rowid, symbol, at, price) VALUES (?, ?, ?, ?)",
                    arguments: [
                        number * 3 + 7, number.isMultiple(of: 2) ? "XAU" : "eur", number + 1, Double(number) / 8,
                    ])
            }
            try db.execute(sql: "COMMIT")
            try db.execute(
                sql: """
                    INSERT INTO Price (symbol, at, price) VALUES ('NULL', NULL, 1), ('text', 'soon', 2);
                    INSERT INTO "a "" b" VALUES ('one', x'00ff'), ('two', 2), (NULL, 3.5);
                    DELETE FROM "a "" b" WHERE x = 2;
                    INSERT INTO key VALUES ('a', 1), ('b', 2);
                    INSERT INTO words VALUES ('gold price'), ('silver');
                    DELETE FROM counted WHERE id > 900;
                    ANALYZE;
                    """)
        }
        return store
    }

    private func request(_ strategy: DeleteMethod, before: Int64 = 801) -> DeleteWork {
        let expired = SurveyRequest.rows(of: "Price", before: before).expired
        return DeleteWork(
            fetchRequest: StoreFetchRequest(entity: "Price", predicate: expired), resultType: .count, method: strategy)
    }

    /// All that a store holds, with rowids where they can be named; without what a file need not keep alike.
    private func content(_ store: TemporaryStore) throws -> [String] {
        let queries = [
            "SELECT rowid, *, typeof(at) FROM Price ORDER BY rowid", "SELECT _rowid_, * FROM \"a \"\" b\"",
            "SELECT * FROM key",
            "SELECT * FROM counted", "SELECT * FROM recent ORDER BY at", "SELECT * FROM sqlite_sequence",
            "SELECT * FROM sqlite_stat1 ORDER BY 1, 2, 3", "SELECT rowid, * FROM words WHERE words MATCH 'gold'",
            "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2", "PRAGMA page_size",
            "PRAGMA auto_vacuum", "PRAGMA encoding", "PRAGMA application_id", "PRAGMA user_version",
            "PRAGMA journal_mode", "PRAGMA integrity_check", "PRAGMA foreign_key_check",
        ]
        return try queries.flatMap { query in [query] + (try store.rows(query)) }
    }

    @Test(arguments: [DeleteMethod.rebuild, .windows, .whole])
    func leavesWhatTheRangeDeleteLeaves(_ strategy: DeleteMethod) throws {
        let (plain, other) = (try oddStore(), try oddStore())
        #expect(try plain.writer().execute(request(.range)).deletedCount == 800)
        let result = try other.writer().execute(request(strategy))
        #expect(result.deletedCount == 800)
        #expect(try content(other) == content(plain))
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.folder.path) == ["store.sqlite"])
    }

    @Test func aRebuildShrinksTheFile() throws {
        let store = try oddStore()
        let before = try store.bytes().count
        do {
            let writer = try store.writer()
            _ = try writer.execute(request(.rebuild, before: 991))
            // The connection goes on working.
            #expect(try writer.execute(request(.range, before: 996)).deletedCount == 5)
        }
        #expect(try store.bytes().count < before * 3 / 4)
    }

    @Test func deletesNoMoreRowsThanTheLimit() throws {
        let store = try oddStore()
        let before = try content(store)
        var request = request(.rebuild)
        request.fetchRequest.fetchLimit = 799
        let error = #expect(throws: StoreError.self) { try store.writer().execute(request) }
        #expect(error?.kind == .busy)
        #expect(try content(store) == before)
    }

    /// The documented way to add a constraint to a table does not look at its rows.
    @Test(
        arguments: [
            ("price REAL", ""), ("price REAL", "ON CONFLICT IGNORE"), ("x BLOB", "ON CONFLICT IGNORE"),
            ("x BLOB", "ON CONFLICT REPLACE DEFAULT 7"),
        ])
    func isGivenUpWhereARowBreaksItsConstraint(_ place: (column: String, words: String)) throws {
        let store = try oddStore()
        try store.change { db in
            try db.execute(
                sql: """
                    UPDATE Price SET price = NULL WHERE at = 900; INSERT INTO "a "" b" VALUES ('none', NULL);
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = replace(sql, '\(place.column)', '\(place.column) NOT NULL \(place.words)');
                    """)
        }
        let before = try content(store)
        let error = #expect(throws: StoreError.self) { try store.writer().execute(request(.rebuild)) }
        #expect(error?.kind == .constraint)
        #expect(error?.message.contains("NOT NULL constraint failed") == true)
        #expect(try content(store) == before)
        #expect(try store.writer().execute(request(.range)).deletedCount == 800)
    }

    @Test func isRefusedWhereADeleteWouldDoMoreThanLeaveRowsOut() throws {
        let schemas = [
            "CREATE TRIGGER gone AFTER DELETE ON Price BEGIN SELECT 1; END": "its trigger gone would not fire",
            "CREATE TABLE note (symbol, at, FOREIGN KEY (symbol, at) REFERENCES Price (symbol, at))":
                "note refers to its rows",
        ]
        for (statement, reason) in schemas {
            let store = try oddStore()
            try store.change(statement)
            let error = #expect(throws: StoreError.self) { try store.writer().execute(request(.rebuild)) }
            #expect(error?.kind == .unsupported)
            #expect(error?.message.contains(reason) == true)
        }
        let store = try oddStore()
        let writer = try store.writer()
        try writer.keepHistory()
        let error = #expect(throws: StoreError.self) { try writer.execute(request(.rebuild)) }
        #expect(error?.message.contains("keeps a history") == true)
    }

    @Test func aCopyBackNeedsTheWAL() throws {
        let store = try oddStore("DELETE")
        let error = #expect(throws: StoreError.self) { try store.writer().execute(request(.rebuild)) }
        #expect(error?.message.contains("not in WAL mode") == true)
        let survey = try store.reader().findings(.rows(of: "Price", before: 801))
        #expect(!survey.possibleMethods.contains(.rebuild))
        #expect(
            survey.methodObstacles[.rebuild]
                == "the store is not in WAL mode, so its rows could not be read meanwhile")
    }

    @Test func otherConnectionsReadOnAndSeeTheNewContent() throws {
        let store = try oddStore()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: store.path, configuration: configuration)
        try other.inDatabase { db in
            try db.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM Price") == 1002)
            #expect(try store.writer().execute(request(.rebuild)).deletedCount == 800)
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM Price") == 1002)
            try db.execute(sql: "COMMIT")
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM Price") == 202)
            try db.execute(sql: "INSERT INTO Price (symbol, at) VALUES ('new', 5000)")
        }
        #expect(try store.rows("SELECT count(*) FROM Price") == ["203"])
    }
}
