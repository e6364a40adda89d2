import PriceStore
import RetentionJob
import TestSupport
import Testing

/// Which attributes are taken for dates, in which format, and how surely.
@Suite struct DateRecognitionTests {
    /// 2026-11-21T00:00:00Z.
    private static let clock = PriceFile.now

    /// A column and what must be said of it.
    struct Column: CustomTestStringConvertible, Sendable {
        var name: String
        var type: String
        var values: [StoreValue]
        var encoding: DateEncoding?
        var certainty: DateRecognition.Certainty
        var testDescription: String { "\(name) \(type)" }

        init(
            _ name: String, _ type: String, _ values: [StoreValue], _ encoding: DateEncoding?,
            _ certainty: DateRecognition.Certainty
        ) {
            (self.name, self.type, self.values) = (name, type, values)
            (self.encoding, self.certainty) = (encoding, certainty)
        }
    }

    /// The days before the clock in a unit since 1970, newest first.
    private static func days(_ perDay: Int64, from start: Int64 = 0, count: Int64 = 20) -> [StoreValue] {
        (0..<count).map { .integer((20_778 - $0) * perDay + start * perDay) }
    }

    /// Texts of days of September and October.
    private static func texts(days: ClosedRange<Int> = 10...28, _ text: (_ month: String, _ day: String) -> String)
        -> [StoreValue]
    {
        ["09", "10"].flatMap { month in days.map { .text(text(month, $0 < 10 ? "0\($0)" : "\($0)")) } }
    }

    private static func pattern(_ text: String) -> DateEncoding? { DatePattern(text).map(DateEncoding.pattern) }

    static let columns = [
        Column("updateTime", "INTEGER", days(86_400), .unixSeconds, .sure),
        Column("at", "REAL", days(86_400_000), .unixMilliseconds, .sure),
        Column("x", "TIMESTAMP", days(86_400, from: -11_323), .appleSeconds, .likely),
        Column("modified", "INTEGER", days(1), .unixDays, .likely),
        Column("stamp_day", "INTEGER", [20_261_120, 20_190_101, 19_990_101].map { .integer($0) }, .yyyymmdd, .sure),
        Column("stamp_day", "INTEGER", [.integer(20_261_120), .integer(19_990_101)], .yyyymmdd, .likely),
        Column("d", "TEXT", [.text("2026-11-20"), .text("1833-01-01")], .iso8601, .sure),
        Column("month", "TEXT", [.text("1833-01"), .text("1833-02")], .iso8601, .likely),
        Column("month", "TEXT", (1...9).map { .text("2026-0\($0)") }, .iso8601, .sure),
        Column("created", "TEXT", [.text("20261120")], .yyyymmdd, .likely),
        // Ticks of .NET read as Apple's nanoseconds are near the clock too.
        Column("when", "INTEGER", days(864_000_000_000, from: 719_162), .dotnetTicks, .likely),
        // Only the values speak for it.
        Column("n", "INTEGER", days(86_400), .unixSeconds, .likely),
        Column("account_id", "INTEGER", days(86_400), .unixSeconds, .unsure),
        // One of twenty is not a date; one means "no date".
        Column("seen", "INTEGER", days(86_400, count: 19) + [.text("x")], .unixSeconds, .sure),
        Column("seen", "INTEGER", days(86_400, count: 19) + [.integer(0)], .unixSeconds, .sure),
        Column("time_ms", "INTEGER", days(86_400), .unixSeconds, .unsure),
        // Dates of long ago.
        Column("since", "INTEGER", [.integer(700_000_000), .integer(690_000_000)], .appleSeconds, .unsure),
        Column("until", "INTEGER", [.integer(1_000_000_000)], .unixSeconds, .unsure),
        // Dates as somebody wrote them.
        Column("day", "TEXT", texts { "2026/\($0)/\($1)" }, pattern("%Y/%m/%d"), .sure),
        Column("day", "TEXT", texts(days: 13...28) { "\($1)/\($0)/2026" }, pattern("%d/%m/%Y"), .sure),
        Column("day", "TEXT", texts(days: 13...28) { "\($0)/\($1)/2026" }, pattern("%m/%d/%Y"), .sure),
        // Some fit two orders of day and month.
        Column("day", "TEXT", texts(days: 9...28) { "\($1)/\($0)/2026" }, pattern("%d/%m/%Y"), .unsure),
        Column("at", "TEXT", texts { "\($1).\($0).2026 0:00" }, pattern("%d.%m.%Y %H:%M"), .sure),
        Column("at", "TEXT", texts(days: 13...28) { "\($1).\($0).2009 0:00" }, pattern("%d.%m.%Y %H:%M"), .sure),
        Column(
            "at", "TEXT", texts { "2025-\($0)-\($1) 23:00:00 +0000 UTC" }, pattern("%Y-%m-%d %H:%M:%S %z %Z"), .sure),
        Column("at", "TEXT", texts { "2026-\($0)-\($1)T03:04:05.123456789Z" }, .iso8601, .sure),
        Column(
            "at", "TEXT", texts { "Tue, \($1) \(["Sep", "Oct"][$0.hasSuffix("9") ? 0 : 1]) 2026 03:04:05 +0000" },
            pattern("%a, %d %b %Y %H:%M:%S %z"), .sure),
        // Numbers that are small.
        Column("expires", "INTEGER", (1...9).map { .integer($0) }, nil, .none),
        Column("time", "TEXT", [.text("soon")], nil, .none),
        Column("deletedAt", "INTEGER", [.null], nil, .none),
        Column("date", "", [], nil, .none),
    ]

