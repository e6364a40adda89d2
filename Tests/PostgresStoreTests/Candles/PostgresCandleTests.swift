import Foundation
import PostgresCluster
import PriceStore
import TestSupport
import Testing

@testable import PostgresStore

/// Rows that become candles when they are deleted, in each kind of table.
@Suite(.needsPostgres)
struct PostgresCandleTests {
    /// A kind of table with 400 ticks of half a day, many of them at one time, of two symbols and of none.
    enum Kind: String, CaseIterable {
        case integers, byDate, withoutIndex, localTimes, text, numeric, withoutKey, partitioned, hypertable

        var dateType: String {
            switch self {
            case .integers: "bigint"
            case .localTimes: "timestamp"
            case .text: "text"
            default: "timestamptz"
            }
        }
        var number: String { self == .integers ? "bigint" : self == .numeric ? "numeric(30,18)" : "float8" }
        var encoding: DateEncoding {
            self == .integers ? .unixSeconds : self == .text ? .iso8601 : .native
        }
        /// A date in SQL, of seconds.
        private var date: String {
            switch self {
            case .integers: "s"
            case .localTimes: "to_timestamp(s) AT TIME ZONE 'UTC'"
            case .text: "to_char(to_timestamp(s) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
            default: "to_timestamp(s)"
            }
        }
        /// A price in SQL. No double has the 18 digits behind the point of the numeric ones.
        private var price: String {
            switch self {
            case .integers: "cents"
            case .numeric: "cents / 1e5 + id / 1e18"
            default: "cents / 1e5::\(number)"
            }
        }
        private var isDivided: Bool { self == .partitioned || self == .hypertable }

        var schema: String {
            let key = self == .withoutKey || self == .hypertable ? "" : ", PRIMARY KEY (id\(isDivided ? ", at" : ""))"
            let parts = (0..<10).map { day in
                let days = (day, day + 1)
                return "CREATE TABLE tick_\(day) PARTITION OF tick FOR VALUES FROM "
                    + "(timestamptz '2026-01-01Z' + interval '\(days.0) days') TO (timestamptz '2026-01-01Z' + interval '\(days.1) days');"
            }
            return """
                CREATE TABLE tick (id bigint, at \(dateType) NOT NULL, symbol text, price \(number), volume \(number)\(key))
                \(self == .partitioned ? "PARTITION BY RANGE (at)" : "");
                \(self == .partitioned ? parts.joined() : "")
                \(self == .hypertable ? "SELECT create_hypertable('tick', by_range('at', interval '1 day'));" : "")
                \(self == .withoutIndex || self == .text || self == .hypertable ? "" : "CREATE INDEX ON tick (at);")
                """
        }

        /// The ticks of a seed.
        func rows(_ seed: Int) -> String {
            """
            SELECT setseed(\(Double(seed) / 100));
            CREATE TABLE feed AS SELECT n AS id, 1767225600 + n / 3 * (300 + \(seed)) AS s,
            (ARRAY['a', 'b', NULL])[1 + floor(random() * 3)::int] AS symbol, 1 + floor(random() * 1e6)::int AS cents,
            CASE WHEN n % 7 > 0 THEN floor(random() * 100)::int END AS volume FROM generate_series(1, 400) AS n;
            INSERT INTO tick SELECT id * 7919 % 10007, \(date), symbol, \(price), \(self == .numeric ? "volume / 3.0" : "volume") FROM feed;
            """
        }

        func make(_ seed: Int = 1) throws -> TestDatabase {
            let statements = schema + rows(seed)
            return try self == .hypertable ? .timescale(statements) : TestDatabase(statements)
        }

        func request(before cutoff: String = "2026-02-01") -> SurveyRequest {
            let date = DateAttribute.of("at", encoding)
            let rollup = Rollup(
                target: "candle", buckets: CandleBuckets(.minutes(60), zone: .utc), groupedBy: ["symbol"],
                source: .prices("price", volume: "volume"), names: CandleNames(), date: date)
            var request = SurveyRequest(entity: "tick", date: date, cutoff: at(cutoff), filter: rollup.isPriced)
            request.deleting.rollup = rollup
            return request
        }

        static let possible = allCases.filter {
            $0 != .hypertable || PostgresCluster.Engine.timescaledb.isInstalled
        }
    }

    private static let candles = """
        SELECT symbol, time, open, high, low, close, volume, count, open_time, close_time, price_volume FROM candle
        ORDER BY symbol, time
        """

