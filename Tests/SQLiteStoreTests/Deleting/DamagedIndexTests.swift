import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// An index that disagrees with its table never has a row deleted that the table takes for fresh.
struct DamagedIndexTests {
    private static let cutoff = Instant(unixSeconds: 1_000)

    /// 200 rows, of which the index says that 120 are expired. By the table it is 60: the others were made fresh while
    /// the index was out of the schema.
    private func store(_ columns: String, _ index: String, value: String, fresh: String) throws -> TemporaryStore {
        let store = try TemporaryStore(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE t (\(columns));
            CREATE INDEX t_at ON t (\(index));
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO t (id, kind, at) SELECT i, 'a', \(value) FROM n;
            """)
        try damage(store, "UPDATE t SET at = \(fresh) WHERE id BETWEEN 61 AND 120")
        return store
    }

    /// Changes rows behind the back of the index `t_at`.
    private func damage(_ store: TemporaryStore, _ change: String) throws {
        let entry = "type, name, tbl_name, rootpage, sql"
        try store.change(
            """
            CREATE TABLE saved AS SELECT \(entry) FROM sqlite_schema WHERE name = 't_at';
            PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 't_at';
            """)
        try store.change(change)
        try store.change("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema (\(entry)) SELECT * FROM saved;")
        try store.change("DROP TABLE saved")
        #expect(try store.rows("PRAGMA integrity_check") != ["ok"])
    }

    private func request(_ encoding: DateEncoding = .unixSeconds, filter: StorePredicate = .all) -> SurveyRequest {
        SurveyRequest(
            entity: "t", date: DateAttribute(name: "at", encoding: encoding, earliest: Instant(unixSeconds: 1)),
            cutoff: Self.cutoff, filter: filter)
    }

    private static let fresh = "SELECT count(*) FROM t NOT INDEXED WHERE +at >= 1000 AND +kind <> ''"

    @Test(arguments: [
        (DeleteMethod.range, true), (.whole, true), (.windows, false), (.rebuild, false),
    ]) func noMethodDeletesARowThatIsFreshInTheTable(_ method: DeleteMethod, _ readsIndex: Bool) throws {
        let store = try store(
            "id INTEGER PRIMARY KEY, kind TEXT, at INTEGER", "at",
            value: "CASE WHEN i <= 120 THEN i ELSE 5000 + i END", fresh: "9000")
        let survey = try store.reader().findings(request())
        #expect(survey.expiredCount == 120)
        var delete = DeleteWork(
            fetchRequest: StoreFetchRequest(
                entity: "t", predicate: request().expired, sortDescriptors: [StoreSortDescriptor("at")],
                fetchLimit: method.isInBatches ? 50 : nil),
            resultType: .count, method: method)
        delete.rowIDs = method == .windows ? survey.expiredRowIDs : nil
        let writer = try store.writer()
        var error: StoreError?
        do throws(StoreError) {
            try writer.executeAll(delete)
        } catch let caught {
            error = caught
        }
        #expect(try store.rows(Self.fresh) == ["140"])
        #expect((error != nil) == readsIndex, "\(String(describing: error))")
        if let error {
            #expect(error.kind == .inputOutput && error.hint == "run REINDEX on the store, then try again", "\(error)")
        } else {
            #expect(try store.rows("SELECT count(*) FROM t NOT INDEXED") == ["140"])
        }
    }

    /// The query that copies rows to an archive finds it, too.
    @Test(arguments: [DeleteMethod.range, .whole]) func norDoesADeleteWithAnArchive(_ strategy: DeleteMethod) throws {
        let store = try store(
            "id INTEGER PRIMARY KEY, kind TEXT, at INTEGER", "at",
            value: "CASE WHEN i <= 120 THEN i ELSE 5000 + i END", fresh: "9000")
        var asked = request()
        asked.deleting.method = strategy.rawValue
        let error = #expect(throws: StoreError.self) { try ArchivedStore(store).delete([asked], batchRows: 50) }
        #expect(error?.hint == "run REINDEX on the store, then try again", "\(String(describing: error))")
        #expect(try store.rows(Self.fresh) == ["140"])
    }

    /// All rows go by the index: no short way may believe it.
    @Test(arguments: [DeleteMethod.whole, .rebuild]) func notEvenWhereTheIndexSaysThatAllRowsGo(
        _ strategy: DeleteMethod
    ) throws {
        let store = try store(
            "id INTEGER PRIMARY KEY, kind TEXT, at INTEGER", "at", value: "i", fresh: "9000")
        let delete = DeleteWork(
            fetchRequest: StoreFetchRequest(entity: "t", predicate: request().expired), resultType: .count,
            method: strategy)
        let survey = try store.reader().findings(request())
        #expect(survey.expiredCount == 200)
        _ = try? store.writer().execute(delete)
        #expect(try store.rows(Self.fresh) == ["60"])
    }

    @Test(arguments: [DeleteMethod.range, .whole]) func datesInTextAreReadInTheTable(
        _ strategy: DeleteMethod
    ) throws {
        let store = try store(
            "id INTEGER PRIMARY KEY, kind TEXT, at TEXT", "at",
            value:
                "CASE WHEN i <= 120 THEN strftime('%Y-%m-%dT%H:%M:%SZ', i, 'unixepoch') ELSE '2031-01-01T00:00:00Z' END",
            fresh: "'2030-01-01T00:00:00Z'")
        let asked = request(.iso8601)
        let error = #expect(throws: StoreError.self) {
            try store.writer().deleteAll(asked, method: strategy, batchRows: 50)
        }
        #expect(error?.kind == .inputOutput)
        #expect(try store.rows("SELECT count(*) FROM t NOT INDEXED WHERE +at > '2029'") == ["140"])
    }

    /// What else a rule asks of a row is read there, too.
    @Test func theFilterIsAskedOfTheTable() throws {
        let store = try store(
            "id INTEGER PRIMARY KEY, kind TEXT, at INTEGER", "kind, at",
            value: "CASE WHEN i <= 120 THEN i ELSE 5000 + i END", fresh: "at, kind = 'b'")
        let asked = request(filter: .compare("kind", .equal, .text("a")))
        for strategy in [DeleteMethod.range, .whole] {
            #expect(throws: StoreError.self) {
                try store.writer().deleteAll(asked, method: strategy, batchRows: 50)
            }
        }
        #expect(try store.rows("SELECT count(*) FROM t NOT INDEXED WHERE +kind = 'b'") == ["60"])
    }

    /// Without a rowid SQLite may take an index also where none is asked for.
    @Test(arguments: [DeleteMethod.range, .whole, .keys]) func tablesWithoutARowIDAreNoException(
        _ strategy: DeleteMethod
    ) throws {
        let store = try store(
            "id INTEGER, kind TEXT, at INTEGER, PRIMARY KEY (id)) WITHOUT ROWID; --",
            "at", value: "CASE WHEN i <= 120 THEN i ELSE 5000 + i END", fresh: "9000")
        _ = try? store.writer().deleteAll(request(), method: strategy, batchRows: 50)
        #expect(try store.rows(Self.fresh) == ["140"])
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.cascade, .nullify, .deny]) func rowsThatAreChosenFirstAreRead(
        _ rule: BatchDeleteRequest.RelationshipRule
    ) throws {
        let store = try store(
            "id INTEGER PRIMARY KEY, kind TEXT, at INTEGER", "at",
            value: "CASE WHEN i <= 120 THEN i ELSE 5000 + i END", fresh: "9000")
        var delete = DeleteWork(
            fetchRequest: StoreFetchRequest(entity: "t", predicate: request().expired), resultType: .objectIDs,
            relationships: rule)
        delete.method = .whole
        #expect(throws: StoreError.self) { try store.writer().execute(delete) }
        #expect(try store.rows(Self.fresh) == ["140"])
    }
}
