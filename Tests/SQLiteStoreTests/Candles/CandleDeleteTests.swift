import GRDB
import PriceStore
import Testing
import TestSupport

@testable import CoreDataSamples
@testable import SQLiteStore

/// Rows that become candles when they are deleted, in each kind of file.
struct CandleDeleteTests {
    /// A kind of store with random ticks of two days, many of them at one time.
    enum Kind: CaseIterable {
        case withoutIndex, byDate, byTextDate, withoutRowID, coreData

        var entity: String { self == .coreData ? "Tick" : "tick" }
        var encoding: DateEncoding {
            switch self {
            case .coreData: .appleSeconds
            case .byTextDate: .iso8601
            default: .unixSeconds
            }
        }

        func make(_ seed: UInt64, count: Int = 400) throws -> TemporaryStore {
            var random = SeededRandom(seed)
            var second: Int64 = 1_767_225_600
            var numbers = Array(1...count)
            numbers.shuffle(using: &random)
            let ticks = numbers.map { number -> [DatabaseValue] in
                if Int.random(in: 0...2, using: &random) > 0 { second += .random(in: 0...900, using: &random) }
                let date = encoding.value(of: Instant(unixSeconds: second)).databaseValue
                let symbol = ["a", "b", nil].randomElement(using: &random) ?? nil
                let price = Double.random(in: 1...100, using: &random)
                return [number.databaseValue, date, symbol.databaseValue, price.databaseValue]
            }
            guard self != .coreData else {
                let tick = ModelDescription.Entity(
                    name: "Tick",
                    attributes: [
                        .init(name: "at", kind: .date), .init(name: "symbol", kind: .string),
                        .init(name: "price", kind: .double),
                    ])
                return try CoreDataStoreTests.store(of: [tick], inMemory: true) { db, layout in
                    for tick in ticks {
                        try db.execute(
                            sql:
                                "INSERT INTO ZTICK (Z_PK, Z_ENT, Z_OPT, ZAT, ZSYMBOL, ZPRICE) VALUES (?, ?, 1, ?, ?, ?)",
                            arguments: [tick[0], layout.numbers["Tick"], tick[1], tick[2], tick[3]])
                    }
                }
            }
            let store = try TemporaryStore(inMemory: true)
            try store.change { db in
                let key =
                    self == .withoutRowID ? "id INTEGER, PRIMARY KEY (id)) WITHOUT ROWID" : "id INTEGER PRIMARY KEY)"
                let date = self == .byTextDate ? "at TEXT" : "at INTEGER"
                try db.execute(sql: "CREATE TABLE tick (\(date), symbol TEXT, price REAL, \(key)")
                if self == .byDate || self == .byTextDate { try db.execute(sql: "CREATE INDEX tick_at ON tick (at)") }
                for tick in ticks {
                    try db.execute(
                        sql: "INSERT INTO tick (id, at, symbol, price) VALUES (?, ?, ?, ?)",
                        arguments: StatementArguments(tick))
                }
            }
            return store
        }

        func request(before cutoff: Int64 = 2_000_000_000) -> SurveyRequest {
            let date = DateAttribute(name: "at", encoding: encoding)
            let rollup = Rollup(
                target: "candle", buckets: CandleBuckets(.minutes(60), zone: .utc), groupedBy: ["symbol"],
                source: .prices("price", volume: "price"), names: CandleNames(), date: date)
            var request = SurveyRequest(
                entity: entity, date: date, cutoff: Instant(unixSeconds: cutoff), filter: rollup.isPriced)
            request.deleting.rollup = rollup
            return request
        }
    }

    private static let candles = """
        SELECT quote(symbol), quote(time), quote(open), quote(high), quote(low), quote(close), quote(volume), count,
        quote(open_time), quote(close_time), quote(price_volume) FROM candle ORDER BY time, symbol
        """

    /// Deletes in batches, and returns what each has deleted.
    @discardableResult
    private func delete(
        _ request: SurveyRequest, from store: TemporaryStore, rows: Int?
    ) throws -> (counts: [Int], tally: CandleTally) {
        let writer = try store.writer()
        if let rollup = request.deleting.rollup, try writer.entity(named: rollup.target) == nil {
            try writer.createCandles(of: request)
        }
        let deletion = try writer.deletion(of: request)
        var (counts, tally) = ([Int](), CandleTally())
        while true {
            let part = try deletion.deleteNext(DeletionBounds(rows: rows))
            counts.append(part.result.deletedCount)
            tally = part.result.candles
            guard part.hasMore else { return (counts, tally) }
        }
    }

