import TestSupport
import Testing

@testable import PriceStore

struct CandleBuilderTests {
    @Test func aLateRowMovesOpenAndCloseOnlyOutwards() throws {
        var table = CandleTable(.minutes(1))
        try table.add([Tick(20, 100, 1), Tick(40, 104, 2)])
        try table.add([Tick(10, 103, 4)])
        #expect(try table.only.open == .integer(103) && table.only.close == .integer(104))
        try table.add([Tick(30, 90, 8), Tick(35, 120, 0)])
        #expect(try table.only.open == .integer(103) && table.only.close == .integer(104))
        try table.add([Tick(50, 99, 16)])
        let candle = try table.only
        #expect(candle.close == .integer(99) && candle.low == .integer(90) && candle.high == .integer(120))
        #expect(candle.count == 6 && candle.volume == .integer(31))
        #expect(candle.priceVolume == .integer(100 + 208 + 412 + 720 + 1584))
        #expect(candle.openTime.value == .integer(10_000) && candle.closeTime.value == .integer(50_000))
    }

    @Test func amongRowsOfOneTimeTheKeyDecidesInOneBatchAndTheFirstBatchAmongSeveral() throws {
        var table = CandleTable(.minutes(1))
        try table.add([Tick(10, 1, 1), Tick(10, 2, 1), Tick(10, 3, 1)])
        #expect(try table.only.open == .integer(1) && table.only.close == .integer(3))
        // A late row of the same time is neither earlier nor later.
        try table.add([Tick(10, 4, 1)])
        #expect(try table.only.open == .integer(1) && table.only.close == .integer(3) && table.only.high == .integer(4))
        // Of two that are later than the store's, the second one.
        try table.add([Tick(10, 9, 1), Tick(11, 5, 1), Tick(11, 6, 1)])
        #expect(try table.only.close == .integer(6))
    }

    @Test func timesFinerThanAnInstantAreCompared() throws {
        var table = CandleTable(.minutes(1))
        let instant = Instant(microseconds: 1)
        for (nanosecond, price) in [(1002, 5.0), (1001, 6.0), (1003, 7.0)] {
            let time = CandleTime(instant, .integer(Int64(nanosecond)))
            try table.add([(try Candle(price: .real(price), at: time), instant, [])])
        }
        #expect(try table.only.open == .real(6) && table.only.close == .real(7))
    }

    @Test func equalValuesOfAStoreAreOneGroup() throws {
        var table = CandleTable(.minutes(1))
        let values: [[StoreValue]] = [
            [.integer(1)], [.real(1)], [.null], [.null], [.text("1")], [.text("e\u{301}")], [.text("\u{e9}")],
        ]
        for group in values {
            let time = Instant(microseconds: 0)
            try table.add([(try Candle(price: .integer(1), at: CandleTime(time, .integer(0))), time, group)])
        }
        #expect(table.candles.count == 5 && table.candles.values.map(\.count).sorted() == [1, 1, 1, 2, 2])
    }

    @Test func anOverflowChangesNothing() throws {
        var table = CandleTable(.minutes(1))
        try table.add([Tick(1, 1, .max)])
        let before = try table.only
        #expect(throws: CandleError.overflow) { try table.add([Tick(2, 1, 1)]) }
        #expect(try table.only == before)
    }

    @Test(arguments: 0..<40) func candlesOfCandlesAreCandlesOfTicks(seed: UInt64) throws {
        var feed = Feed(seed)
        let zone = try #require(CalendarZone(identifier: feed.pick(["UTC", "Europe/Berlin", "America/New_York"])))
        let start = feed.pick([0, 32_400, 61_200])
        let ticks = feed.ticks(2000, zone: zone, reals: false)
        func table(_ length: CandleBuckets.Length) -> CandleTable {
            CandleTable(CandleBuckets(length, zone: zone, sessionStart: start))
        }
        var direct = table(.unit(.day))
        try direct.add(ticks)
        var (minutes, hours, days) = (table(.minutes(1)), table(.minutes(60)), table(.unit(.day)))
        try minutes.add(ticks)
        try hours.add(minutes.rows)
        try days.add(hours.rows)
        #expect(days.candles.count == direct.candles.count)
        #expect(days.candles == direct.candles)
        #expect(try direct.candles == Judge.candles(ticks, direct.buckets))
    }