    /// A writer, and the table of the candles, which it makes where there is none.
    private func writer(for request: SurveyRequest, in database: TestDatabase) throws -> PostgresWriter {
        let writer = try database.writer()
        if let rollup = request.deleting.rollup, try writer.entity(named: rollup.target) == nil {
            try writer.createCandles(rollup, of: #require(try writer.entity(named: request.entity)))
        }
        return writer
    }

    /// Deletes in batches, and returns what each has deleted.
    @discardableResult
    private func delete(
        _ request: SurveyRequest, from database: TestDatabase, rows: Int?
    ) throws -> (counts: [Int], tally: CandleTally) {
        let deletion = try writer(for: request, in: database).deletion(of: request)
        var (counts, tally) = ([Int](), CandleTally())
        while true {
            let part = try deletion.deleteNext(DeletionBounds(rows: rows))
            counts.append(part.result.deletedCount)
            tally = part.result.candles
            guard part.hasMore else { return (counts, tally) }
        }
    }

    /// The candles of all ticks, by the server's own functions. Sums of doubles depend on the order, so they are left out.
    private func judged(_ kind: Kind, _ tick: String = "tick") -> String {
        let bucket =
            switch kind {
            case .integers: "at / 3600 * 3600"
            case .localTimes: "date_trunc('hour', at)"
            case .text: "left(at, 13) || ':00:00Z'"
            default: "date_trunc('hour', at, 'UTC')"
            }
        let order = kind == .withoutKey || kind == .hypertable ? "at, price, volume" : "at, id"
        return """
            SELECT DISTINCT symbol, time, first_value(price) OVER w, max(price) OVER w, min(price) OVER w, last_value(price) OVER w,
            sum(coalesce(volume, 0)) OVER w, count(*) OVER w, first_value(at) OVER w, last_value(at) OVER w,
            \(kind.number == "float8" ? "0" : "sum(price * coalesce(volume, 0)) OVER w")
            FROM (SELECT *, \(bucket) AS time FROM \(tick)) AS ticks
            WINDOW w AS (PARTITION BY symbol, time ORDER BY \(order) ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
            ORDER BY symbol, time
            """
    }

    @Test(arguments: Kind.possible, 1...2 as ClosedRange<Int>)
    func whereBatchesEndDoesNotMatter(_ kind: Kind, _ seed: Int) throws {
        let (whole, parts) = (try kind.make(seed), try kind.make(seed))
        let judged = try whole.run(judged(kind))
        let tally = try whole.reader().candles(of: [kind.request()])[0]
        let once = try delete(kind.request(), from: whole, rows: 100_000)
        let often = try delete(kind.request(), from: parts, rows: 7)
        #expect(once.counts.reduce(0, +) == 400 && often.counts.reduce(0, +) == 400)
        // Text is no order of dates: all rows go at once. Without an index batches grow.
        #expect(often.counts.count > (kind == .text ? 0 : kind == .withoutIndex ? 4 : 20))
        let candles = try whole.run(Self.candles)
        #expect(try parts.run(Self.candles) == candles && candles.count > 20)
        for found in [tally, once.tally, often.tally] {
            #expect(found.created == candles.count && found.changed == 0)
        }
        let sums = kind.number == "float8" ? "0" : "price_volume"
        #expect(try whole.run(Self.candles.replacing("price_volume", with: sums)) == judged)
        #expect(try whole.run("SELECT sum(count), (SELECT count(*) FROM tick) FROM candle") == ["400|0"])
    }

    /// Half of the rows first: the others are late, and most of their candles are there.
    @Test(arguments: Kind.possible) func lateRowsAreCountedAsChanges(_ kind: Kind) throws {
        let database = try kind.make(9)
        let judged = try database.run(judged(kind))
        var first = kind.request()
        first.filter = first.filter && .compare("price", .less, .real(kind == .integers ? 500_000 : 5))
        try delete(first, from: database, rows: 7)
        let before = try Int(database.run("SELECT count(*) FROM candle")[0]) ?? 0
        let tally = try database.reader().candles(of: [kind.request()])[0]
        let found = try delete(kind.request(), from: database, rows: 7)
        let after = try Int(database.run("SELECT count(*) FROM candle")[0]) ?? 0
        #expect(found.tally.created == after - before && found.tally.changed > 10)
        #expect(tally.created == found.tally.created && tally.changed == found.tally.changed)
        let all = "SELECT symbol, time, high, low, volume, count, open_time, close_time FROM"
        #expect(
            try database.run("\(all) candle ORDER BY symbol, time")
                == database.run(
                    "\(all) (VALUES \(judged.map(row).joined(separator: ", "))) AS judged (symbol, time, open, high, low, close, volume, "
                        + "count, open_time, close_time, price_volume) ORDER BY symbol NULLS LAST, time"))
    }

    private func row(_ text: String) -> String {
        let values = text.split(separator: "|", omittingEmptySubsequences: false)
        return "(" + values.map { $0.isEmpty ? "NULL" : "'\($0)'" }.joined(separator: ", ") + ")"
    }