    @Test(arguments: Kind.allCases, 1...5 as ClosedRange<UInt64>)
    func whereBatchesEndDoesNotMatter(_ kind: Kind, _ seed: UInt64) throws {
        let (whole, parts) = (try kind.make(seed), try kind.make(seed))
        let tally = try whole.reader().candles(of: [kind.request()])[0]
        let once = try delete(kind.request(), from: whole, rows: 100_000)
        let often = try delete(kind.request(), from: parts, rows: 7)
        #expect(once.counts.reduce(0, +) == 400 && often.counts.reduce(0, +) == 400 && often.counts.count > 20)
        let candles = try whole.rows(Self.candles)
        #expect(try parts.rows(Self.candles) == candles && candles.count > 20)
        for found in [tally, once.tally, often.tally] {
            #expect(found.created == candles.count && found.changed == 0)
        }
        #expect(try whole.rows("SELECT sum(count) FROM candle") == ["400"])
    }

    /// Half of the rows first: the others are late, and most of their candles are there.
    @Test(arguments: Kind.allCases) func lateRowsAreCountedAsChanges(_ kind: Kind) throws {
        let store = try kind.make(9)
        var first = kind.request()
        first.filter = first.filter && .compare("price", .less, .real(50))
        try delete(first, from: store, rows: 7)
        let before = try Int(store.rows("SELECT count(*) FROM candle")[0]) ?? 0
        let tally = try store.reader().candles(of: [kind.request()])[0]
        let found = try delete(kind.request(), from: store, rows: 7)
        let after = try Int(store.rows("SELECT count(*) FROM candle")[0]) ?? 0
        #expect(found.tally.created == after - before && found.tally.changed > 10)
        #expect(tally.created == found.tally.created && tally.changed == found.tally.changed)
        #expect(try store.rows("SELECT sum(count) FROM candle") == ["400"])
    }

    /// Ticks without a symbol at these seconds, with the prices 1, 2, ….
    private func ticks(_ kind: Kind, at seconds: [Int]) throws -> TemporaryStore {
        let rows = seconds.enumerated().map { "(\(1_767_225_600 + $1), \($0 + 1))" }
        return try TemporaryStore(
            "CREATE TABLE tick (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT, price REAL)",
            kind == .byDate ? "CREATE INDEX tick_at ON tick (at)" : "",
            "INSERT INTO tick (at, price) VALUES \(rows.joined(separator: ", "))")
    }

    private static let plain = [Kind.byDate, .withoutIndex]

    @Test(arguments: plain) func rowsOfOneDateGoTogether(_ kind: Kind) throws {
        let store = try ticks(kind, at: [0, 1, 1, 1, 2])
        #expect(try delete(kind.request(), from: store, rows: 2).counts.filter { $0 > 0 } == [1, 3, 1])
        #expect(try store.rows("SELECT open, close, count FROM candle") == ["1.0|5.0|5"])
    }

    @Test(arguments: plain) func rowsOfOneDateAreNoMoreThanALimitAllows(_ kind: Kind) throws {
        let store = try ticks(kind, at: [0, 1, 1, 1])
        var request = kind.request()
        request.deleting.maxRows = 3
        #expect(try delete(request, from: store, rows: 2).counts == [1, 0])
        request.deleting.maxRows = 4
        #expect(try delete(request, from: store, rows: 2).counts.reduce(0, +) == 3)
    }

