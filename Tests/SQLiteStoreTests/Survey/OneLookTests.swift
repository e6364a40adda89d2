import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Tables whose rows no date index gives: how little of them is looked at.
struct OneLookTests {
    static let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
    static let cutoff = Instant(unixSeconds: 1000)

    private func survey(_ store: SQLiteFile, _ date: DateAttribute = date) throws -> Findings {
        try store.findings(SurveyRequest(entity: "t", date: date, cutoff: Self.cutoff))
    }

    /// Deletes in batches and returns the statements that were executed, each once.
    private func delete(
        _ store: TemporaryStore, _ strategy: DeleteMethod, date: DateAttribute = date, batch: Int = 7,
        rowIDs: ClosedRange<Int64>? = nil, filter: StorePredicate = .all, groups: [StoreValue]? = nil
    ) throws -> (deleted: [Int], statements: [String]) {
        let writer = try store.writer()
        var statements: [String] = []
        writer.trace = { statement, _ in statements.append(statement) }
        var request = DeleteWork(
            fetchRequest: StoreFetchRequest(
                entity: "t", predicate: .date(DateRange(date, before: Self.cutoff)) && filter,
                sortDescriptors: [StoreSortDescriptor("at")], fetchLimit: batch), method: strategy)
        (request.rowIDs, request.groups) = (rowIDs, groups)
        let results = try writer.executeAll(request)
        return (results.map(\.deletedCount), statements)
    }

    // MARK: Groups of a key

    private static let ticks = """
        CREATE TABLE t (symbol TEXT, at INTEGER, price REAL, PRIMARY KEY (symbol, at)) WITHOUT ROWID;
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
        INSERT INTO t SELECT s.column1, 900 + 10 * i, 1 FROM n, (VALUES ('XAG'), ('XAU'), ('XPT')) AS s;
        INSERT INTO t VALUES ('XAU', 'soon', 1), ('XPD', 0, 1), ('XRH', 5000, 1);
        """

    @Test func ticksBySymbolAndDateAreCountedSymbolBySymbol() throws {
        let store = try TemporaryStore(Self.ticks)
        let reader = try store.reader()
        var statements: [String] = []
        reader.trace = { statement, _ in statements.append(statement) }
        let found = try survey(reader)
        #expect(!statements.contains { $0.contains("retention_tally") })
        #expect(found.rowCount == 93 && found.readableCount == 91 && found.expiredCount == 30)
        #expect(found.method == .keys && found.index.name == "primary key")
    }

