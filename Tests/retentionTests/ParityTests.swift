import Foundation
import PostgresCluster
import PostgresStore
import PriceStore
import SQLiteStore
import TestSupport
import Testing

/// One rule set over the same random rows on both engines: the same figures, and the same rows left.
@Suite(.needsPostgres)
struct ParityTests {
    private static let cutoff = Instant(unixSeconds: 1_790_000_000)

    private static let entity = Entity(
        name: "price",
        attributes: [
            Attribute(name: "id", affinity: .integer, declaredType: "INTEGER", isRequired: true),
            Attribute(name: "symbol", affinity: .text), Attribute(name: "volume", affinity: .real),
            Attribute(name: "seconds", affinity: .integer), Attribute(name: "julian", affinity: .real),
            Attribute(name: "text", affinity: .text), Attribute(name: "day", affinity: .text),
        ], primaryKey: ["id"])

    private static func rows(_ count: Int, seed: UInt64, zone: CalendarZone) -> [[String: StoreValue]] {
        var random = SeededRandom(seed)
        return (0..<count).map { id in
            let seconds = 1_790_000_000 + Int64.random(in: -90_000...30_000, using: &random)
            let instant = Instant(unixSeconds: seconds)
            let isOdd = Int.random(in: 0..<20, using: &random)
            let words: [StoreValue] = [.null, .text(""), .text("soon"), .text("2026-02-30"), .text("1969-01-01")]
            return [
                "id": .integer(Int64(id)), "symbol": [.text("XAU"), .text("XAG"), .null][Int(random.next() % 3)],
                "volume": .real(Double(id % 7)), "seconds": isOdd == 0 ? .integer(0) : .integer(seconds),
                "julian": isOdd == 1 ? .null : DateEncoding.julianDay.value(of: instant, zone: zone),
                "text": isOdd < 5 ? words[isOdd] : DateEncoding.iso8601.value(of: instant, zone: zone),
                "day": isOdd == 6 ? .text("20261399") : .text("\(zone.civil(of: instant).date)".filter { $0 != "-" }),
            ]
        }
    }

    private static func rules(_ zone: CalendarZone) -> [SurveyRequest] {
        func date(_ name: String, _ encoding: DateEncoding) -> DateAttribute {
            DateAttribute(name: name, encoding: encoding, zone: zone, earliest: Instant(unixSeconds: 31_536_000))
        }
        let text = date("text", .iso8601)
        let gold = StorePredicate.compare("symbol", .equal, .text("XAU"))
        return [
            SurveyRequest(
                entity: "price", date: date("seconds", .unixSeconds),
                cutoff: cutoff.advanced(byMicroseconds: -60_000_000_000),
                filter: gold),
            SurveyRequest(
                entity: "price", date: text, cutoff: cutoff.advanced(byMicroseconds: -40_000_000_000),
                filter: .compare("volume", .less, .integer(5)),
                keepLast: KeepLast(
                    count: 2, groupedBy: ["symbol"], among: .compare("volume", .less, .integer(5)), date: text)),
            SurveyRequest(
                entity: "price", date: date("julian", .julianDay),
                cutoff: cutoff.advanced(byMicroseconds: -30_000_000_000)),
            SurveyRequest(entity: "price", date: date("day", .yyyymmdd), cutoff: cutoff),
        ]
    }

    /// The figures of all rules, and a digest of the keys that each leaves.
    private func carryOut(_ zone: CalendarZone, on store: any RetentionWriter) throws -> [String] {
        try store.createEntity(Self.entity)
        try store.transaction(.normal) {
            for row in Self.rows(3000, seed: 5, zone: zone) {
                let outcome = try store.insert(entity: "price", values: row, onConflict: .fail)
                #expect(outcome == .saved)
            }
        }
        return try Self.rules(zone).map { rule in
            let survey = try store.survey(rule)
            // What is found in the rows. How an engine deletes them, and which example it shows, is its own affair.
            let unreadable = survey.unreadable.map { "\($0.reason) \($0.rowCount)" }.sorted()
            let facts: [Any?] = [
                survey.rowCount, survey.readableCount, survey.expiredCount, survey.expiredAloneCount,
                survey.kept.byRuleCount, unreadable, survey.dates.oldest, survey.dates.newest,
                survey.dates.newestExpired,
                survey.dates.newestOfEntity, survey.dates.newestValue, survey.leavesReadableRows,
                survey.related.cascadedCount,
                survey.related.nullifiedCount, survey.related.obstacles, survey.unsupported,
            ]
            let deleted = try store.execute(
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(entity: "price", predicate: rule.expired), resultType: .count)
            ).deletedCount
            #expect(deleted == survey.expiredCount && deleted > 0)
            let left = try store.fetch(
                StoreFetchRequest(entity: "price", sortDescriptors: [StoreSortDescriptor("id")]), attributes: ["id"])
            // FNV-1a over the keys.
            var digest: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in left.description.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return "\(facts) left \(left.count) \(digest)"
        }
    }

    @Test(arguments: ["UTC", "Europe/Berlin"])
    func bothEnginesDeleteTheSameRows(name: String) throws {
        let zone = try #require(CalendarZone(identifier: name))
        let folder = try TemporaryFolder()
        let file = try SQLiteWriter(path: folder.url.appending(path: "prices.sqlite").path, create: true)
        let url = try #require(PostgresCluster.shared).makeDatabase()
        let server = try PostgresWriter(PostgresAddress(url: url), zone: zone)
        let (ours, theirs) = (try carryOut(zone, on: file), try carryOut(zone, on: server))
        for (mine, other) in zip(ours, theirs) { #expect(mine == other) }
    }
}
