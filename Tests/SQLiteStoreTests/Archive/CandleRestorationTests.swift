import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Rows that became candles are restored, and the candles are what they were before.
struct CandleRestorationTests {
    typealias Kind = CandleDeleteTests.Kind

    private static func days(_ kind: Kind) -> SurveyRequest {
        var request = kind.request(before: 1_767_225_600 + 86_400)
        request.entity = "candle"
        request.date = DateAttribute(name: "time", encoding: kind.encoding)
        let rollup = Rollup(
            target: "day", buckets: CandleBuckets(.unit(.day), zone: .utc), groupedBy: ["symbol"],
            source: .candles(CandleNames()), names: CandleNames(), date: request.date)
        request.deleting.rollup = rollup
        request.filter = rollup.isPriced
        return request
    }

    /// A store with ticks, candles of an hour of half of the ticks, and a table for candles of a day.
    private func store(_ kind: Kind, _ seed: UInt64) throws -> ArchivedStore {
        let store = try ArchivedStore(kind.make(seed))
        let writer = try store.store.writer()
        for request in [kind.request(), Self.days(kind)] { try writer.createCandles(of: request) }
        var first = kind.request()
        first.filter = first.filter && .compare("price", .less, .real(50))
        let deletion = try writer.deletion(of: first)
        while try deletion.deleteNext(DeletionBounds(rows: 50)).hasMore {}
        return store
    }

    private func count(_ store: ArchivedStore, _ kind: Kind) throws -> Int {
        let table = kind == .coreData ? "ZTICK" : "tick"
        let counts = try store.store.rows(
            "SELECT count(*) + (SELECT total(count) FROM candle) + (SELECT total(count) FROM day) FROM \(table)")
        return Int(Double(counts[0]) ?? 0)
    }

    /// Candles to days first, then ticks to candles: late ones make candles again that have just become days.
    @Test(arguments: Kind.allCases, Trials.cases(Array(1...4)))
    func anUndoGivesTheStoreBackAndEachPartLosesNothing(_ kind: Kind, _ seed: UInt64) throws {
        let store = try store(kind, seed)
        #expect(try count(store, kind) == 400)
        try store.expectUndoInParts([Self.days(kind), kind.request()], batchRows: Int(seed) * 9, rows: 10) {
            try count(store, kind)
        }
    }

