package import PriceStore
import TestSupport

/// Dated rows of an entity `Price` and how they are thinned, by a seed, with the laws of thinning over time as lists of
/// sentences that say what is broken. What one deletion keeps, ``ReferenceJudge`` says.
package struct ThinningCase {
    /// A store that a test has made with the rows.
    package struct Store {
        var writer: any RetentionWriter
        var encoding: DateEncoding
        /// The numbers of the rows that are left.
        var left: () throws -> Set<Int64>

        package init(_ writer: any RetentionWriter, _ encoding: DateEncoding, left: @escaping () throws -> Set<Int64>) {
            (self.writer, self.encoding, self.left) = (writer, encoding, left)
        }
    }

    private static let day: Int64 = 86_400_000_000
    /// The rows in the order of their keys, with dates in seconds since 1970.
    package let rows: [(id: Int64, at: Int64, symbol: String?, price: Int64?)]
    package let zone: CalendarZone
    private let pick: Thinning.Pick
    private let units: [CalendarUnit]
    /// In days.
    private let ages: [Int64]
    private let maxAge: Int64
    private let longerBy: Int64
    /// When the last run takes place.
    private let end: Instant

    package init(_ seed: UInt64) {
        var random = SeededRandom(seed)
        func one<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &random)] }
        let name = one(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns"])
        zone = CalendarZone(identifier: name) ?? .utc
        // Clocks have changed shortly before.
        let end = Instant(unixSeconds: one([1_797_765_133, 1_777_593_600]))
        self.end = end
        let step: Int64 = one([60, 900, 3600])
        rows = (1...300 as ClosedRange<Int64>).map { id in
            let age = Int64.random(in: 0...120 * 86_400, using: &random) / step * step
            return (id, end.microseconds / 1_000_000 - age, one(["XAU", "EUR", nil]), one([nil, 1, 2, 3, 4, 5]))
        }
        pick = [Thinning.Pick.last, .first, .ohlc(price: "price")][Int(seed % 3)]
        let chosen = Set(CalendarUnit.allCases.shuffled(using: &random).prefix(one([1, 2, 3])))
        units = CalendarUnit.allCases.filter(chosen.contains)
        maxAge = Int64.random(in: 1...20, using: &random)
        var age = maxAge
        ages = units.map { _ in
            age += Int64.random(in: 0...40, using: &random)
            return age
        }
        longerBy = Int64.random(in: 0...50, using: &random)
    }

    /// The rule as a run some nights before the last one carries it out.
    private func request(
        _ encoding: DateEncoding, nights: Int64 = 0, longerBy: Int64 = 0, with unit: CalendarUnit? = nil
    ) -> SurveyRequest {
        let date = DateAttribute(name: "at", encoding: encoding, zone: zone)
        func before(_ days: Int64) -> Instant { end.advanced(byMicroseconds: -(nights + days) * Self.day) }
        var tiers = zip(units, ages).map { Thinning.Tier($0, since: before($1 + longerBy)) }
        if let unit, !units.contains(unit) { tiers.append(.init(unit, since: before(100))) }
        var request = SurveyRequest(entity: "Price", date: date, cutoff: before(maxAge))
        request.filter = pick.isPriced ?? .all
        request.keepers.thinning = Thinning(
            tiers: tiers, pick: pick, groupedBy: ["symbol"], among: request.filter, date: date)
        return request
    }

    /// A run every night leaves the rows of one run at the end, which are those that the judge leaves, and a second run deletes
    /// nothing.
    package func breachesOfNights(_ count: Int64, on nightly: Store, once: Store) throws -> [String] {
        var found: [String] = []
        for nights in stride(from: count, through: 0, by: -1) {
            found += try carryOut(request(nightly.encoding, nights: nights), batchRows: 7, on: nightly)
        }
        found += try carryOut(request(once.encoding), on: once)
        let left = try once.left()
        if left != judged() { found.append("one run leaves \(left.sorted()), the judge \(judged().sorted())") }
        if try nightly.left() != left { found.append("runs every night leave \(try nightly.left().sorted())") }
        if pick.price != nil { found += breachesOfCandles(left) }
        found += try carryOut(request(once.encoding), on: once)
        if try once.left() != left { found.append("a second run deletes rows") }
        return found.isEmpty ? [] : found + [story]
    }

    /// Of each bucket that a tier keeps the rows that are left have the open, high, low and close of all rows.
    private func breachesOfCandles(_ left: Set<Int64>) -> [String] {
        zip(units, ages).flatMap { unit, age in
            let since = end.advanced(byMicroseconds: -age * Self.day)
            let buckets = Dictionary(grouping: rows) { row in
                ReferenceJudge.bucket(unit, Instant(unixSeconds: row.at), zone) + [
                    row.symbol.map { Int($0.utf8.first ?? 0) } ?? -1
                ]
            }
            return buckets.compactMap { bucket, rows in
                let isKept =
                    rows.contains { Instant(unixSeconds: $0.at) >= since }
                    || bucket.dropLast() == ReferenceJudge.bucket(unit, since, zone)[...]
                let (before, after) = (Self.candle(rows), Self.candle(rows.filter { left.contains($0.id) }))
                return !isKept || before == after ? nil : "a candle by \(unit) was \(before) and is \(after)"
            }
        }
    }

    private static func candle(_ rows: [(id: Int64, at: Int64, symbol: String?, price: Int64?)]) -> [Int64] {
        let prices = rows.sorted { ($0.at, $0.id) < ($1.at, $1.id) }.compactMap(\.price)
        return [prices.first, prices.max(), prices.min(), prices.last].compactMap(\.self)
    }

    /// A longer tier, or one more of any unit, never deletes more.
    package func breachesOfLongerTiers(on make: () throws -> Store) throws -> [String] {
        let left = judged()
        var found: [String] = []
        func check(_ request: (DateEncoding) -> SurveyRequest, _ what: String) throws {
            let store = try make()
            found += try carryOut(request(store.encoding), on: store)
            let lost = try left.subtracting(store.left())
            if !lost.isEmpty { found.append("\(what) deletes also \(lost.sorted())") }
        }
        try check({ request($0, longerBy: longerBy) }, "a longer tier")
        for unit in CalendarUnit.allCases { try check({ request($0, with: unit) }, "one more tier, by \(unit),") }
        return found.isEmpty ? [] : found + [story]
    }

    private func carryOut(_ request: SurveyRequest, batchRows: Int? = nil, on store: Store) throws -> [String] {
        let survey = try store.writer.survey(request)
        let deleted = try Laws.carryOut(request, batchRows: batchRows, on: store.writer).total.deletedCount
        var found: [String] = []
        if deleted != survey.expiredCount { found.append("\(deleted) rows deleted, \(survey.expiredCount) announced") }
        let kept = survey.kept.byTier.reduce(0) { $0 + $1.rowCount }
        if kept != survey.kept.byRuleCount {
            found.append("\(kept) rows kept by tiers, \(survey.kept.byRuleCount) by the rule")
        }
        return found
    }

    /// The rows that one run at the end leaves.
    private func judged() -> Set<Int64> {
        let table = ReferenceStore.Table(
            attributes: [
                Attribute(name: "at", affinity: .integer), Attribute(name: "symbol", affinity: .text),
                Attribute(name: "price", affinity: .integer),
            ],
            rows: rows.map { row in
                .init(
                    id: row.id,
                    values: [
                        "at": .integer(row.at), "symbol": row.symbol.map(StoreValue.text) ?? .null,
                        "price": row.price.map(StoreValue.integer) ?? .null,
                    ])
            })
        var judge = ReferenceJudge(ReferenceStore(tables: ["Price": table]))
        return Set(rows.map(\.id)).subtracting(judge.judge(request(.unixSeconds)).deleted)
    }

    private var story: String { "\(pick) of \(units) for \(ages) days after \(maxAge) in \(zone.identifier)" }
}