    @Test func ticksBySymbolAndDateGoSymbolBySymbol() throws {
        let store = try TemporaryStore(Self.ticks)
        let groups = try survey(store.reader()).groups
        #expect(groups == ["XAG", "XAU", "XPD", "XPT", "XRH"].map(StoreValue.text))
        let (deleted, statements) = try delete(store, .keys, groups: groups)
        // Each batch goes on in the next symbol until it is full.
        #expect(deleted == [7, 7, 7, 7, 2])
        #expect(statements.filter { $0.hasPrefix("DELETE") }.allSatisfy { $0.contains("`symbol` = ?") })
        #expect(
            try store.rows("SELECT count(*), min(at) FROM t WHERE typeof(at) = 'integer' AND at > 0") == ["61|1000"])
        #expect(try store.rows("SELECT count(*) FROM t") == ["63"])
    }

    private static let two = StorePredicate.isIn("symbol", [.text("XPT"), .text("XAG"), .text("none")])
    private static let gold = StorePredicate.isIn("symbol", [.text("XAU"), .text("none")])

    /// All rows of a symbol match a condition on the symbol, or none.
    @Test(arguments: [
        (two, ["XAG", "XPT"], "symbol IN ('XAG', 'XPT')", [7, 7, 6]),
        (.notTrue(two), ["XAU", "XPD", "XRH"], "symbol NOT IN ('XAG', 'XPT')", [7, 3]),
        (two && .notTrue(gold), ["XAG", "XPT"], "symbol IN ('XAG', 'XPT')", [7, 7, 6]),
        (two && gold, [], "0", [0]),
        (
            two && .compare("price", .less, .integer(3)), ["XAG", "XPT"],
            "symbol IN ('XAG', 'XPT') AND price < 3", [6]
        ),
    ])
    func conditionsOnTheSymbolAreAskedOncePerSymbol(
        _ filter: StorePredicate, _ groups: [String], _ sql: String, _ batches: [Int]
    ) throws {
        let store = try TemporaryStore(Self.ticks, "UPDATE t SET price = at % 100 / 10")
        let request = SurveyRequest(entity: "t", date: Self.date, cutoff: Self.cutoff, filter: filter)
        let found = try store.reader().findings(request)
        #expect(found.groups == groups.map(StoreValue.text))
        let expired = "typeof(at) = 'integer' AND at BETWEEN 1 AND 999 AND \(sql)"
        #expect(try store.rows("SELECT count(*) FROM t WHERE \(expired)") == ["\(found.expiredCount)"])
        #expect(try store.rows("SELECT count(*) FROM t WHERE \(sql)") == ["\(found.rowCount ?? -1)"])
        #expect(found.dates.newestOfEntity == Instant(unixSeconds: 5000))
        let left = try store.rows("SELECT symbol, at FROM t WHERE NOT (\(expired)) ORDER BY 1, 2")

        let (deleted, statements) = try delete(store, .keys, filter: filter, groups: found.groups)
        #expect(deleted == batches)
        #expect(!statements.contains { $0.hasPrefix("DELETE") && $0.contains(" IN (") })
        #expect(try store.rows("SELECT symbol, at FROM t ORDER BY 1, 2") == left)
    }

    /// A number in a list for a column of text is compared as its text, and a text for a column of numbers as its number.
    @Test func aValueThatIsExcludedExcludesWhatTheColumnMakesOfIt() throws {
        func count(_ excluded: StoreValue, in type: String = "TEXT") throws -> Int {
            let store = try TemporaryStore("CREATE TABLE t (symbol \(type)); INSERT INTO t VALUES ('5'), ('g')")
            let rows =
                StorePredicate.isIn("symbol", [.text("5"), .text("g")]) && .notTrue(.isIn("symbol", [excluded]))
            return try store.reader().count(StoreFetchRequest(entity: "t", predicate: rows))
        }
        #expect(try count(.integer(5)) == 1 && count(.text("5")) == 1 && count(.text("7")) == 2)
        #expect(try count(.text("05")) == 2 && count(.text("05"), in: "INTEGER") == 1)
        #expect(try count(.text("G")) == 2 && count(.text("G"), in: "TEXT COLLATE NOCASE") == 1)
    }

    /// Rows that are named one by one are not limited to the groups.
    @Test func aBatchOfNamedRowsKeepsTheConditionOnTheSymbol() throws {
        let store = try TemporaryStore(Self.ticks)
        let writer = try store.writer()
        let request = SurveyRequest(entity: "t", date: Self.date, cutoff: Self.cutoff, filter: Self.gold)
        let deletion = try writer.deletion(of: request)
        let part = try deletion.deleteNext(DeletionBounds(rows: 100, only: .compare("at", .less, .integer(950))))
        #expect(part.result.deletedCount == 5)
        #expect(
            try store.rows("SELECT symbol, count(*) FROM t WHERE at > 0 GROUP BY 1 ORDER BY 1") == [
                "XAG|30", "XAU|26", "XPT|30", "XRH|1",
            ])
    }

    @Test(arguments: [
        ("symbol TEXT COLLATE NOCASE, at INTEGER, price REAL, PRIMARY KEY (symbol, at)", [299, 500, 200]),
        ("symbol TEXT, at INTEGER, price REAL, PRIMARY KEY (symbol, price, at)", [299, 500, 200]),
        ("symbol INTEGER, at INTEGER, price REAL, PRIMARY KEY (symbol, at)", [499, 500, 0]),
    ]) func otherKeysAreGoneThroughByWindows(_ columns: String, _ batches: [Int]) throws {
        let store = try TemporaryStore(
            """
            CREATE TABLE t (\(columns)) WITHOUT ROWID;
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1199)
            INSERT INTO t SELECT i, i, 1 FROM n;
            """)
        #expect(try survey(store.reader()).index.name == nil)
        let (deleted, statements) = try delete(store, .keys, batch: 500)
        #expect(deleted == batches)
        #expect(!statements.contains { $0.contains("`symbol` = ?") })
        #expect(try store.rows("SELECT count(*), min(at) FROM t WHERE at > 0") == ["200|1000"])
    }

    // MARK: The number of all rows

    /// 100,000 rows in the order of their dates, of which a part is expired.
    @Test(arguments: [(60_000, true), (52_000, false), (40_000, false)])
    func rowsThatStayAreCountedOnlyWhereTheChoiceDependsOnThem(expired: Int, isCounted: Bool) throws {
        let store = try TemporaryStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER NOT NULL); CREATE INDEX ix ON t (at);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            INSERT INTO t SELECT i, i FROM n;
            """)
        var request = SurveyRequest.rows(of: "t", before: Int64(expired) + 1)
        request.counts = .init(all: false, kept: false)
        #expect(try store.reader().survey(request).rowCount == (isCounted ? 100_000 : nil))
        #expect(try store.reader().survey(request).expiredCount == expired)
        request.counts.kept = true
        #expect(try store.reader().survey(request).rowCount == 100_000)
    }

    // MARK: Windows

    @Test func windowsBeginAndEndWithTheExpiredRows() throws {
        let store = try TemporaryStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO t SELECT i, CASE WHEN i BETWEEN 40 AND 60 THEN 500 + i WHEN i = 70 THEN NULL ELSE 5000 END FROM n;
            """)
        let found = try survey(store.reader())
        #expect(found.expiredRowIDs == 40...60)
        let (deleted, _) = try delete(store, .windows, batch: 10, rowIDs: found.expiredRowIDs)
        #expect(deleted == [10, 10, 1])
        #expect(try store.rows("SELECT count(*) FROM t") == ["79"])
    }

    /// 30 rows of which the first 20 are expired, surveyed by a writer; what others then do is up to the caller.
    private func deleteSurveyed(
        _ change: String, _ meanwhile: String
    ) throws -> (store: TemporaryStore, deletes: [String]) {
        let store = try TemporaryStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
            INSERT INTO t SELECT i, CASE WHEN i <= 20 THEN 500 ELSE 5000 END FROM n;
            \(change);
            """)
        let writer = try store.writer()
        var deletes: [String] = []
        writer.trace = { statement, _ in if statement.hasPrefix("DELETE") { deletes.append(statement) } }
        let request = SurveyRequest.rows(of: "t")
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 10))
        try store.change(meanwhile)
        while try deletion.deleteNext(DeletionBounds(rows: 4)).hasMore {}
        return (store, deletes)
    }

    @Test(arguments: [
        ("UPDATE t SET at = NULL WHERE id = 10", ""), ("UPDATE t SET at = 'soon' WHERE id = 10", ""),
        ("UPDATE t SET at = 5000 WHERE id = 10", ""), ("", "UPDATE t SET at = 5000 WHERE id = 18"),
        ("", "UPDATE t SET at = NULL WHERE id = 18"),
        ("", "DELETE FROM t WHERE id = 18; INSERT INTO t VALUES (18, 5000)"),
        ("CREATE INDEX t_at ON t (id, at); UPDATE t SET at = 5000 WHERE id = 18", ""),
    ]) func windowsAreJudgedInEachBatch(_ before: String, _ meanwhile: String) throws {
        let (store, deletes) = try deleteSurveyed(before, meanwhile)
        #expect(deletes.contains { $0.contains("`at`") })
        #expect(try store.rows("SELECT count(*), count(*) FILTER (WHERE at = 500) FROM t") == ["11|0"])
    }

    @Test func windowsStayInsideTheirBounds() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER)",
            "INSERT INTO t VALUES (\(Int64.min), 1), (1, 1), (2, 1), (\(Int64.max), 1)")
        _ = try delete(store, .windows, rowIDs: 1...1)
        #expect(try store.rows("SELECT id FROM t") == ["\(Int64.min)", "2", "\(Int64.max)"])
        _ = try delete(store, .windows, rowIDs: Int64.min...Int64.max)
        #expect(try store.rows("SELECT id FROM t") == [])
    }

    @Test func theTableIsGoneThroughWhateverIndexesThereAre() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, UNIQUE (at))",
            "INSERT INTO t VALUES (1, 10), (2, 20), (3, 2000)")
        let (_, statements) = try delete(store, .windows)
        let deletes = statements.filter { $0.hasPrefix("DELETE FROM main.`t`") }
        #expect(!deletes.isEmpty)
        #expect(deletes.allSatisfy { $0.contains("NOT INDEXED") }, "\(deletes)")
        #expect(try store.rows("SELECT id FROM t") == ["3"])
    }

    @Test func aRangeGoesThroughTheIndexOfItsDate() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, kind TEXT)",
            "CREATE INDEX t_at ON t (at); CREATE INDEX t_kind ON t (kind)",
            "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 2000, 'a')")
        let (_, statements) = try delete(store, .range, batch: 1, filter: .compare("kind", .equal, .text("a")))
        let deletes = statements.filter { $0.hasPrefix("DELETE FROM main.`t`") }
        #expect(!deletes.isEmpty && deletes.allSatisfy { $0.contains("INDEXED BY `t_at`") }, "\(deletes)")
        #expect(try store.rows("SELECT id FROM t") == ["3", "4"])
    }

    // MARK: Dates and what is none

    /// 0 is no date here, and what is beyond it is counted apart from the other dates.
    @Test func datesOnBothSidesOfZeroAreCounted() throws {
        let store = try TemporaryStore(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at); INSERT INTO t (at) VALUES (-100), (-50), (0), (5000)")
        let found = try survey(
            store.reader(),
            DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: -1000)))
        #expect(found.rowCount == 4 && found.readableCount == 3 && found.expiredCount == 2)
        #expect(found.dates.oldest == Instant(unixSeconds: -100) && found.dates.newest == Instant(unixSeconds: 5000))
        #expect(found.dates.newestExpired == Instant(unixSeconds: -50) && found.expiredRowIDs == 1...2)
    }

    // MARK: Text

    @Test(arguments: [
        (["1970-01-01T00:00:20Z"], true), (["1970-01-01T00:00:00.5+23:59"], false), (["1970-01-01 nonsense"], false),
        (["1970-01-01T00:09:59+00:00x", "1970-01-01T00:09:59Z"], false),
    ]) func aStretchOfTextGoesAsItStandsIfAllOfItGoes(_ added: [String], isWhole: Bool) throws {
        let store = try TemporaryStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT);
            CREATE INDEX t_at ON t (at);
            WITH RECURSIVE n (i) AS (SELECT 60 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
            INSERT INTO t SELECT i, strftime('%Y-%m-%dT%H:%M:%SZ', i, 'unixepoch') FROM n;
            """)
        for text in added {
            try store.change { try $0.execute(sql: "INSERT INTO t (at) VALUES (?)", arguments: [text]) }
        }
        let date = DateAttribute(name: "at", encoding: .iso8601, earliest: Instant(unixSeconds: 1))
        let (deleted, statements) = try delete(store, .range, date: date, batch: 900)
        let gone = added.filter { $0.hasSuffix("Z") }.count
        #expect(deleted.reduce(0, +) == 940 + gone)
        let first = try #require(statements.first { $0.hasPrefix("DELETE") })
        #expect(first.contains("retention_date") != isWhole)
        // Each row of a whole stretch was judged once, in the table.
        let earlier = statements.prefix { $0 != first }.filter { $0.contains("retention_date") }
        #expect((earlier.filter { $0.contains(" WHERE ") && !$0.contains("OFFSET") }.count == 1) == isWhole)
        #expect(try store.rows("SELECT count(*) FROM t") == ["\(101 + added.count - gone)"])
    }
}
