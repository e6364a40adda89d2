import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// The laws of thinning over time. What one deletion keeps, the judge of random stores says.
struct ThinningTests {
    private static let day: Int64 = 86_400_000_000

    /// A store and how it is thinned, by a seed.
    private struct Case {
        var random: SeededRandom
        let rows: [(at: Int64, symbol: String?)]
        let zone: CalendarZone
        let pick: Thinning.Pick
        let units: [CalendarUnit]
        let ages: [Int64]
        let maxAge: Int64
        let end: Instant

        init(_ seed: UInt64) throws {
            var random = SeededRandom(seed)
            let zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns"]
            zone = try #require(CalendarZone(identifier: zones.randomElement(using: &random) ?? ""))
            end = try #require(
                Instant(iso8601: ["2026-12-20T11:12:13Z", "2026-05-01T00:00:00Z"].randomElement(using: &random) ?? ""))
            let seconds = end.microseconds / 1_000_000
            let step: Int64 = [60, 900, 3600].randomElement(using: &random) ?? 60
            rows = (0..<300).map { _ in
                let age = Int64.random(in: 0...120 * 86_400, using: &random) / step * step
                return (seconds - age, ["XAU", "EUR", nil].randomElement(using: &random) ?? nil)
            }
            pick = Thinning.Pick.allCases.randomElement(using: &random) ?? .last
            let chosen = Set(
                CalendarUnit.allCases.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
            units = CalendarUnit.allCases.filter(chosen.contains)
            maxAge = Int64.random(in: 1...20, using: &random)
            var age = maxAge
            ages = units.map { _ in
                age += Int64.random(in: 0...40, using: &random)
                return age
            }
            self.random = random
        }

        func store() throws -> TemporaryStore {
            let store = try TemporaryStore(
                "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT)",
                ["", "CREATE INDEX price_at ON price (at)", "CREATE INDEX price_by ON price (symbol, at)"][
                    rows.count % 3],
                inMemory: true)
            try store.change { db in
                try db.inTransaction {
                    for row in rows {
                        try db.execute(
                            sql: "INSERT INTO price (at, symbol) VALUES (?, ?)", arguments: [row.at, row.symbol])
                    }
                    return .commit
                }
            }
            return store
        }

        /// The rule as a run at an instant carries it out.
        func request(_ asOf: Instant, longer: Int64 = 0, with unit: CalendarUnit? = nil) -> SurveyRequest {
            let date = DateAttribute(name: "at", encoding: .unixSeconds, zone: zone)
            var request = SurveyRequest(
                entity: "price", date: date, cutoff: asOf.advanced(byMicroseconds: -maxAge * day))
            var tiers = zip(units, ages).map { unit, age in
                Thinning.Tier(unit, since: asOf.advanced(byMicroseconds: -(age + longer) * day))
            }
            if let unit, !units.contains(unit) {
                tiers.append(.init(unit, since: asOf.advanced(byMicroseconds: -100 * day)))
            }
            request.thinning = Thinning(tiers: tiers, pick: pick, groupedBy: ["symbol"], among: .all, date: date)
            return request
        }
    }

    private func left(_ store: TemporaryStore) throws -> Set<String> { Set(try store.rows("SELECT id FROM price")) }

    private func carryOut(_ request: SurveyRequest, _ store: TemporaryStore, batchRows: Int? = nil) throws {
        let writer = try store.writer()
        let survey = try writer.survey(request)
        let execution = try Laws.carryOut(request, batchRows: batchRows, on: writer)
        #expect(execution.total.deletedCount == survey.expiredCount)
        #expect(survey.keptByTier.reduce(0) { $0 + $1.rowCount } == survey.keptByRuleCount)
        writer.close()
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func aRunEveryNightLeavesTheRowsOfOneRunAtTheEnd(_ seed: UInt64) throws {
        let one = try Case(seed)
        let (nightly, once) = (try one.store(), try one.store())
        for nights in stride(from: 60, through: 0, by: -1) as StrideThrough<Int64> {
            try carryOut(one.request(one.end.advanced(byMicroseconds: -nights * Self.day)), nightly, batchRows: 7)
        }
        try carryOut(one.request(one.end), once)
        let rows = try left(once)
        #expect(try left(nightly) == rows, "\(one.pick) \(one.units) \(one.ages) \(one.maxAge) \(one.zone.identifier)")
        try carryOut(one.request(one.end), once)
        #expect(try left(once) == rows, "a second run deletes nothing")
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func aLongerTierOrOneMoreNeverDeletesMore(_ seed: UInt64) throws {
        var one = try Case(seed)
        let store = try one.store()
        try carryOut(one.request(one.end), store)
        let rows = try left(store)
        let longer = try one.store()
        try carryOut(one.request(one.end, longer: Int64.random(in: 0...50, using: &one.random)), longer)
        #expect(try left(longer).isSuperset(of: rows))
        for unit in CalendarUnit.allCases {
            let more = try one.store()
            try carryOut(one.request(one.end, with: unit), more)
            #expect(try left(more).isSuperset(of: rows), "\(unit)")
        }
    }

    /// Another program adds the only row of a day and takes the pick of another day away while the run is at work.
    @Test(arguments: [Thinning.Pick.last, .first])
    func noDayLosesItsLastRowToARunBesideAWriter(_ pick: Thinning.Pick) throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX price_at ON price (at)",
            "PRAGMA journal_mode = WAL")
        // Days 0 to 9 have ten rows each, but for day 5.
        try store.change { db in
            for number in 0..<100 where number / 10 != 5 {
                try db.execute(
                    sql: "INSERT INTO price VALUES (?, ?)",
                    arguments: [number, number / 10 * 86_400 + number % 10 * 3600 + 86_400 * 1000])
            }
        }
        let date = DateAttribute(name: "at", encoding: .unixSeconds)
        var request = SurveyRequest(entity: "price", date: date, cutoff: Instant(unixSeconds: 86_400 * 1020))
        request.thinning = Thinning(
            tiers: [.init(.day, since: .distantPast)], pick: pick, groupedBy: [], among: .all, date: date)
        let writer = try store.writer()
        #expect(try writer.survey(request).expiredCount == 81)
        let deletion = try writer.deletion(of: request)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 20)).result.deletedCount == 20)
        let gone = pick == .last ? 89 : 80
        try store.change { db in
            try db.execute(
                sql: "INSERT INTO price VALUES (500, \(86_400 * 1005 + 60)); DELETE FROM price WHERE id = \(gone)")
        }
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        let days = try store.rows("SELECT at / 86400 - 1000 FROM price ORDER BY 1")
        #expect(days == (0..<10).map(String.init), "\(days)")
    }

    @Test func rowsOfOneDateAreToldApartByTheirKeys() throws {
        for (pick, kept) in [(Thinning.Pick.last, ["c", "z"]), (.first, ["a", "y"])] {
            let store = try TemporaryStore(
                "CREATE TABLE price (k TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID",
                "INSERT INTO price VALUES ('b', 5), ('a', 5), ('c', 5), ('z', 3600), ('y', 3600)")
            let date = DateAttribute(name: "at", encoding: .unixSeconds)
            var request = SurveyRequest(entity: "price", date: date, cutoff: Instant(unixSeconds: 86_400))
            request.thinning = Thinning(
                tiers: [.init(.hour, since: .distantPast)], pick: pick, groupedBy: [], among: .all, date: date)
            try carryOut(request, store)
            #expect(try store.rows("SELECT k FROM price ORDER BY k") == kept)
        }
    }
}

private let day: Int64 = 86_400_000_000
