import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Rows of a server that became candles are restored, and the candles are what they were before.
@Suite(.needsPostgres)
struct CandleRestorationTests {
    typealias Kind = PostgresCandleTests.Kind

    /// The candles of the first four hours become candles of four hours.
    private static func long(_ kind: Kind) -> SurveyRequest {
        var request = kind.request()
        request.entity = "candle"
        request.date = DateAttribute(name: "time", encoding: kind.encoding)
        request.cutoff = at("2026-01-01").advanced(byMicroseconds: 4 * 3_600_000_000)
        let rollup = Rollup(
            target: "long_candle", buckets: CandleBuckets(.minutes(240), zone: .utc), groupedBy: ["symbol"],
            source: .candles(CandleNames()), names: CandleNames(), date: request.date)
        request.deleting.rollup = rollup
        request.filter = rollup.isPriced
        return request
    }

    /// A store with ticks, candles of an hour of half of the ticks, and a table for candles of four hours.
    private func store(_ kind: Kind, _ seed: Int = 1) throws -> ArchivedDatabase {
        let store = try ArchivedDatabase(kind.make(seed))
        let writer = try store.database.writer()
        for request in [kind.request(), Self.long(kind)] {
            let source = try #require(try writer.entity(named: request.entity))
            try writer.createCandles(try #require(request.deleting.rollup), of: source)
        }
        var first = kind.request()
        first.filter = first.filter && .compare("price", .less, .real(kind == .integers ? 500_000 : 5))
        let deletion = try writer.deletion(of: first)
        while try deletion.deleteNext(DeletionBounds(rows: 50)).hasMore {}
        return store
    }

    private func count(_ store: ArchivedDatabase) throws -> Int {
        let counts = try store.database.run(
            "SELECT (SELECT count(*) FROM tick) + (SELECT coalesce(sum(count), 0) FROM candle) "
                + "+ (SELECT coalesce(sum(count), 0) FROM long_candle)")
        return Int(counts[0]) ?? 0
    }

    /// Candles to longer ones first, then ticks to candles: late ones make candles again that have just become longer ones.
    @Test(arguments: Kind.possible, 1...2 as ClosedRange<Int>)
    func anUndoGivesTheStoreBackAndEachPartLosesNothing(_ kind: Kind, _ seed: Int) throws {
        let store = try store(kind, seed)
        #expect(try count(store) == 400)
        try store.expectUndoInParts([Self.long(kind), kind.request()], batchRows: seed * 9, rows: 40) {
            try count(store)
        }
    }

    @Test(arguments: [
        "UPDATE candle SET close = close + 1 WHERE ctid = (SELECT max(ctid) FROM candle)",
        "DELETE FROM candle WHERE ctid = (SELECT max(ctid) FROM candle)",
        "UPDATE candle SET count = count + 1 WHERE ctid = (SELECT max(ctid) FROM candle WHERE symbol IS NULL)",
    ])
    func aCandleThatWasChangedSinceIsFound(_ sql: String) throws {
        let store = try store(.byDate)
        try store.delete([Self.long(.byDate), Kind.byDate.request()], batchRows: 20)
        try store.database.run(sql)
        let tables = try store.database.reader().restorable(store.request())
        #expect(tables.map(\.changedCandleCount).reduce(0, +) == 1, "\(tables)")
        let restoration = try store.database.writer().restoration(of: store.request())
        #expect(restoration.tables.map(\.changedCandleCount).reduce(0, +) == 1)
        // The part with this candle is not restored, whoever asks.
        #expect(throws: StoreError.self) { try store.undo() }
        #expect(try count(store) != 0)
    }

    /// Which of the two the run made cannot be told.
    @Test func aCandleThatIsThereTwiceIsFound() throws {
        let store = try store(.byDate)
        try store.delete([Kind.byDate.request()], batchRows: 20)
        try store.database.run(
            script: """
                ALTER TABLE candle DROP CONSTRAINT candle_symbol_time_key;
                INSERT INTO candle SELECT * FROM candle WHERE ctid = (SELECT max(ctid) FROM candle WHERE symbol IS NULL)
                """)
        let tables = try store.database.reader().restorable(store.request())
        #expect(tables.map(\.changedCandleCount).reduce(0, +) == 1, "\(tables)")
        #expect(throws: StoreError.self) { try store.undo() }
    }

    @Test func rowsThatBecameCandlesAreNotSkipped() throws {
        let store = try store(.integers)
        try store.expectTheLastIsUndoneFirst(longer: Self.long(.integers), ticks: Kind.integers.request()) {
            try count(store)
        }
    }

    @Test func candlesToWhichAnotherRuleAddedAreFound() throws {
        let store = try store(.numeric)
        try store.expectSharedCandlesAreFound(Kind.numeric.request(), part: .compare("price", .less, .real(7.5))) {
            try count(store)
        }
    }

    /// A feed sends ticks again after the run: they are in the store, and in the candles until the undo.
    @Test(arguments: ["id = min", "id < 40", "TRUE", "id = max"])
    func ticksThatWereSentAgainDoNotCountTwice(_ again: String) throws {
        let database = try TestDatabase(
            "CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol text, price int, volume int); CREATE INDEX ON tick (at);"
                + "INSERT INTO tick SELECT n, timestamptz '2026-01-01Z' + n * interval '5 min', 'a', n, 1 FROM generate_series(1, 60) n"
        )
        let store = try ArchivedDatabase(database)
        let writer = try database.writer()
        let request = Kind.byDate.request()
        try writer.createCandles(#require(request.deleting.rollup), of: #require(try writer.entity(named: "tick")))
        let before = try store.contents()
        try database.run("CREATE TABLE feed AS SELECT *, min(id) OVER (), max(id) OVER () FROM tick")
        try store.delete([request], batchRows: 5)
        try database.run("INSERT INTO tick SELECT id, at, symbol, price, volume FROM feed WHERE \(again)")
        let dry = try database.reader().restorable(store.request())
        let done = try store.undo().total
        #expect(try store.contents(without: ["feed"]) == before)
        #expect(dry.reduce(0) { $0 + $1.deletedCandleCount } == 6 && done.deletedCandleCount == 6)
        #expect(
            done.restoredCount + done.presentCount == 60
                && dry.reduce(0) { $0 + $1.restorableCount } == done.restoredCount)
        #expect(try store.undo().total.deletedCandleCount == 0)
        #expect(try store.contents(without: ["feed"]) == before)
    }

    /// Without the candles, the rows would count twice.
    @Test(arguments: [
        ("DELETE FROM \"kept \"\"rows\"\"\".retention_parts WHERE table_number = 1", 1),
        ("DELETE FROM \"kept \"\"rows\"\"\".retention_parts WHERE part = 1", 0),
        ("DELETE FROM \"kept \"\"rows\"\"\".\"01KAAAAAAAAAAAAAAAAAAAAAAA.1\"", 1),
    ])
    func anArchiveThatLacksCandlesIsNotRestored(_ change: String, lacking table: Int) throws {
        let store = try store(.byDate)
        try store.delete([Kind.byDate.request()], batchRows: 50)
        let after = try store.contents()
        try store.database.run(change)
        let run = "01KAAAAAAAAAAAAAAAAAAAAAAA"
        let message =
            "the archive of run \(run) is damaged: the table \"kept \"\"rows\"\"\".\"\(run).\(table)\" does not have the rows "
            + "that the run copied"
        #expect(storeError { _ = try store.database.reader().restorable(store.request()) }?.message == message)
        #expect(storeError { try store.undo() }?.message == message)
        #expect(try store.contents() == after)
    }

    @Test(arguments: [
        (
            "CREATE TABLE note (s text, t timestamptz, FOREIGN KEY (s, t) REFERENCES candle (symbol, time))",
            "rows of note refer to candles of candle"
        ),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
                + "CREATE TRIGGER wrong AFTER DELETE ON candle FOR EACH ROW EXECUTE FUNCTION f()",
            "the trigger wrong of candle changes"
        ),
        ("CREATE RULE wrong AS ON DELETE TO candle DO INSTEAD NOTHING", "the rule wrong of candle changes"),
    ])
    func candlesThatCouldNotBeTakenBackAreAnObstacle(_ sql: String, _ message: String) throws {
        let store = try store(.byDate)
        var request = Kind.byDate.request()
        request.deleting.archiveRule = "r0"
        #expect(try store.database.reader().archiveObstacle(of: request) == nil)
        try store.delete([request])
        try store.database.run(script: sql)
        #expect(try store.database.reader().archiveObstacle(of: request)?.contains(message) == true)
        #expect(throws: StoreError.self) { try store.database.reader().restorable(store.request()) }
    }
}
