import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// The laws of thinning over time, on each kind of file, and a writer beside it. What one deletion keeps, the judge of random
/// stores says.
struct ThinningTests {
    /// A kind of store, and how it is thinned.
    enum Kind: CaseIterable {
        case withoutIndex, byDate, bySymbolAndDate, reals, coreData

        func make(_ rows: ThinningCase) throws -> (TemporaryStore, ThinningCase.Store) {
            let store = try self == .coreData ? coreDataStore(rows) : table(rows)
            let query = self == .coreData ? "SELECT Z_PK FROM ZPRICE" : "SELECT id FROM Price"
            return (
                store,
                ThinningCase.Store(try store.writer(), self == .coreData ? .appleSeconds : .unixSeconds) {
                    Set(try store.rows(query).compactMap { Int64($0) })
                }
            )
        }

        private func table(_ rows: ThinningCase) throws -> TemporaryStore {
            let store = try TemporaryStore(
                "CREATE TABLE Price (id INTEGER PRIMARY KEY, at \(self == .reals ? "REAL" : "INTEGER"), symbol TEXT, price)",
                self == .byDate ? "CREATE INDEX price_at ON Price (at)" : "",
                self == .bySymbolAndDate ? "CREATE INDEX price_by ON Price (symbol, at)" : "", inMemory: true)
            try store.change { db in
                try db.inTransaction {
                    for row in rows.rows {
                        try db.execute(
                            sql: "INSERT INTO Price VALUES (?, ?, ?, ?)",
                            arguments: [row.id, row.at, row.symbol, row.price])
                    }
                    return .commit
                }
            }
            return store
        }

        private func coreDataStore(_ rows: ThinningCase) throws -> TemporaryStore {
            let price = ModelDescription.Entity(
                name: "Price",
                attributes: [
                    .init(name: "at", kind: .date), .init(name: "symbol", kind: .string),
                    .init(name: "price", kind: .double),
                ])
            return try CoreDataStoreTests.store(of: [price], inMemory: true) { db, layout in
                for row in rows.rows {
                    try db.execute(
                        sql: "INSERT INTO ZPRICE (Z_PK, Z_ENT, Z_OPT, ZAT, ZSYMBOL, ZPRICE) VALUES (?, ?, 1, ?, ?, ?)",
                        arguments: [row.id, layout.numbers["Price"], row.at - 978_307_200, row.symbol, row.price])
                }
            }
        }
    }

    /// The rows of `price` before an instant that are not picked in their tier.
    private static func thinned(
        before seconds: Int64, _ tiers: Thinning.Tier..., pick: Thinning.Pick, per groups: [String] = [],
        where filter: StorePredicate = .all, among: StorePredicate? = nil
    ) -> SurveyRequest {
        let date = DateAttribute(name: "at", encoding: .unixSeconds)
        var request = SurveyRequest(
            entity: "price", date: date, cutoff: Instant(unixSeconds: seconds), filter: filter)
        request.keepers.thinning = Thinning(
            tiers: tiers, pick: pick, groupedBy: groups, among: among ?? filter, date: date)
        return request
    }

    private static let (hours, days) = (
        Thinning.Tier(.hour, since: .distantPast), Thinning.Tier(.day, since: .distantPast)
    )

    @Test(arguments: Kind.allCases, Trials.cases(Array(1...10)))
    func aRunEveryNightLeavesTheRowsOfOneRunAtTheEnd(_ kind: Kind, _ seed: UInt64) throws {
        let rows = ThinningCase(seed)
        let (nightly, once) = (try kind.make(rows), try kind.make(rows))
        let breaches = try rows.breachesOfNights(60, on: nightly.1, once: once.1)
        #expect(breaches.isEmpty, "\(breaches)")
    }