    @Test(arguments: [
        "UPDATE candle SET close = close + 1 WHERE rowid = (SELECT max(rowid) FROM candle)",
        "DELETE FROM candle WHERE rowid = (SELECT max(rowid) FROM candle)",
        "UPDATE candle SET volume = CAST(volume AS TEXT) || 'x' WHERE rowid = (SELECT max(rowid) FROM candle)",
        "UPDATE candle SET count = count + 1 WHERE rowid = (SELECT min(rowid) FROM candle WHERE symbol IS NULL)",
        "INSERT INTO candle SELECT * FROM candle WHERE rowid = (SELECT max(rowid) FROM candle WHERE symbol IS NULL)",
    ])
    func aCandleThatWasChangedSinceIsFound(_ sql: String) throws {
        let store = try store(.byDate, 7)
        try store.delete([Self.days(.byDate), Kind.byDate.request()], batchRows: 20)
        try store.store.change(sql)
        let tables = try store.store.reader().restorable(store.request())
        #expect(tables.map(\.changedCandleCount).reduce(0, +) == 1, "\(tables)")
        #expect(
            try store.store.writer().restoration(of: store.request()).tables.map(\.changedCandleCount).reduce(0, +) == 1
        )
        // The part with this candle is not restored, whoever asks.
        #expect(throws: StoreError.self) { try store.undo() }
    }

    @Test func rowsThatBecameCandlesAreNotSkipped() throws {
        let store = try store(.byDate, 3)
        try store.expectTheLastIsUndoneFirst(longer: Self.days(.byDate), ticks: Kind.byDate.request()) {
            try count(store, .byDate)
        }
    }

    /// The ticks became candles that a later run has made days of.
    @Test func candlesThatWereDeletedSinceAreNotWhatTheyWereBefore() throws {
        let store = try ArchivedStore(Kind.byDate.make(5))
        let writer = try store.store.writer()
        for request in [Kind.byDate.request(), Self.days(.byDate)] { try writer.createCandles(of: request) }
        try store.delete([Kind.byDate.request()], batchRows: 30)
        let deletion = try writer.deletion(of: Self.days(.byDate))
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        let tables = try store.store.reader().restorable(store.request())
        #expect(tables.map(\.changedCandleCount).reduce(0, +) > 10, "\(tables)")
        #expect(throws: StoreError.self) { try store.undo() }
        #expect(try count(store, .byDate) == 400)
    }

    @Test func rowsWhoseKeysAreInUseAreNotLeftInCandles() throws {
        let store = try store(.byDate, 11)
        let key = try store.store.rows("SELECT max(id) FROM tick")[0]
        try store.delete([Kind.byDate.request()], batchRows: 500)
        let after = try store.contents()
        try store.store.change("INSERT INTO tick (id, at) VALUES (\(key), 4000000000)")
        let tables = try store.store.reader().restorable(store.request())
        #expect(tables.map(\.blockedCount).reduce(0, +) == 1, "\(tables)")
        #expect(throws: StoreError.self) { try store.undo() }
        #expect(try store.contents()["candle"] == after["candle"])
    }

    /// A feed sends ticks again after the run: they are in the store, and in the candles until the undo.
    @Test(arguments: ["id = (SELECT min(id) FROM feed)", "id % 2", "TRUE", "id = (SELECT max(id) FROM feed)"])
    func ticksThatWereSentAgainDoNotCountTwice(_ again: String) throws {
        let store = try store(.byDate, 6)
        try store.store.change("CREATE TABLE feed AS SELECT * FROM tick")
        let before = try store.contents()
        try store.delete([Self.days(.byDate), Kind.byDate.request()], batchRows: 9)
        try store.store.change("INSERT INTO tick SELECT * FROM feed WHERE \(again)")
        let dry = try store.store.reader().restorable(store.request())
        let done = try store.undo().total
        #expect(try store.contents() == before)
        #expect(dry.reduce(0) { $0 + $1.deletedCandleCount } == done.deletedCandleCount && done.deletedCandleCount > 5)
        #expect(dry.reduce(0) { $0 + $1.restorableCount } == done.restoredCount && done.presentCount > 0)
        #expect(try store.undo().total.deletedCandleCount == 0)
        #expect(try store.contents() == before)
    }

    @Test func candlesToWhichAnotherRuleAddedAreFound() throws {
        let store = try store(.byDate, 4)
        try store.expectSharedCandlesAreFound(Kind.byDate.request(), part: .compare("price", .less, .real(75))) {
            try count(store, .byDate)
        }
    }

    @Test(arguments: [
        (
            "CREATE TABLE note (s, t, FOREIGN KEY (s, t) REFERENCES candle (symbol, time))",
            "rows of note refer to candles of candle"
        ),
        (
            "CREATE TABLE note (n); CREATE TRIGGER wrong AFTER DELETE ON candle BEGIN DELETE FROM note; END",
            "a trigger deletes rows of note"
        ),
        (
            "CREATE TABLE note (n); CREATE TRIGGER wrong AFTER INSERT ON candle BEGIN DELETE FROM note; END",
            "a trigger deletes rows of note"
        ),
    ])
    func candlesThatCouldNotBeTakenBackAreAnObstacle(_ sql: String, _ message: String) throws {
        let store = try store(.byDate, 2)
        var request = Kind.byDate.request()
        request.deleting.archiveRule = "r0"
        #expect(try store.store.reader().archiveObstacle(of: request) == nil)
        try store.delete([request])
        try store.store.change(sql)
        #expect(try store.store.reader().archiveObstacle(of: request)?.contains(message) == true)
        #expect(throws: StoreError.self) { try store.store.reader().restorable(store.request()) }
    }
}