    @Test(arguments: columns)
    func recognisesDates(_ column: Column) throws {
        let attribute = Attribute(name: column.name, affinity: .numeric, declaredType: column.type)
        let found = try #require(DateRecognition(attribute, samples: column.values, clock: Self.clock))
        #expect(found.encoding == column.encoding && found.certainty == column.certainty, "\(found)")
        #expect(!found.reason.isEmpty && found.examples == Array(column.values.filter { $0 != .null }.prefix(3)))
    }

    @Test(arguments: [
        ("id", (1...50).map { StoreValue.integer($0) }), ("volume", [.integer(700_000_000), .integer(12)]),
        ("price", [.real(2064.61), .real(1893.1)]), ("symbol", [.text("XAUUSD")]), ("zip", [.text("1210")]),
        ("note", []), ("rank", [.integer(20_000), .integer(20_001)]), ("blob", [.blob([1, 2])]),
    ])
    func takesNothingElseForADate(_ name: String, _ values: [StoreValue]) {
        let attribute = Attribute(name: name, affinity: .numeric, declaredType: "INTEGER")
        #expect(DateRecognition(attribute, samples: values, clock: Self.clock) == nil)
    }

    @Test func whatTheStoreSaysIsNotDoubted() throws {
        let attribute = Attribute(name: "n", affinity: .numeric, dateEncoding: .appleSeconds)
        let found = try #require(DateRecognition(attribute, samples: [.integer(5)], clock: Self.clock))
        #expect(found.encoding == .appleSeconds && found.certainty == .declared && found.alternatives.isEmpty)
    }

    @Test func theReasonNamesACompetingReading() throws {
        let attribute = Attribute(name: "when", affinity: .integer)
        let found = try #require(
            DateRecognition(
                attribute, samples: Self.days(864_000_000_000, from: 719_162), clock: Self.clock))
        #expect(found.alternatives.map(\.encoding) == [.appleNanoseconds, .unixNanoseconds])
        #expect(found.reason.contains("in apple_nanoseconds 20 of them are dates, from 2021-"), "\(found.reason)")
        #expect(found.reason.hasPrefix("20 of 20 sampled values are dates in it, such as 6393"), "\(found.reason)")
    }
}