    @Test(arguments: [true, false]) func rowsOfOneDateGoTogetherAndAreNoMoreThanALimitAllows(index: Bool) throws {
        let database = try TestDatabase(
            """
            CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol text, price int, volume int);
            \(index ? "CREATE INDEX ON tick (at);" : "")
            INSERT INTO tick SELECT n, timestamptz '2026-01-01Z' + (ARRAY[0, 1, 1, 1, 2])[n] * interval '1 second', 'a', n
            FROM generate_series(1, 5) AS n;
            """)
        var request = Kind.byDate.request()
        request.deleting.maxRows = 3
        #expect(try delete(request, from: database, rows: 1).counts.reduce(0, +) == 1)
        request.deleting.maxRows = nil
        let counts = try delete(request, from: database, rows: 2).counts.filter { $0 > 0 }
        #expect(counts.first == 3 && counts.reduce(0, +) == 4)
        #expect(try database.run("SELECT open, close, count FROM candle") == ["1|5|5"])
    }

    @Test func aSumThatIsTooLargeChangesNothing() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol text, price bigint, volume bigint);
            INSERT INTO tick VALUES (1, '2026-01-01Z', 'a', 9223372036854775807, 2);
            """)
        let error = storeError { try delete(Kind.byDate.request(), from: database, rows: 10) }
        #expect(error?.kind == .constraint && error?.message == "a sum of a candle is too large to be stored")
        #expect(try database.run("SELECT (SELECT count(*) FROM tick), count(*) FROM candle") == ["1|0"])
    }

    @Test func rowsWithoutAPriceStay() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE tick (id int, at timestamptz DEFAULT '2026-01-01Z', symbol text, price numeric, volume float8);
            INSERT INTO tick (id, price, volume) VALUES (1, NULL, 1), (2, 'NaN', 1), (3, 'Infinity', 1), (4, '-Infinity', 1), (5, 0, 1),
            (6, -1, 1), (7, 5, 'NaN'), (8, 5, 'Infinity'), (11, 5, NULL), (12, 5.50, -2), (13, 1e-300, 0);
            """)
        var request = Kind.byDate.request()
        try delete(request, from: database, rows: 10)
        #expect(try database.run("SELECT id FROM tick ORDER BY 1") == (1...8).map { "\($0)" })
        var rollup = try #require(request.deleting.rollup)
        rollup.allowsNonPositive = true
        (request.deleting.rollup, request.filter) = (rollup, rollup.isPriced)
        try delete(request, from: database, rows: 10)
        #expect(try database.run("SELECT id FROM tick ORDER BY 1") == [1, 2, 3, 4, 7, 8].map { "\($0)" })
        #expect(try database.run("SELECT high, low, count, volume FROM candle") == ["5.50|-1|5|0"])
    }

    /// The candles that a rule before takes are missing then, and those that one before makes are there.
    @Test func aDryRunKnowsTheRulesBefore() throws {
        let database = try Kind.byDate.make(4)
        var hours = Kind.byDate.request()
        hours.filter = hours.filter && .compare("price", .less, .real(5))
        try delete(hours, from: database, rows: 100)
        func ticks(_ condition: StorePredicate) -> SurveyRequest {
            var request = Kind.byDate.request()
            request.filter = request.filter && condition
            return request
        }
        func before(_ request: SurveyRequest) -> BatchDeleteRequest { BatchDeleteRequest(request) }
        let date = DateAttribute.of("time", .native)
        let days = Rollup(
            target: "candle_1d", buckets: CandleBuckets(.unit(.day), zone: .utc), groupedBy: ["symbol"],
            source: .candles(CandleNames()), names: CandleNames(), date: date)
        var candles = SurveyRequest(entity: "candle", date: date, cutoff: at("2026-01-01T05:00:00Z"))
        candles.take(days)
        var (few, rest) = (
            ticks(.compare("price", .less, .real(7))), ticks(.compare("price", .greaterOrEqual, .real(6)))
        )
        few.preceding = [before(candles)]
        rest.preceding = [before(candles), before(few)]
        let told = try database.reader().candles(of: [candles, few, rest])
        var found: [CandleTally] = []
        for request in [candles, few, rest] { found.append(try delete(request, from: database, rows: 9).tally) }
        #expect(told.map(\.created) == found.map(\.created) && told.map(\.changed) == found.map(\.changed))
        #expect(told[1].created > 5 && told[1].changed > 5 && told[2].changed > 20, "\(told)")
    }

    /// Ticks that a rule before takes by a foreign key become no candles, and neither are there candles that it takes.
    @Test func aDryRunFollowsForeignKeys() throws {
        let database = try Kind.byDate.make(5)
        try delete(Kind.byDate.request(before: "2026-01-01T12:00:00Z"), from: database, rows: 100)
        try database.run(
            script: """
                CREATE TABLE symbol (name text PRIMARY KEY, at timestamptz);
                INSERT INTO symbol VALUES ('a', '2026-01-01Z'), ('b', '2027-01-01Z');
                ALTER TABLE tick ADD FOREIGN KEY (symbol) REFERENCES symbol ON DELETE CASCADE;
                ALTER TABLE candle ADD FOREIGN KEY (symbol) REFERENCES symbol ON DELETE CASCADE;
                INSERT INTO tick SELECT -n, '2026-01-01 00:30:00Z', (ARRAY['a', 'b', NULL])[n], 1, 1 FROM generate_series(1, 3) AS n;
                """)
        let symbols = SurveyRequest(entity: "symbol", date: .of("at"), cutoff: at("2026-02-01"))
        var ticks = Kind.byDate.request()
        ticks.preceding = [BatchDeleteRequest(symbols)]
        let told = try database.reader().candles(of: [ticks])[0]
        try database.run("DELETE FROM symbol WHERE name = 'a'")
        let found = try delete(ticks, from: database, rows: 100_000).tally
        #expect(told.created == found.created && told.changed == found.changed && told.changed == 2)
    }

    /// A column that ignores case would join groups.
    @Test func candlesOfAnotherGroupAreNotChanged() throws {
        let database = try TestDatabase(
            """
            CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
            CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol text NOT NULL, price int, volume int);
            CREATE TABLE candle (symbol text COLLATE same, time timestamptz, open int, high int, low int, close int, volume bigint,
            count bigint, open_time timestamptz, close_time timestamptz, price_volume bigint, PRIMARY KEY (symbol, time));
            INSERT INTO tick VALUES (1, '2026-01-01Z', 'a', 1, 1);
            """)
        try delete(Kind.byDate.request(), from: database, rows: 10)
        try database.run("INSERT INTO tick VALUES (2, '2026-01-01Z', 'A', 2, 1)")
        let error = storeError { try delete(Kind.byDate.request(), from: database, rows: 10) }
        #expect(error?.message.contains("has a candle of another group") == true, "\(String(describing: error))")
        #expect(try database.run("SELECT symbol, count, (SELECT count(*) FROM tick) FROM candle") == ["a|1|1"])
    }

    /// A candle whose time is other text of the same instant would not be found, and the bucket would get a second one.
    @Test func candlesAreSpeltAsARunWritesThem() throws {
        let database = try Kind.text.make()
        try delete(Kind.text.request(before: "2026-01-01"), from: database, rows: 10)
        try database.run(
            "INSERT INTO candle SELECT 'a', '2026-01-01T03:00:00+00:00', 1, 1, 1, 1, 1, 1, '2026-01-01T03:00:00Z', '2026-01-01T03:00:00Z', 1"
        )
        for error in [
            storeError { _ = try database.reader().candles(of: [Kind.text.request()]) },
            storeError { try delete(Kind.text.request(), from: database, rows: 10) },
        ] {
            #expect(
                error?.message.contains("has a candle of 2026-01-01T03:00:00Z whose time is spelled in another way")
                    == true,
                "\(error as Any)")
        }
        #expect(try database.run("SELECT count(*), (SELECT count(*) FROM candle) FROM tick") == ["400|1"])
        try database.run("UPDATE candle SET time = '2026-01-01T03:00:00Z'")
        try delete(Kind.text.request(), from: database, rows: 10)
        #expect(try database.run("SELECT sum(count) FROM candle") == ["401"])
    }

    @Test func settingsOfTheDatabaseChangeNoGroup() throws {
        let database = try Kind.byDate.make()
        try database.run(
            "DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET array_nulls = off', current_database()); END$$")
        try delete(Kind.byDate.request(), from: database, rows: 50)
        try database.run("INSERT INTO tick VALUES (0, '2026-01-01T00:30Z', NULL, 1, 1)")
        try delete(Kind.byDate.request(), from: database, rows: 50)
        #expect(
            try database.run("SELECT sum(count), count(*) FILTER (WHERE symbol IS NULL) > 0 FROM candle") == ["401|t"])
    }

    /// A number of single precision is no double that its shortest text says.
    @Test func datesOfSinglePrecisionGoInBatches() throws {
        let database = try TestDatabase(
            "CREATE TABLE tick (id int PRIMARY KEY, at real NOT NULL, symbol text, price int, volume int); CREATE INDEX ON tick (at);"
                + "INSERT INTO tick SELECT n, 1767225600 + n * 200, 'a', n, 1 FROM generate_series(1, 40) n")
        var request = Kind.integers.request()
        let told = try database.reader().survey(request).expiredCount
        #expect(try delete(request, from: database, rows: 1).counts.reduce(0, +) == told && told == 40)
        try database.run("INSERT INTO tick SELECT n, 1767225600 + n * 200, 'a', n, 1 FROM generate_series(1, 40) n")
        request.deleting.rollup = nil
        #expect(try delete(request, from: database, rows: 3).counts.reduce(0, +) == 40)
    }

    @Test func groupsThatTheServerJoinsAreRefused() throws {
        let database = try Kind.byDate.make()
        var rollup = try #require(Kind.byDate.request().deleting.rollup)
        func obstacle() throws -> String? {
            let reader = try database.reader()
            return try reader.candleObstacle(rollup, of: #require(try reader.entity(named: "tick")), into: nil)
        }
        #expect(try obstacle() == nil)
        rollup.target = String(repeating: "c", count: 64)
        #expect(try obstacle()?.contains("longer than 63 bytes") == true)
        try database.run("CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        try database.run("ALTER TABLE tick ALTER symbol TYPE text COLLATE same")
        #expect(try obstacle()?.contains("tick.symbol treats different texts as equal") == true)
    }

    @Test func numbersThatAreNoneAreOneGroup() throws {
        let database = try TestDatabase(
            "CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol float8, price int, volume int);"
                + "INSERT INTO tick SELECT n, '2026-01-01Z', 'NaN', n, 1 FROM generate_series(1, 5) n")
        for rows in 1...2 {
            try delete(Kind.byDate.request(), from: database, rows: rows)
            #expect(try database.run("SELECT symbol, sum(count) FROM candle GROUP BY 1") == ["NaN|\(4 + rows)"])
            try database.run("INSERT INTO tick VALUES (6, '2026-01-01Z', 'NaN', 7, 1)")
        }
    }

    /// Another session makes the candle that a batch is about to make: the batch is tried again and adds to it.
    @Test func aCandleThatAnotherSessionMakesIsAddedTo() throws {
        let database = try Kind.byDate.make()
        let request = Kind.byDate.request()
        _ = try writer(for: request, in: database)
        let ended = try meanwhile(
            database,
            "INSERT INTO candle VALUES ('a', '2026-01-01Z', 1, 1, 1, 1, 5, 1, '2026-01-01Z', '2026-01-01Z', 5)")
        try delete(request, from: database, rows: 70)
        ended.wait()
        #expect(try database.run("SELECT (SELECT count(*) FROM tick), sum(count) FROM candle") == ["0|401"])
    }

    /// Carries out a statement in another session, which commits when somebody waits for it.
    private func meanwhile(_ database: TestDatabase, _ statement: String) throws -> DispatchSemaphore {
        let (began, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread {
            defer { ended.signal() }
            guard let other = try? database.connection() else { return }
            _ = try? other.execute(script: ["BEGIN", statement])
            began.signal()
            _ = database.hasWaiter()
            _ = try? other.execute("COMMIT")
        }.start()
        began.wait()
        return ended
    }

    /// Ticks that others change while a batch waits for them: it takes them as they are at last, or not at all.
    @Test func ticksThatChangeMeanwhileAreTakenAsTheyAreAtLast() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol text, price int, volume int);
            CREATE INDEX ON tick (at);
            INSERT INTO tick SELECT n, '2026-01-01Z', 'a', 10, 1 FROM generate_series(1, 5) AS n;
            """)
        let ended = try meanwhile(
            database,
            """
            UPDATE tick SET price = 50 WHERE id = 5; UPDATE tick SET price = -1 WHERE id = 4; DELETE FROM tick WHERE id = 3;
            UPDATE tick SET at = '2027-01-01Z' WHERE id = 2; INSERT INTO tick VALUES (6, '2026-01-01Z', 'a', 60, 1)
            """)
        let writer = try writer(for: Kind.byDate.request(), in: database)
        var work = DeleteWork(BatchDeleteRequest(Kind.byDate.request(), resultType: .count))
        (work.method, work.rollup) = (.whole, Kind.byDate.request().deleting.rollup)
        _ = try writer.execute(work)
        ended.wait()
        #expect(try database.run("SELECT id FROM tick ORDER BY 1") == ["2", "4", "6"])
        #expect(try database.run("SELECT count, high, close FROM candle") == ["2|50|50"])
        try delete(Kind.byDate.request(), from: database, rows: 10)
        #expect(try database.run("SELECT count, high, close FROM candle") == ["3|60|50"])
    }

    /// A tick that arrives while a batch is at work is a tick until the next one.
    @Test func aLateTickBecomesAPartOfItsCandle() throws {
        let database = try Kind.byDate.make()
        let request = Kind.byDate.request()
        try delete(request, from: database, rows: 7)
        let other = try database.connection()
        _ = try other.execute("INSERT INTO tick VALUES (-1, '2026-01-01 00:59:59.5Z', 'a', 0.25, 1)")
        _ = try other.execute("INSERT INTO tick VALUES (-2, '2026-01-01 00:00:00Z', 'a', 999, 1)")
        let found = try delete(request, from: database, rows: 7)
        #expect(found.tally.created == 0 && found.tally.changed == 1)
        let candle = "SELECT open, high, low, close FROM candle WHERE symbol = 'a' AND time = '2026-01-01Z'"
        #expect(try database.run(candle) == ["999|999|0.25|0.25"])
    }

    /// A candle that another session holds is waited for, and a tick that it adds meanwhile is not lost.
    @Test func othersMayChangeACandleThatIsAtWork() throws {
        let database = try Kind.byDate.make()
        let request = Kind.byDate.request()
        try delete(request, from: database, rows: 100)
        try database.run("INSERT INTO tick VALUES (-1, '2026-01-01 00:59:59.5Z', 'a', 0.25, 1)")
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute(
            "UPDATE candle SET count = count + 1, volume = volume + 5 WHERE symbol = 'a' AND time = '2026-01-01Z'")
        let before = try database.run("SELECT count FROM candle WHERE symbol = 'a' AND time = '2026-01-01Z'")
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(50))
        let error = storeError { _ = try writer.deletion(of: request).deleteNext(DeletionBounds(rows: 7)) }
        #expect(error?.kind == .busy)
        try other.execute("COMMIT")
        try delete(request, from: database, rows: 7)
        let after = try database.run("SELECT count FROM candle WHERE symbol = 'a' AND time = '2026-01-01Z'")
        #expect(Int(after[0]) == Int(before[0]).map { $0 + 2 })
    }

    /// Triggers that change what is written, delete other ticks or touch other candles, at once or at the commit.
    @Test(
        arguments: [
            ("BEFORE INSERT ON candle", "NEW.high := NEW.high + 1; RETURN NEW"),
            ("AFTER DELETE ON tick", "DELETE FROM tick WHERE id = (SELECT max(id) FROM tick); RETURN NULL"),
            ("AFTER INSERT ON candle", "DELETE FROM tick WHERE at > NEW.time + interval '4 hours'; RETURN NULL"),
            ("AFTER INSERT ON candle", "DELETE FROM candle WHERE time < NEW.time; RETURN NULL"),
            ("AFTER INSERT ON candle", "UPDATE candle SET low = 0 WHERE time < NEW.time; RETURN NULL"),
            ("DEFERRED ON tick", "DELETE FROM tick WHERE at > OLD.at + interval '4 hours'; RETURN NULL"),
        ])
    func triggersThatChangeMoreRollBack(_ event: String, _ body: String) throws {
        let database = try Kind.byDate.make()
        let request = Kind.byDate.request()
        _ = try writer(for: request, in: database)
        try database.run("CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN \(body); END$$")
        let isDeferred = event.hasPrefix("DEFERRED")
        try database.run(
            "CREATE \(isDeferred ? "CONSTRAINT " : "")TRIGGER t "
                + event.replacing("DEFERRED ON tick", with: "AFTER DELETE ON tick DEFERRABLE INITIALLY DEFERRED")
                + " FOR EACH ROW EXECUTE FUNCTION act()")
        let error = storeError { try delete(request, from: database, rows: 70) }
        #expect(error?.kind == .constraint, "\(String(describing: error))")
        let left = try database.run("SELECT (SELECT count(*) FROM tick) + coalesce(sum(count), 0) FROM candle")
        #expect(left == ["400"])
    }

    /// A trigger that keeps rows: these are no part of any candle.
    @Test func rowsThatATriggerKeepsAreTicks() throws {
        let database = try Kind.byDate.make()
        try database.run(
            "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF OLD.id % 5 = 0 THEN RETURN NULL; END IF; RETURN OLD; END'"
        )
        try database.run("CREATE TRIGGER t BEFORE DELETE ON tick FOR EACH ROW EXECUTE FUNCTION keep()")
        try delete(Kind.byDate.request(), from: database, rows: 7)
        #expect(
            try database.run(
                "SELECT (SELECT count(*) FROM tick) + sum(count), (SELECT count(*) FROM tick WHERE id % 5 > 0) FROM candle"
            )
                == ["400|0"])
    }

    /// The table of the candles has the types of the ticks' own columns.
    @Test(arguments: [true, false]) func aTableIsMade(mayBeNull: Bool) throws {
        let database = try TestDatabase(
            """
            CREATE SCHEMA market;
            CREATE TABLE tick (id int PRIMARY KEY, at timestamptz(3) NOT NULL, symbol varchar(9) \(mayBeNull ? "" : "NOT NULL"),
            price numeric(18,8), volume int);
            """)
        let writer = try database.writer()
        var rollup = try #require(Kind.byDate.request().deleting.rollup)
        rollup.target = "market.candle"
        let tick = try #require(try writer.entity(named: "tick"))
        #expect(try writer.candleObstacle(rollup, of: tick, into: nil) == nil)
        try writer.createCandles(rollup, of: tick)
        let made = try #require(try writer.entity(named: "market.candle"))
        #expect(try writer.candleObstacle(rollup, of: tick, into: made) == nil)
        #expect(
            made.attributes.map { "\($0.name) \($0.declaredType)\($0.isRequired ? "" : "?")" } == [
                "symbol character varying(9)\(mayBeNull ? "?" : "")", "time timestamp(3) with time zone",
                "open numeric(18,8)", "high numeric(18,8)", "low numeric(18,8)", "close numeric(18,8)", "volume bigint",
                "count bigint", "open_time timestamp(3) with time zone", "close_time timestamp(3) with time zone",
                "price_volume numeric",
            ])
        #expect(made.primaryKey == (mayBeNull ? [] : ["symbol", "time"]))
    }

    private static let table = """
        symbol text, time timestamptz, open numeric(10,4), high numeric(10,4), low numeric(10,4), close numeric(10,4), volume bigint,
        count bigint, open_time timestamptz, close_time timestamptz, price_volume numeric
        """

    @Test(
        arguments: [
            (table + ", UNIQUE NULLS NOT DISTINCT (symbol, time)", nil),
            (table, "needs a primary key or a unique index of symbol, time"),
            (table + ", UNIQUE (symbol, time)", "must be NULLS NOT DISTINCT"),
            (table + ", PRIMARY KEY (symbol, time)", "candle.symbol is NOT NULL"),
            (
                table.replacing("high numeric(10,4)", with: "high numeric(10,2)"),
                "candle.high is of the type numeric(10,2)"
            ),
            (
                table.replacing("close numeric(10,4)", with: "close float8"),
                "candle.close is of the type double precision"
            ),
            (table.replacing("volume bigint", with: "volume int"), "candle.volume is of the type integer"),
            (
                table.replacing("volume bigint", with: "volume numeric(20,0)")
                    + ", UNIQUE NULLS NOT DISTINCT (symbol, time)", nil
            ),
            (
                table.replacing("price_volume numeric", with: "price_volume numeric(38,2)"),
                "candle.price_volume is of the type"
            ),
            (
                table.replacing("symbol text", with: "symbol varchar(3)"),
                "candle.symbol is of the type character varying(3)"
            ),
            (table.replacing("open_time timestamptz", with: "open_time timestamp"), "candle.open_time is of the type"),
        ] as [(String, String?)])
    func aTableThatCannotHoldCandlesIsRefused(_ columns: String, _ reason: String?) throws {
        let database = try TestDatabase(
            """
            CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, symbol text, price numeric(10,4), volume int);
            CREATE TABLE candle (\(columns));
            INSERT INTO tick VALUES (1, '2026-01-01Z', 'a', 1.5, 2);
            """)
        let request = Kind.byDate.request()
        let reader = try database.reader()
        let told = try reader.candleObstacle(
            #require(request.deleting.rollup), of: #require(try reader.entity(named: "tick")),
            into: reader.entity(named: "candle"))
        if let reason {
            #expect(told?.contains(reason) == true, "\(told ?? "")")
            let error = storeError { try delete(request, from: database, rows: 10) }
            #expect(error?.kind == .unsupported && error?.message == told)
        } else {
            #expect(told == nil)
            try delete(request, from: database, rows: 10)
        }
    }

    @Test func aUserWhoMayNotWriteCandlesIsTold() throws {
        let database = try Kind.byDate.make()
        let user = try database.makeUser("GRANT SELECT, DELETE ON tick TO")
        let reader = try PostgresReader(database.address(of: user))
        let rollup = try #require(Kind.byDate.request().deleting.rollup)
        let tick = try #require(try reader.entity(named: "tick"))
        #expect(try reader.candleObstacle(rollup, of: tick, into: nil)?.contains("GRANT CREATE ON SCHEMA") == true)
        try database.writer().createCandles(rollup, of: tick)
        try database.run("GRANT SELECT ON candle TO \(user)")
        let later = try PostgresReader(database.address(of: user))
        #expect(
            try later.candleObstacle(rollup, of: tick, into: later.entity(named: "candle"))?.contains(
                "GRANT INSERT, UPDATE ON") == true)
        try database.run("GRANT ALL ON candle TO \(user)")
        try database.run("ALTER TABLE candle ENABLE ROW LEVEL SECURITY")
        let last = try PostgresReader(database.address(of: user))
        #expect(
            try last.candleObstacle(rollup, of: tick, into: last.entity(named: "candle"))?.contains(
                "row security of candle applies to this user") == true)
    }

    /// A method that somebody asks for makes candles too, or is refused.
    @Test(arguments: DeleteMethod.allCases, [Kind.withoutIndex, .partitioned])
    func noMethodDeletesWithoutCandles(_ method: DeleteMethod, _ kind: Kind) throws {
        let database = try kind.make(3)
        let request = kind.request()
        let writer = try writer(for: request, in: database)
        var asked = request
        asked.deleting.method = method.rawValue
        if method == .windows || method == .partitions {
            #expect(storeError { try delete(asked, from: database, rows: 50) } != nil)
        }
        var work = DeleteWork(BatchDeleteRequest(request, resultType: .count))
        (work.method, work.rollup) = (method, request.deleting.rollup)
        _ = try? writer.execute(work)
        let counts = try database.run("SELECT (SELECT count(*) FROM tick), coalesce(sum(count), 0) FROM candle")
        #expect(counts == [method == .range || method == .whole ? "0|400" : "400|0"])
    }

    /// Candles in compressed chunks cannot be locked; those of other dates do no harm.
    @Test(.needsTimescale) func compressedCandlesAreNotChanged() throws {
        let database = try Kind.hypertable.make()
        try database.run(
            """
            CREATE TABLE candle (symbol text, time timestamptz NOT NULL, open float8, high float8, low float8, close float8, volume float8,
            count bigint, open_time timestamptz, close_time timestamptz, price_volume float8, UNIQUE NULLS NOT DISTINCT (symbol, time))
            """)
        try database.run("SELECT create_hypertable('candle', by_range('time', interval '1 day'))")
        try database.run("ALTER TABLE candle SET (timescaledb.compress, timescaledb.compress_segmentby = 'symbol')")
        try database.run("INSERT INTO tick SELECT -id - 1, at + interval '2 days', symbol, price, volume FROM tick")
        try delete(Kind.hypertable.request(before: "2026-01-02"), from: database, rows: 50)
        try database.run("SELECT compress_chunk(c) FROM show_chunks('candle') AS c")
        let request = Kind.hypertable.request()
        #expect(try database.reader().survey(request).unsupported == nil)
        let deletion = try database.writer().deletion(of: request)
        try database.run("INSERT INTO tick VALUES (-2, '2026-01-01 00:10:00Z', 'a', 1, 1)")
        // The second is that of a check.
        for request in [request, Kind.hypertable.request(before: "1971-01-01")] {
            let survey = try database.reader().survey(request)
            #expect(survey.unsupported?.contains("candles of candle of these dates are in compressed chunks") == true)
        }
        // The server does not lock compressed rows, and nothing is lost.
        #expect(storeError { _ = try deletion.deleteNext(DeletionBounds(rows: 50)) }?.kind == .unsupported)
        #expect(try database.run("SELECT count(*) FROM tick") == ["401"])
        try database.run("DELETE FROM tick WHERE at < '2026-01-02Z'")
        #expect(try delete(request, from: database, rows: 50).counts.reduce(0, +) == 400)
    }

    /// Their rows would go by segments, and not in the order of their dates.
    @Test(.needsTimescale) func compressedChunksAreRefused() throws {
        let database = try Kind.hypertable.make()
        try database.run("ALTER TABLE tick SET (timescaledb.compress, timescaledb.compress_segmentby = 'symbol')")
        let request = Kind.hypertable.request()
        let writer = try writer(for: request, in: database)
        let later = try writer.deletion(of: request)
        try database.run("SELECT compress_chunk(c) FROM show_chunks('tick') AS c LIMIT 1")
        let survey = try database.reader().survey(request)
        #expect(survey.unsupported?.contains("expired rows of tick are in compressed chunks") == true)
        let error = storeError { _ = try later.deleteNext(DeletionBounds(rows: 50)) }
        #expect(error?.kind == .unsupported && error?.message == survey.unsupported)
        #expect(try database.run("SELECT (SELECT count(*) FROM tick), count(*) FROM candle") == ["400|0"])
        try database.run("SELECT decompress_chunk(c, true) FROM show_chunks('tick') AS c")
        #expect(try delete(request, from: database, rows: 50).counts.reduce(0, +) == 400)
    }
}
