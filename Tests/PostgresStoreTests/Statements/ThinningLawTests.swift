import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// The laws of thinning over time, on a server where others are at work too.
@Suite(.needsPostgres)
struct ThinningLawTests {
    @Test(arguments: Trials.cases(Array(1...12 as ClosedRange<UInt64>)))
    func aRunEveryNightLeavesTheRowsOfOneRunAtTheEnd(_ seed: UInt64) throws {
        let rows = ThinningCase(seed)
        let breaches = try rows.breachesOfNights(60, on: make(rows, seed), once: make(rows, seed))
        #expect(breaches.isEmpty, "\(breaches)")
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func aLongerTierOrOneMoreNeverDeletesMore(_ seed: UInt64) throws {
        let rows = ThinningCase(seed)
        let breaches = try rows.breachesOfLongerTiers { try make(rows, seed) }
        #expect(breaches.isEmpty, "\(breaches)")
    }

    /// A table of the server's own dates or of numbers, with an index or without one.
    private func make(_ rows: ThinningCase, _ seed: UInt64) throws -> ThinningCase.Store {
        let isNumber = seed % 2 == 0
        let values = rows.rows.map { row in
            "(\(row.id), \(isNumber ? "\(row.at)" : "to_timestamp(\(row.at))"), \(row.symbol.map { "'\($0)'" } ?? "NULL"), "
                + "\(row.price.map { "\($0)" } ?? "NULL"))"
        }
        let index = ["", "CREATE INDEX ON \"Price\" (at);", "CREATE INDEX ON \"Price\" (symbol, at);"][
            Int(seed / 2 % 3)]
        let database = try TestDatabase()
        try database.run(
            script: """
                CREATE TABLE "Price" (id bigint PRIMARY KEY, at \(isNumber ? "bigint" : "timestamptz"), symbol text,
                price numeric);
                INSERT INTO "Price" VALUES \(values.joined(separator: ", ")); \(index)
                """)
        return ThinningCase.Store(try database.writer(zone: rows.zone), isNumber ? .unixSeconds : .native) {
            Set(try database.run("SELECT id FROM \"Price\"").compactMap { Int64($0) })
        }
    }
}
