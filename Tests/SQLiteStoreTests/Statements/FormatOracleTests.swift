import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Every format, declared type and method against the judge.
struct FormatOracleTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var encoding: DateEncoding
        var columnType: String
        var isIndexed: Bool
        var isWithoutRowID: Bool
        var testDescription: String {
            "\(encoding.rawValue) in a column '\(columnType)'\(isIndexed ? " with an index" : "")\(isWithoutRowID ? ", no rowid" : "")"
        }
    }

    static let cases: [Case] = DateEncoding.written.flatMap { encoding in
        ["INTEGER", "REAL", "NUMERIC", "TEXT", "", "TIMESTAMP"].flatMap { type in
            [true, false].flatMap { isIndexed in
                [true, false].map {
                    Case(encoding: encoding, columnType: type, isIndexed: isIndexed, isWithoutRowID: $0)
                }
            }
        }
    }

    static let asOf = Instant(iso8601: "2026-11-21T13:14:15.123456Z") ?? .distantPast
    static let cutoff = Instant(iso8601: "2026-10-22T13:14:15.123456Z") ?? .distantPast
    static let zone = CalendarZone.utc

    /// Values of all kinds: dates around the cutoff, far ones, sentinels, other types, nonsense.
    static func values(_ encoding: DateEncoding, _ random: inout SeededRandom) -> [StoreValue] {
        var values: [StoreValue] = [
            .null, .integer(0), .real(0), .text(""), .text("soon"), .text("2026-10-22"), .text("2026-10-21T23:59:59Z"),
            .text("2026-10-22 13:14:15.123456"), .text("2026-10-22T13:14:15.123455Z"), .text("2026-10"),
            .text("2026-09"),
            .text("2025"), .text("20261021"), .text("20261301"), .integer(20_261_021), .integer(20_261_022),
            .integer(20_261_399), .integer(20_261_021_235_959), .integer(20_261_022_131_415), .blob([1, 2]),
            .real(.infinity), .real(-.infinity), .integer(.max), .integer(.min), .real(1e300), .integer(-5),
            .integer(1),
            .text("9999-12-31"), .text("0001-01-01T00:00:00Z"), .text("2026-10-22T15:14:15.1+02:00"),
            .text("22.10.2026 3:04"), .text("32.10.2026 03:04"), .text("22.10.2026 24:00"), .text("2/30/2026"),
            .text("10/2/2026"), .text("Thu, 22 Oct 2026 15:14:15 +0200"), .text("Thu, 22 Okt 2026 15:14:15 +0200"),
            .text("2026-10-22 13:14:15.1234567 +0000 UTC"), .text("2026-10-22 13:14:15.1 +0100 UTC"),
            .text("20261022 131415 "), .text("20261022 131460"),
            .text("2026-10-22t10:00:00z"), .text("1970-12-31"), .text("1971-01-01"), .text("2026-02-30"),
        ]
        values += encoding.sentinels
        for delta: Int64 in [-86_400_000_000, -1_000_000, -1, 0, 1, 1_000_000, 86_400_000_000] {
            values.append(encoding.value(of: cutoff.advanced(byMicroseconds: delta), zone: zone))
        }
        for _ in 0..<60 {
            let back = Int64(random.next() % 4_000_000_000) * 1_000
            values.append(encoding.value(of: asOf.advanced(byMicroseconds: -back), zone: zone))
        }
        return values
    }

    @Test(arguments: Trials.cases(cases))
    func deletesWhatTheJudgeSaysAndCountsItBefore(_ row: Case) throws {
        var random = SeededRandom(
            UInt64(
                truncatingIfNeeded: 42 + (Self.cases.firstIndex { $0.testDescription == row.testDescription } ?? 0)))
        let type = row.columnType
        let store = try TemporaryStore(
            "CREATE TABLE \"p\"\"x\" (id INTEGER PRIMARY KEY, \"up date\" \(type), s TEXT)\(row.isWithoutRowID ? " WITHOUT ROWID" : "")",
            row.isIndexed ? "CREATE INDEX ix ON \"p\"\"x\" (\"up date\")" : "SELECT 1", inMemory: true)
        var values = Self.values(row.encoding, &random)
        values.shuffle(using: &random)
        try store.change { db in
            for (index, value) in values.enumerated() {
                try db.execute(
                    sql: "INSERT INTO \"p\"\"x\" VALUES (?, ?, ?)",
                    arguments: [index + 1, value.databaseValue, index % 3 == 0 ? "a" : "b"])
            }
        }
        for earliest in [Instant(iso8601: "1971-01-01"), Instant(iso8601: "1600-01-01")].compactMap(\.self) {
            for latest in [nil, Instant(iso8601: "2100-01-01")] {
                let date = DateAttribute(
                    name: "up date", encoding: row.encoding, zone: Self.zone, earliest: earliest, latest: latest,
                    trustsZero: earliest.microseconds < 0)
                let request = SurveyRequest(
                    entity: "p\"x", date: date, cutoff: Self.cutoff, filter: .compare("s", .equal, .text("a")))
                try check(store, request)
            }
        }
    }

    private func check(_ store: TemporaryStore, _ request: SurveyRequest) throws {
        let columns = try #require(try store.reader().entity(named: request.entity)).attributes
        func table(_ store: TemporaryStore) throws -> ReferenceStore.Table {
            let rows = try store.change {
                try Row.fetchAll($0, sql: "SELECT id, \"up date\", s FROM \"p\"\"x\" ORDER BY id")
            }
            return ReferenceStore.Table(
                attributes: columns,
                rows: rows.map {
                    ReferenceStore.Row(
                        id: $0[0], values: ["up date": StoreValue($0[1]), "s": StoreValue($0[2])])
                })
        }
        let rules = JudgedRules([request], on: ReferenceStore(tables: [request.entity: try table(store)]))
        let survey = try store.reader().findings(request)
        #expect(rules.differences(survey.survey, ofRule: 0) == [])
        for method in survey.possibleMethods {
            let copy = try store.copy()
            let writer = try copy.writer()
            let batchRows = method.isInBatches ? 7 : nil
            let execution = try Laws.carryOut(request, method: method.rawValue, batchRows: batchRows, on: writer)
            #expect(
                Laws.differences(execution, rules.verdicts[0], batchRows: batchRows, isBounded: true) == [],
                "\(method)")
            #expect(rules.differences(try table(copy).rows, in: request.entity) == [], "\(method)")
            #expect(try writer.survey(request).expiredCount == 0)
        }
    }
}
