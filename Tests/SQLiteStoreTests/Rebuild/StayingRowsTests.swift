import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Where a survey says that the rows are which stay, and when a rebuild believes it.
struct StayingRowsTests {
    private let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
    private let cutoff = Instant(unixSeconds: 1000)

    /// Rows 1 to 100; the dates of rows before 91 are expired.
    private static let mostlyExpired = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, note TEXT);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
        INSERT INTO t SELECT i, i + 909, 'row ' || i FROM n;
        """
    private static let index = "CREATE INDEX by_date ON t (at);"

    private func survey(_ store: SQLiteFile) throws -> Findings {
        try store.findings(SurveyRequest(entity: "t", date: date, cutoff: cutoff))
    }

    private func request(_ strategy: Technique, _ survey: Findings) -> DeleteWork {
        var request = DeleteWork(
            fetchRequest: StoreFetchRequest(
                entity: "t", predicate: .date(DateRange(date, before: cutoff)),
                sortDescriptors: [StoreSortDescriptor("at")]),
            resultType: .count, technique: strategy)
        request.stayingRows = survey.stayingRows
        request.expectedCount = survey.expiredCount
        return request
    }

    // MARK: The survey

    @Test(arguments: ["", index]) func rowsThatStayLieBetweenTheirFirstAndLastRowID(_ index: String) throws {
        let found = try survey(TemporaryStore(Self.mostlyExpired, index).reader())
        #expect(found.expiredCount == 90)
        #expect(found.rowCount == 100)
        // What a damaged index says of them could cost fresh rows.
        #expect(found.stayingRows == (index == "" ? .rowIDs(91...100) : nil))
    }

    @Test(arguments: ["", index], [("NULL", 99), ("'soon'", 99), ("0", 99), ("-5", 99), ("9e999", 99), ("1000", 100)])
    func rowsThatCannotBeReadStay(_ index: String, _ value: (sql: String, readableCount: Int)) throws {
        let found = try survey(
            TemporaryStore(Self.mostlyExpired, index, "UPDATE t SET at = \(value.sql) WHERE id = 7").reader())
        #expect(found.expiredCount == 89)
        #expect(found.readableCount == value.readableCount)
        #expect(found.unreadableCount == 100 - value.readableCount)
        #expect(found.stayingRows == (index == "" ? .rowIDs(7...100) : nil))
    }

    /// The documented way to add a constraint to a table does not look at its rows.
    @Test func rowsWithoutADateStayThoughTheSchemaSaysThatThereAreNone() throws {
        let store = try TemporaryStore(Self.mostlyExpired, Self.index, "UPDATE t SET at = NULL WHERE id = 7")
        try store.change { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = replace(sql, 'at INTEGER', 'at INTEGER NOT NULL') WHERE name = 't';
                    """)
        }
        let found = try survey(store.reader())
        #expect(found.expiredCount == 89)
        #expect(found.stayingRows == nil)
        #expect(try store.rows("SELECT sql LIKE '%NOT NULL%' FROM sqlite_schema WHERE name = 't'") == ["1"])
    }

    @Test func groupsOfAKeyHaveTheirNewerRows() throws {
        let table = """
            CREATE TABLE t (symbol TEXT, at INTEGER, PRIMARY KEY (symbol, at)) WITHOUT ROWID;
            INSERT INTO t VALUES ('XAG', 10), ('XAG', 2000), ('XAU', 20);
            """
        #expect(try survey(TemporaryStore(table).reader()).stayingRows == .newerRows)
        let unreadable = try TemporaryStore(table, "INSERT INTO t VALUES ('XAU', 'soon')")
        #expect(try survey(unreadable.reader()).stayingRows == nil)
    }

    // MARK: The rebuild

    @Test(arguments: ["", index]) func aRebuildLooksThereOnly(_ index: String) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = WAL", Self.mostlyExpired, index)
        let writer = try store.writer()
        var request = try request(.rebuild, survey(writer))
        request.surveyed = try writer.changeMark()
        #expect(try writer.execute(request).deletedCount == 90)
        #expect(try store.rows("SELECT count(*), min(id), max(id) FROM t") == ["10|91|100"])
    }

    @Test func aRebuildThatLooksInTheWrongPlaceChangesNothing() throws {
        let store = try TemporaryStore("PRAGMA journal_mode = WAL", Self.mostlyExpired)
        let writer = try store.writer()
        var request = try request(.rebuild, survey(writer))
        request.stayingRows = .rowIDs(95...100)
        request.surveyed = try writer.changeMark()
        let error = #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(error?.kind == .defect)
        #expect(try store.rows("SELECT count(*) FROM t") == ["100"])
    }

    /// One row arrives where no row stayed, and one that was expired goes: the counts are as they were.
    @Test(arguments: [true, false]) func aRebuildLooksEverywhereOnceTheStoreHasChanged(byOthers: Bool) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = WAL", Self.mostlyExpired, Self.index)
        let writer = try store.writer()
        var request = try request(.rebuild, survey(writer))
        request.surveyed = try writer.changeMark()
        if byOthers {
            try store.change {
                try $0.execute(sql: "DELETE FROM t WHERE id = 5; INSERT INTO t VALUES (-1, 5000, 'late')")
            }
        } else {
            _ = try writer.execute(
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(entity: "t", predicate: .compare("id", .equal, .integer(5)))))
            _ = try writer.insert(
                entity: "t", values: ["id": .integer(-1), "at": .integer(5000), "note": .text("late")],
                onConflict: .fail)
        }
        #expect(try writer.execute(request).deletedCount == 89)
        #expect(try store.rows("SELECT count(*), min(id), max(id) FROM t") == ["11|-1|100"])
    }

    @Test func aRebuildOfGroupsKeepsTheNewerRowsOfEach() throws {
        let store = try TemporaryStore(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE t (symbol TEXT, at INTEGER, note TEXT, PRIMARY KEY (symbol, at)) WITHOUT ROWID;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO t SELECT s.column1, i + 909, i FROM n, (VALUES ('XAG'), ('XAU'), ('XPT')) AS s;
            """)
        let writer = try store.writer()
        var request = try request(.rebuild, survey(writer))
        #expect(request.stayingRows == .newerRows)
        request.surveyed = try writer.changeMark()
        #expect(try writer.execute(request).deletedCount == 270)
        #expect(
            try store.rows("SELECT symbol, count(*), min(at), sum(note) FROM t GROUP BY symbol")
                == ["XAG|10|1000|955", "XAU|10|1000|955", "XPT|10|1000|955"])
    }
}