    /// Sums of doubles to the last bit, too.
    @Test(arguments: 0..<40) func whereBatchesEndDoesNotMatter(seed: UInt64) throws {
        var feed = Feed(seed)
        let ticks = feed.ticks(500, zone: .utc, reals: true)
        var (whole, parts) = (CandleTable(.minutes(60)), CandleTable(.minutes(60)))
        try whole.add(ticks)
        for part in feed.split(ticks) { try parts.add(part) }
        #expect(whole.candles == parts.candles)
        for (key, candle) in whole.candles {
            #expect(candle.volume.storeValue == parts.candles[key]?.volume.storeValue)
            #expect(candle.priceVolume.storeValue == parts.candles[key]?.priceVolume.storeValue)
        }
    }

    /// Rows that come in any order, a part of them after the rest: but for ties the same candles.
    @Test(arguments: 0..<40) func lateRowsGiveTheSameCandles(seed: UInt64) throws {
        var feed = Feed(seed)
        var seen: Set<Instant> = []
        let ticks = feed.ticks(500, zone: .utc, reals: false).filter { seen.insert($0.instant).inserted }
        var late = CandleTable(.minutes(240))
        let onTime = ticks.filter { _ in feed.chance(60) }
        let times = Set(onTime.map(\.instant))
        try late.add(onTime)
        try late.add(ticks.filter { !times.contains($0.instant) })
        #expect(try late.candles == Judge.candles(ticks, late.buckets))
    }

    @Test func aCandleOfTwoBucketsIsAddedToNone() throws {
        let (start, end) = (Instant(unixSeconds: 3600), Instant(unixSeconds: 7199))
        var row = try Candle(price: .integer(1), at: CandleTime(start, .integer(3600)))
        row.closeTime = CandleTime(end, .integer(7199))
        var (hours, minutes) = (CandleTable(.minutes(60)), CandleTable(.minutes(30)))
        try hours.add([(row, start, [])])
        #expect(throws: CandleError.straddle(start)) { try minutes.add([(row, start, [])]) }
        row.openTime = CandleTime(Instant(unixSeconds: 0), .integer(0))
        #expect(throws: CandleError.straddle(start)) { try hours.add([(row, start, [])]) }
    }

    @Test func volumesThatAreInfiniteTogetherAreCompared() throws {
        func totals(_ volumes: Double...) throws -> CandleTotals {
            var totals = CandleTotals()
            for volume in volumes {
                totals.add(
                    try Candle(
                        price: .real(0.1), volume: .real(volume),
                        at: CandleTime(Instant(microseconds: 0), .integer(0))))
            }
            return totals
        }
        let none = CandleTotals()
        try CandleTotals.check(rows: totals(1e308, 1e308), before: none, after: totals(1e308, 1e308))
        try CandleTotals.check(
            rows: totals(1e-303, 2e-303), before: totals(4e-303), after: totals(3e-303, 2e-303, 2e-303))
        for wrong in [1e308 * 0.99, -1e308] {
            #expect(throws: CandleError.disagreement("the volume")) {
                try CandleTotals.check(rows: totals(1e308, 1e308), before: none, after: totals(1e308, wrong))
            }
        }
    }

    @Test func whatIsWrittenMustAgreeWithTheRows() throws {
        func totals(_ ticks: [Tick]) throws -> CandleTotals {
            var totals = CandleTotals()
            for tick in ticks { totals.add(try tick.row.0) }
            return totals
        }
        let (rows, before) = try (totals([Tick(1, 5, 7), Tick(2, 9, 1)]), totals([Tick(0, 6, 2)]))
        try CandleTotals.check(
            rows: rows, before: before, after: totals([Tick(0, 5, 10), Tick(1, 9, 0), Tick(2, 6, 0)]))
        let wrong: [([Tick], String)] = [
            ([Tick(0, 5, 10), Tick(1, 9, 0)], "their number"),
            ([Tick(0, 5, 10), Tick(1, 9, 0), Tick(2, 6, 1)], "the volume"),
            ([Tick(0, 5, 10), Tick(1, 8, 0), Tick(2, 6, 0)], "the highest price"),
            ([Tick(0, 6, 10), Tick(1, 9, 0), Tick(2, 6, 0)], "the lowest price"),
        ]
        for (ticks, figure) in wrong {
            #expect(throws: CandleError.disagreement(figure)) {
                try CandleTotals.check(rows: rows, before: before, after: totals(ticks))
            }
        }
    }
}

