import Foundation
import GRDB
import PriceStore
import Testing

@testable import SQLiteStore

/// Batch deletes on stores that Apple's framework wrote, against the effects that an independent simulation of the
/// delete rules expects.
@Suite(.enabled(if: SampleStores.areHere, "the sample stores are not here"))
struct SampleDeleteTests {
    /// One case of `expected.json`.
    struct Case: Decodable, CustomTestStringConvertible {
        var store: String
        var entity: String
        var attribute: String?
        var cutoffAppleSeconds: Double?
        var rowsDeletedFromEntityTable: Int?
        var countsChanged: [String: [Int]]?
        var zOptIncrements: [String: Double]?
        var error: String?

        var testDescription: String { "\(store) \(entity) before \(cutoffAppleSeconds ?? .nan)" }

        /// The first instant that no row before the cutoff has: dates of these stores have less than a microsecond.
        var cutoff: Instant {
            Instant(microseconds: Int64(((cutoffAppleSeconds ?? 1e9) * 1e6).rounded(.up)) + 978_307_200_000_000)
        }

        var date: DateAttribute? {
            attribute.map {
                DateAttribute(name: $0, encoding: .appleSeconds, zone: .utc, earliest: Instant(microseconds: 0))
            }
        }

        var predicate: PriceStore.Predicate { date.map { .date(DateRange($0, before: cutoff)) } ?? .all }
    }

    static let cases: [Case] = {
        guard let data = FileManager.default.contents(atPath: SampleStores.path("expected.json")) else { return [] }
        return (try? JSONDecoder().decode([Case].self, from: data)) ?? []
    }()

    @Test func allCasesAreHere() { #expect(Self.cases.count >= 10) }

    /// The rows of every table, and the sum of the lock counters where there are some.
    private func contents(_ store: TemporaryStore) throws -> (counts: [String: Int], locks: [String: Double]) {
        try store.change { db in
            var counts: [String: Int] = [:]
            var locks: [String: Double] = [:]
            for table in try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
            {
                counts[table] = try Int.fetchOne(db, sql: "SELECT count(*) FROM \"\(table)\"")
                if table.hasPrefix("Z"), !table.hasPrefix("Z_") {
                    locks[table] = try Double.fetchOne(db, sql: "SELECT total(Z_OPT) FROM \"\(table)\"")
                }
            }
            return (counts, locks)
        }
    }

    @Test(arguments: cases, [Technique.whole, .windows]) func deletes(_ row: Case, _ strategy: Technique)
        throws
    {
        let store = try SampleStores.copy(row.store)
        let before = try contents(store)
        let opt = try optOfStayers(store, row)
        let writer = try SQLiteWriter(path: store.path)
        var request = DeleteWork(
            fetchRequest: PriceStore.FetchRequest(
                entity: row.entity, predicate: row.predicate,
                sortDescriptors: row.attribute.map { [PriceStore.SortDescriptor($0, ascending: true)] } ?? [],
                fetchLimit: strategy == .whole ? nil : 10),
            resultType: .count, technique: strategy)
        let survey = try row.date.map {
            try SQLiteReader(path: store.path).survey(
                SurveyRequest(entity: row.entity, date: $0, cutoff: row.cutoff))
        }
        if let error = row.error {
            #expect(throws: StoreError.self) { try writer.execute(request) }
            let message = #expect(throws: StoreError.self) { try writer.execute(request) }?.message ?? ""
            #expect(message.contains(error.contains("deny") || error.contains("134060") ? "deny" : "mandatory"))
            #expect(try contents(store).counts == before.counts)
            if survey != nil { #expect(survey?.obstacles.isEmpty == false) }
            return
        }
        var deleted = 0
        var cascaded = 0
        var nullified = 0
        repeat {
            let result = try writer.execute(request)
            deleted += result.deletedCount
            cascaded += result.cascadedCount
            nullified += result.nullifiedCount
            request.continuation = result.continuation
        } while request.continuation != nil
        #expect(deleted == row.rowsDeletedFromEntityTable)
        #expect(survey?.expiredCount == deleted)
        #expect(survey?.cascadedCount == cascaded)
        #expect(survey?.nullifiedCount == nullified)
        let after = try contents(store)
        var expected = before.counts
        for (table, counts) in row.countsChanged ?? [:] {
            #expect(before.counts[table] == counts[0])
            expected[table] = counts[1]
        }
        for table in ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"] {
            expected[table] = after.counts[table]
        }
        #expect(after.counts == expected)
        let now = try optOfStayers(store, row)
        for (table, value) in opt {
            let gained = (now[table] ?? 0) - value
            #expect(gained == (row.zOptIncrements?[table] ?? 0), "\(table)")
        }
        #expect(try store.rows("PRAGMA integrity_check") == ["ok"])
    }

    /// The sum of the lock counters of tables that lose no row.
    private func optOfStayers(_ store: TemporaryStore, _ row: Case) throws -> [String: Double] {
        try contents(store).locks.filter { row.countsChanged?[$0.key] == nil }
    }
}