    @Test(arguments: Kind.allCases, 1...5 as ClosedRange<UInt64>)
    func aLongerTierOrOneMoreNeverDeletesMore(_ kind: Kind, _ seed: UInt64) throws {
        let rows = ThinningCase(seed)
        var files: [TemporaryStore] = []
        let breaches = try rows.breachesOfLongerTiers {
            let (file, store) = try kind.make(rows)
            files.append(file)
            return store
        }
        #expect(breaches.isEmpty, "\(breaches)")
    }

    /// Another program adds the only row of a day and takes the pick of another day away while the run is at work.
    @Test(arguments: [Thinning.Pick.last, .first])
    func noDayLosesItsLastRowToARunBesideAWriter(_ pick: Thinning.Pick) throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX price_at ON price (at)",
            "PRAGMA journal_mode = WAL")
        // Days 0 to 9 have ten rows each, but for day 5.
        try store.change(
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 99)
            INSERT INTO price SELECT n, n / 10 * 86400 + n % 10 * 3600 + 86400 * 1000 FROM n WHERE n / 10 <> 5
            """)
        let request = Self.thinned(before: 86_400 * 1020, Self.days, pick: pick)
        let writer = try store.writer()
        #expect(try writer.survey(request).expiredCount == 81)
        let deletion = try writer.deletion(of: request)
        #expect(try deletion.deleteNext(DeletionBounds(rows: 20)).result.deletedCount == 20)
        let gone = pick == .last ? 89 : 80
        try store.change(
            "INSERT INTO price VALUES (500, \(86_400 * 1005 + 60)); DELETE FROM price WHERE id = \(gone)")
        while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        // Of the day that has lost its pick all others are left, until they are counted.
        let days = "SELECT at / 86400 - 1000 FROM price ORDER BY 1"
        #expect(try store.rows(days) == (0...7).map(String.init) + Array(repeating: "8", count: 9) + ["9"])
        #expect(try writer.count(StoreFetchRequest(entity: "price", predicate: request.expired)) == 8)
        #expect(try writer.survey(request).expiredCount == 8)
        _ = try Laws.carryOut(request, batchRows: 20, on: writer)
        #expect(try store.rows(days) == (0..<10).map(String.init))
        #expect(try store.rows("SELECT id FROM price WHERE id > 79 AND id < 90") == [pick == .last ? "88" : "81"])
    }

    /// Another program deletes the highest price of one day and changes the lowest of another one: no further row of these days goes.
    @Test func noDayLosesAPriceToARunBesideAWriter() throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, close REAL)",
            "CREATE INDEX price_at ON price (at)", "PRAGMA journal_mode = WAL",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 99)
            INSERT INTO price SELECT n, n / 10 * 86400 + n % 10 * 3600 + 86400 * 1000, (n * 7 + 3) % 10 FROM n
            """)
        let request = Self.thinned(
            before: 86_400 * 1020, Self.days, pick: .ohlc(price: "close"), where: .isNumber("close"))
        let writer = try store.writer()
        // The first row of a day has 3, the last 6, the highest is the ninth and the lowest the second.
        #expect(try writer.survey(request).expiredCount == 60)
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 12))
        try store.change("DELETE FROM price WHERE id = 88; UPDATE price SET close = 5 WHERE id = 71")
        while try deletion.deleteNext(DeletionBounds(rows: 12)).hasMore {}
        let rows = "SELECT id FROM price WHERE id > 59 ORDER BY 1"
        #expect(try store.rows(rows) == ([60, 61, 68, 69] + (70...87) + [89, 90, 91, 98, 99]).map { "\($0)" })
        _ = try Laws.carryOut(request, batchRows: 20, on: writer)
        #expect(
            try store.rows(rows) == [60, 61, 68, 69, 70, 74, 78, 79, 80, 81, 85, 89, 90, 91, 98, 99].map { "\($0)" })
    }

    /// It changes no pick, so the rows go that would have gone without it: also those of buckets that their tier has let go.
    @Test(arguments: [Thinning.Pick.last, .first])
    func aCommitThatIsAboutOtherRowsKeepsNone(_ pick: Thinning.Pick) throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX price_at ON price (at)",
            "CREATE TABLE other (x)",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 399)
            INSERT INTO price SELECT n, 86400000 + n * 900 FROM n
            """)
        let recent = Thinning.Tier(.hour, since: Instant(unixSeconds: 86_400_000 + 200 * 900))
        let request = Self.thinned(before: 86_400_000 + 400 * 900, recent, Self.days, pick: pick)
        let writer = try store.writer()
        let expired = try writer.survey(request).expiredCount
        let execution = try Laws.carryOut(
            request, batchRows: 20, meanwhile: { try store.change("INSERT INTO other VALUES (1)") }, on: writer)
        #expect(execution.total.deletedCount == expired)
        #expect(try writer.count(StoreFetchRequest(entity: "price", predicate: request.expired)) == 0)
    }

    /// More groups than are gathered at a time, whose cells come again and again; and groups that differ in their bytes alone.
    @Test(arguments: [Thinning.Pick.last, .first])
    func manyGroupsAreGatheredInPortions(_ pick: Thinning.Pick) throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT COLLATE NOCASE, kind)",
            "CREATE INDEX price_at ON price (at)",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 35999)
            INSERT INTO price SELECT n, 86400 + n / 12000 * 600, iif(n < 24000, 's', 'S') || (n % 12000), iif(n < 12000, 1, 1.0) FROM n
            """,
            "INSERT INTO price VALUES (90000, 86400, NULL, NULL), (90001, 86401, NULL, NULL), (90002, 86402, x'00', '')"
        )
        let request = Self.thinned(before: 90_000, Self.hours, pick: pick, per: ["symbol", "kind"])
        let writer = try store.writer()
        let survey = try writer.survey(request)
        #expect(survey.expiredCount == 24_001 && survey.kept.byTier.map(\.rowCount) == [12_002])
        _ = try Laws.carryOut(request, batchRows: 5_000, on: writer)
        let left = try store.rows("SELECT id FROM price ORDER BY id").compactMap { Int($0) }
        let first = pick == .last ? 24_000 : 0
        #expect(left == Array(first..<first + 12_000) + [pick == .last ? 90_001 : 90_000, 90_002])
    }

    /// SQLite leaves the mark out where a text in UTF-16 is bound again. Then no pick would be found, and the group be deleted.
    @Test func groupsThatBeginWithAByteOrderMarkKeepTheirPicks() throws {
        let store = try TemporaryStore(
            "PRAGMA encoding = 'UTF-16le'", "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT)",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 99)
            INSERT INTO price SELECT n, 86400 + n, iif(n < 50, char(65279), '') || 's' FROM n
            """)
        let request = Self.thinned(before: 90_000, Self.hours, pick: .last, per: ["symbol"])
        #expect(try store.rows("SELECT count(DISTINCT symbol) FROM price") == ["2"])
        _ = try Laws.carryOut(request, batchRows: 20, on: try store.writer())
        #expect(try store.rows("SELECT id FROM price ORDER BY id") == ["49", "99"])
    }

    /// The rows among which one is picked may be more than those that the rule deletes.
    @Test func aPickThatTheRuleWouldNotDeleteIsNotCounted() throws {
        let store = try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT)",
            "CREATE INDEX price_at ON price (at)",
            "INSERT INTO price VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 3600, 'a'), (4, 3610, 'b'), (5, 7200, 'a')")
        let request = Self.thinned(
            before: 86_400, Self.hours, pick: .last, where: .compare("symbol", .equal, .text("a")), among: .all)
        let survey = try store.reader().survey(request)
        #expect(survey.expiredCount == 2 && survey.kept.byRuleCount == 1)
        _ = try Laws.carryOut(request, batchRows: 1, on: store.writer())
        #expect(try store.rows("SELECT id FROM price ORDER BY id") == ["2", "4", "5"])
    }
}