    /// Rows that arrive between the plan and the first batch are among those that a delete finds.
    @Test(arguments: plain) func noMoreRowsBecomeCandlesThanThePlanCounted(_ kind: Kind) throws {
        let store = try ticks(kind, at: [0, 1, 2])
        let writer = try store.writer()
        let request = kind.request()
        try writer.createCandles(of: request)
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 3)
        try store.change("INSERT INTO tick (at, price) VALUES (1767225590, 4), (1767225591, 5)")
        let deletion = try writer.deletion(of: request, after: survey)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 1000)).result.deletedCount == 3)
        #expect(try store.rows("SELECT price FROM tick ORDER BY id") == ["2.0", "3.0"])
    }

    /// A method that somebody asks for makes candles too, or is refused.
    @Test(arguments: DeleteMethod.allCases) func noMethodDeletesWithoutCandles(_ method: DeleteMethod) throws {
        let store = try Kind.withoutIndex.make(3)
        var request = Kind.withoutIndex.request()
        request.deleting.method = method.rawValue
        let isPossible = method == .whole || method == .dates
        do {
            try delete(request, from: store, rows: method == .whole ? nil : 50)
            let counts = try store.rows("SELECT sum(count) FROM candle")
            #expect(isPossible && counts == ["400"])
        } catch let error as StoreError {
            #expect(!isPossible && error.kind == .unknownName, "\(error)")
            #expect(try store.rows("SELECT count(*) FROM tick") == ["400"])
        }
        var work = DeleteWork(BatchDeleteRequest(Kind.withoutIndex.request(), resultType: .count))
        (work.method, work.rollup) = (method, request.deleting.rollup)
        _ = try? store.writer().execute(work)
        let counts = try store.rows("SELECT (SELECT count(*) FROM tick) + (SELECT coalesce(sum(count), 0) FROM candle)")
        #expect(counts == ["400"])
    }

    /// Rules of one table of candles, one after the other: the second adds to what the first has made.
    @Test(arguments: Kind.allCases) func severalRequestsAreCountedInTheirOrder(_ kind: Kind) throws {
        let store = try kind.make(4)
        var (cheap, dear) = (kind.request(), kind.request())
        cheap.filter = cheap.filter && .compare("price", .less, .real(60))
        dear.filter = dear.filter && .compare("price", .greaterOrEqual, .real(40))
        dear.preceding = [BatchDeleteRequest(cheap)]
        let counted = try store.reader().candles(of: [cheap, dear])
        let made = try [delete(cheap, from: store, rows: 7).tally, delete(dear, from: store, rows: 7).tally]
        #expect(counted.map(\.created) == made.map(\.created) && counted.map(\.changed) == made.map(\.changed))
        #expect(made[0].changed == 0 && made[1].changed > 10)
        #expect(try store.rows("SELECT sum(count) FROM candle") == ["400"])
    }

    /// Candles of an hour become candles of a day before late rows come, which make some of them again.
    @Test func candlesThatGoFirstAreMadeAgain() throws {
        let store = try Kind.byDate.make(5)
        var first = Kind.byDate.request()
        first.filter = first.filter && .compare("price", .less, .real(50))
        try delete(first, from: store, rows: 7)
        let date = DateAttribute(name: "time", encoding: .unixSeconds)
        let hours = SurveyRequest(entity: "candle", date: date, cutoff: Instant(unixSeconds: 1_767_268_800))
        var late = Kind.byDate.request()
        late.preceding = [BatchDeleteRequest(hours)]
        let before = try store.reader().candles(of: [Kind.byDate.request()])[0]
        let counted = try store.reader().candles(of: [late])[0]
        #expect(try delete(hours, from: store, rows: 7).counts.reduce(0, +) > 5)
        let made = try delete(late, from: store, rows: 7).tally
        #expect(counted.created == made.created && counted.changed == made.changed)
        #expect(counted.created > before.created && counted.changed > 0)
    }

    /// A column that ignores case would join two groups in one candle.
    @Test func groupsAreNotJoined() throws {
        let store = try TemporaryStore(
            "CREATE TABLE tick (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT, price REAL)",
            "INSERT INTO tick (at, symbol, price) VALUES (1767225600, 'a', 1), (1767225601, 'A', 1)",
            """
            CREATE TABLE candle (symbol TEXT COLLATE NOCASE, time INTEGER, open, high, low, close, volume, count, open_time,
                close_time, price_volume, PRIMARY KEY (symbol, time))
            """)
        try delete(Kind.byDate.request(before: 1_767_225_601), from: store, rows: 1)
        let error = #expect(throws: StoreError.self) { try delete(Kind.byDate.request(), from: store, rows: 1) }
        #expect(error?.message.contains("a candle of another group") == true, "\(String(describing: error))")
        #expect(try store.rows("SELECT symbol, count FROM candle") == ["a|1"])
        #expect(try store.rows("SELECT symbol FROM tick") == ["A"])
    }

    /// No candle is replaced by another one, whatever the table says of conflicts.
    @Test func noCandleIsReplaced() throws {
        let store = try TemporaryStore(
            "CREATE TABLE tick (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT, price REAL)",
            "INSERT INTO tick (at, price) VALUES (1767225600, 7), (1767232800, 7)",
            """
            CREATE TABLE candle (symbol TEXT, time INTEGER, open, high, low, close UNIQUE ON CONFLICT REPLACE, volume, count,
                open_time, close_time, price_volume, PRIMARY KEY (symbol, time))
            """)
        #expect(throws: StoreError.self) { try delete(Kind.byDate.request(), from: store, rows: 1) }
        let counts = try store.rows("SELECT (SELECT count(*) FROM tick), (SELECT sum(count) FROM candle)")
        #expect(counts == ["1|1"])
    }

    /// Without the survey, which refuses such a trigger: what is read again after the delete must be what was written.
    @Test func candlesAreReadAgain() throws {
        let store = try Kind.byDate.make(6)
        try delete(Kind.byDate.request(before: 1_767_230_000), from: store, rows: 100)
        let before = try store.rows("SELECT (SELECT count(*) FROM tick), (SELECT sum(count) FROM candle)")
        try store.change(
            """
            CREATE TRIGGER wrong AFTER INSERT ON candle
            BEGIN UPDATE candle SET open_time = open_time - 1 WHERE rowid = NEW.rowid; END
            """)
        let request = Kind.byDate.request()
        var work = DeleteWork(BatchDeleteRequest(request, resultType: .count))
        work.fetchRequest.sortDescriptors = [StoreSortDescriptor("at")]
        (work.method, work.rollup) = (.range, request.deleting.rollup)
        let error = #expect(throws: StoreError.self) { try store.writer().execute(work) }
        #expect(error?.message == "a candle of candle differs from what was written")
        #expect(try store.rows("SELECT (SELECT count(*) FROM tick), (SELECT sum(count) FROM candle)") == before)
    }

    /// Triggers that delete rows, or write to candles, are not for rows that become candles.
    @Test(arguments: [
        ("AFTER INSERT ON candle BEGIN DELETE FROM tick WHERE at < NEW.time + 7200", "a trigger deletes rows of tick"),
        ("AFTER UPDATE ON candle BEGIN DELETE FROM candle WHERE time < NEW.time", "a trigger deletes rows of candle"),
        ("AFTER DELETE ON tick BEGIN DELETE FROM tick WHERE at < OLD.at + 60", "a trigger deletes rows of tick"),
        ("AFTER DELETE ON tick BEGIN UPDATE candle SET high = 0", "the trigger t changes rows of candle"),
        (
            "AFTER INSERT ON candle BEGIN INSERT OR REPLACE INTO candle (time) VALUES (1)",
            "a trigger deletes rows of candle"
        ),
    ]) func triggersThatChangeTicksOrCandlesAreRefused(_ trigger: String, _ words: String) throws {
        let store = try Kind.byDate.make(2)
        try delete(Kind.byDate.request(before: 1_767_230_000), from: store, rows: 100)
        #expect(try store.reader().survey(Kind.byDate.request()).unsupported == nil)
        try store.change("CREATE TABLE log (x)")
        try store.change("CREATE TRIGGER l AFTER INSERT ON candle BEGIN INSERT INTO log VALUES (NEW.time); END")
        #expect(try store.reader().survey(Kind.byDate.request()).unsupported == nil)
        try store.change("CREATE TRIGGER t \(trigger); END")
        let reason = try store.reader().survey(Kind.byDate.request()).unsupported
        #expect(reason?.contains(words) == true, "\(reason ?? "-")")
    }

    @Test func aSumThatIsTooLargeChangesNothing() throws {
        let store = try TemporaryStore(
            "CREATE TABLE tick (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT, price INTEGER)",
            "INSERT INTO tick (at, price) VALUES (1767225600, 9223372036854775807), (1767225601, 2)")
        let error = #expect(throws: StoreError.self) {
            try delete(Kind.withoutIndex.request(), from: store, rows: 10)
        }
        #expect(error?.kind == .constraint && error?.message == "a sum of a candle is too large to be stored")
        #expect(try store.rows("SELECT count(*) FROM tick") == ["2"])
        #expect(try store.rows("SELECT count(*) FROM candle") == ["0"])
    }

    /// Prices that are no prices, and volumes that are no numbers.
    @Test func rowsWithoutAPriceStay() throws {
        let store = try TemporaryStore(
            "CREATE TABLE tick (id INTEGER PRIMARY KEY, at INTEGER DEFAULT 1767225600, price, volume)",
            """
            INSERT INTO tick (id, price, volume) VALUES (1, NULL, 1), (2, 'x', 1), (3, '5', 1), (4, x'31', 1), (5, 0, 1),
            (6, -1, 1), (7, 9e999, 1), (8, 5, 'x'), (9, 5, x'31'), (10, 5, 9e999), (11, 5, NULL), (12, 5.5, -2), (13, 1e-300, 0)
            """)
        var request = Kind.withoutIndex.request()
        var rollup = try #require(request.deleting.rollup)
        rollup.source = .prices("price", volume: "volume")
        rollup.groupedBy = []
        (request.deleting.rollup, request.filter) = (rollup, rollup.isPriced)
        try delete(request, from: store, rows: 10)
        #expect(try store.rows("SELECT id FROM tick") == (1...10).map { "\($0)" })
        rollup.allowsNonPositive = true
        (request.deleting.rollup, request.filter) = (rollup, rollup.isPriced)
        try delete(request, from: store, rows: 10)
        #expect(try store.rows("SELECT id FROM tick") == [1, 2, 3, 4, 7, 8, 9, 10].map { "\($0)" })
        #expect(try store.rows("SELECT open, low, count, volume FROM candle") == ["5|-1|5|0"])
    }
}

extension SQLiteWriter {
    /// Makes the table for the candles of a request.
    func createCandles(of request: SurveyRequest) throws {
        let source = try #require(try entity(named: request.entity))
        try createEntity(try #require(request.deleting.rollup?.table(for: source)))
    }
}