/// A price at a number of seconds.
private struct Tick {
    var instant: Instant
    var price: CandleNumber
    var volume: CandleNumber
    var group: [StoreValue] = []

    init(_ second: Int64, _ price: Int64, _ volume: Int64) {
        self.init(Instant(unixSeconds: second), .integer(price), .integer(volume), [])
    }

    init(_ instant: Instant, _ price: CandleNumber, _ volume: CandleNumber, _ group: [StoreValue]) {
        (self.instant, self.price, self.volume, self.group) = (instant, price, volume, group)
    }

    var row: (Candle, Instant, [StoreValue]) {
        get throws {
            let time = CandleTime(instant, .integer(instant.microseconds / 1000))
            return (try Candle(price: price, volume: volume, at: time), instant, group)
        }
    }
}

/// A table of candles in memory.
private struct CandleTable {
    let buckets: CandleBuckets
    var candles: [CandleBuilder.Key: Candle] = [:]

    init(_ buckets: CandleBuckets) { self.buckets = buckets }
    init(_ length: CandleBuckets.Length) { self.init(CandleBuckets(length, zone: .utc)) }

    mutating func add(_ ticks: [Tick]) throws { try add(ticks.map { try $0.row }) }

    /// Adds a batch of rows.
    mutating func add(_ rows: [(Candle, Instant, [StoreValue])]) throws {
        var builder = CandleBuilder(buckets)
        for (candle, instant, group) in rows {
            try builder.add(candle, at: instant, group: group) { candles[$0] }
        }
        for change in builder.changes { candles[change.key] = change.after }
    }

    /// The candles as rows of a rule for longer ones, in the order of their dates.
    var rows: [(Candle, Instant, [StoreValue])] {
        candles.map { ($1, $0.bucket.lowerBound, $0.group) }.sorted { $0.1 < $1.1 }
    }

    var only: Candle {
        get throws {
            try #require(candles.count == 1)
            return try #require(candles.values.first)
        }
    }
}

/// Candles by their definition, from all rows in order.
private enum Judge {
    static func candles(_ ticks: [Tick], _ buckets: CandleBuckets) throws -> [CandleBuilder.Key: Candle] {
        let groups = Dictionary(grouping: ticks) {
            CandleBuilder.Key(group: $0.group, bucket: buckets.bucket(at: $0.instant))
        }
        return try groups.mapValues { ticks in
            let (first, last) = try (#require(ticks.first), #require(ticks.last))
            let prices = ticks.map(\.price)
            return Candle(
                open: first.price, high: try #require(prices.max()), low: try #require(prices.min()), close: last.price,
                volume: try ticks.map(\.volume).reduce(.integer(0)) { try $0 + $1 },
                priceVolume: try ticks.map { try $0.price * $0.volume }.reduce(.integer(0)) { try $0 + $1 },
                count: Int64(ticks.count), openTime: try first.row.0.openTime, closeTime: try last.row.0.closeTime)
        }
    }
}

/// Random ticks: gaps, ties and days on which clocks change.
private struct Feed: Choosing {
    var random: SeededRandom

    init(_ seed: UInt64) { random = SeededRandom(seed) }

    mutating func ticks(_ count: Int, zone: CalendarZone, reals: Bool) -> [Tick] {
        let days = [CivilDate(year: 2026, month: 3, day: 28), CivilDate(year: 2026, month: 10, day: 24)]
        var instant = zone.startOfDay(pick(days + [CivilDate(year: 2024, month: 2, day: 28)]))
        return (0..<count).map { _ in
            if !chance(20) { instant = instant + .milliseconds(pick([1, 900, 40_000, 400_000])) }
            if chance(1) { instant = instant + .seconds(30_000) }
            let (price, volume) = (Int64.random(in: 1...999, using: &random), Int64.random(in: 0...99, using: &random))
            return Tick(
                instant, reals ? .real(Double(price) / 7) : .integer(price),
                reals ? .real(Double(volume) / 3) : .integer(volume),
                [.text(pick(["a", "b"])), pick([.null, .integer(1)])])
        }
    }

    /// Parts of ticks in their order, none of which ends among ticks of one time.
    mutating func split(_ ticks: [Tick]) -> [[Tick]] {
        var parts: [[Tick]] = [[]]
        for tick in ticks {
            if chance(10), let last = parts.last?.last, last.instant < tick.instant { parts.append([]) }
            parts[parts.count - 1].append(tick)
        }
        return parts
    }
}
