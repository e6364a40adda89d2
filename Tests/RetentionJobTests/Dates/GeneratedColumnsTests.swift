import PriceStore
import RetentionJob
import TestSupport
import Testing

/// Columns of every format and of everything that looks like one: a format is never sure and wrong.
@Suite struct GeneratedColumnsTests {
    /// 2026-11-21T00:00:00Z.
    private static let clock = PriceFile.now
    private static let day: Int64 = 86_400

    /// A column, and the format in which it was made; nil: it holds no dates, or not only.
    struct Column: CustomTestStringConvertible, Sendable {
        var kind: String
        var name: String
        var values: [StoreValue]
        var encoding: DateEncoding?
        var testDescription: String { "\(kind) as \(name)" }

        func recognised() -> DateRecognition? {
            let isText = values.contains { if case .text = $0 { true } else { false } }
            let attribute = Attribute(
                name: name, affinity: isText ? .text : .integer, declaredType: isText ? "TEXT" : "INTEGER")
            return DateRecognition(attribute, samples: values, clock: GeneratedColumnsTests.clock)
        }
    }

    // MARK: Dates

    private static let formats = DateEncoding.allCases.filter { $0 != .native }

    private static func value(_ encoding: DateEncoding, _ seconds: Int64, micros: Int64 = 0) -> StoreValue {
        encoding.value(of: Instant(unixSeconds: seconds).advanced(byMicroseconds: micros), zone: .utc)
    }

    private static func year(_ year: Int64) -> Int64 { (year - 1970) * 31_556_952 }

    /// Columns of dates, of each format in each of these ways.
    private static let dates: [Column] = {
        var generator = SeededRandom(21)
        var columns: [Column] = []
        let now = clock.microseconds / 1_000_000
        func random(_ range: ClosedRange<Int64>, _ encoding: DateEncoding, _ count: Int = 50) -> [StoreValue] {
            (0..<count).map { _ in
                value(
                    encoding, Int64.random(in: range, using: &generator),
                    micros: Int64.random(in: 0...999_999, using: &generator))
            }
        }
        for encoding in formats {
            let recent = random(now - 700 * day...now, encoding)
            let never: [StoreValue] = [.integer(0), .integer(-1), value(encoding, 253_402_300_799), .null]
            let ways: [(String, [StoreValue])] = [
                ("days", (0..<100).map { value(encoding, now - $0 * day) }),
                ("recent", recent),
                ("ten years", random(now - 3650 * day...now, encoding)),
                ("sentinels", recent + never),
                ("distant past", recent + [.integer(-63_114_076_800), .integer(63_113_904_000)]),
                ("far expiry", recent + random(year(2090)...year(2099), encoding, 15) + never),
                ("expiry", recent + random(now...now + 400 * day, encoding, 20)),
                ("an outlier", recent + [value(encoding, year(1950))]),
                ("two values", Array(recent.prefix(2))),
                ("one value", [recent[0]]),
                ("three values and zero", Array(recent.prefix(3)) + [.integer(0)]),
                ("ahead", random(now + 10 * day...now + 1800 * day, encoding)),
                ("far ahead", random(year(2052)...year(2085), encoding)),
                ("before 2001", random(year(1991)...year(2000), encoding)),
                ("birthdays", random(year(1940)...year(2005), encoding)),
                ("old birthdays", random(year(1930)...year(1985), encoding)),
                ("2002 to 2014", random(year(2002)...year(2014), encoding)),
            ]
            for (way, values) in ways {
                for name in ["created_at", "expires_utc", "v"] {
                    columns.append(
                        Column(kind: "\(encoding.rawValue), \(way)", name: name, values: values, encoding: encoding))
                }
            }
        }
        return columns
    }()

    // MARK: Everything else

    private static let others: [Column] = {
        var generator = SeededRandom(22)
        func random(_ range: ClosedRange<Int64>, _ count: Int = 50) -> [StoreValue] {
            (0..<count).map { _ in .integer(Int64.random(in: range, using: &generator)) }
        }
        func counter(_ start: Int64) -> [StoreValue] { (0..<50).map { .integer(start + $0) } }
        let milliseconds = (0..<50).map { _ in
            Int64.random(in: 1_400_000_000_000...1_795_000_000_000, using: &generator)
        }
        let numbers: [(String, [StoreValue])] = [
            ("durations in seconds", random(5...20_700)), ("long durations", random(18_000...20_700)),
            ("durations in milliseconds", random(100...30_000_000)),
            ("seconds in nanoseconds", random(1_200_000_000...1_790_000_000)),
            ("bytes", random(0...2_000_000_000)), ("nine digits", random(100_000_000...799_999_999)),
            ("phone numbers", random(2_000_000_000...9_999_999_999)), ("eight digits", random(10_000_000...99_999_999)),
            ("years", random(1990...2026)), ("zip codes", random(10_000...99_999)),
            ("look-alikes", [.integer(22_920_308)]),
            (
                "more look-alikes",
                [.integer(22_920_308), .integer(22_930_415), .integer(22_940_612), .integer(22_951_130)]
            ),
            ("Twitter", milliseconds.map { .integer(($0 - 1_288_834_974_657) << 22 | ($0 & 0xFFF)) }),
            ("Twitter without a machine", milliseconds.map { .integer(($0 - 1_288_834_974_657) << 22) }),
            (
                "Discord",
                milliseconds.filter { $0 > 1_420_070_400_000 }.map {
                    .integer(($0 - 1_420_070_400_000) << 22 | ($0 & 0xFFFF))
                }
            ),
            ("round snowflakes", milliseconds.map { .integer(($0 / 1000 * 1000 - 1_288_834_974_000) << 22) }),
            ("from 1", counter(1)), ("from 19,000", counter(19_000)), ("from a million", counter(1_000_000)),
            ("from a Julian day", counter(2_460_000)), ("from a day", counter(20_230_101)),
            ("from 100 million", counter(500_000_000)), ("from a billion", counter(1_700_000_000)),
            ("from 1.7 thousand billions", counter(1_700_000_000_000)), ("zeros", [.integer(0)]),
            ("zero and -1", [.integer(0), .integer(-1)]), ("largest", [.integer(.max), .integer(Int64(Int32.max))]),
            ("eighteen digits", random(100_000_000_000_000_000...999_999_999_999_999_999)),
            ("sixteen digits", random(1_000_000_000_000_000...9_999_999_999_999_999)),
        ]
        let texts: [(String, [StoreValue])] = [
            ("words", [.text("soon"), .text("later")]), ("American", (1...28).map { .text("11/\($0)/2024") }),
            (
                "zip codes as text",
                random(10_000...99_999).map { if case .integer(let zip) = $0 { .text("\(zip)") } else { $0 } }
            ),
            ("years as text", (2000...2026).map { .text("\($0)") }), ("versions", (1...9).map { .text("2.0.\($0)") }),
            ("part numbers", (1...60).map { .text("20\($0 % 90 + 10)-\($0 + 10)") }),
            (
                "digits as text",
                random(1_700_000_000...1_790_000_000).map {
                    if case .integer(let count) = $0 { .text("\(count)") } else { $0 }
                }
            ),
        ]
        let iso = (1...25).map { StoreValue.text("2025-03-\($0 < 10 ? "0" : "")\($0)") }
        let mixed: [(String, [StoreValue])] = [
            ("text and seconds", iso + random(1_700_000_000...1_790_000_000, 25)),
            ("two shapes", iso + (1...25).map { .text("11/\($0)/2024") }),
            (
                "seconds and milliseconds",
                random(1_700_000_000...1_790_000_000, 25) + random(1_700_000_000_000...1_790_000_000_000, 25)
            ),
            (
                "text, seconds and words",
                iso + random(1_700_000_000...1_790_000_000, 25) + (1...10).map { .text("x\($0)") }
            ),
        ]
        return (numbers + texts + mixed).flatMap { kind, values in
            // Numbers of a size and a name that only timestamps have are timestamps for everybody.
            let isSize = kind == "seconds in nanoseconds"
            let names = isSize ? ["time_ns", "response_time"] : ["created_at", "time"]
            return (names + ["v", "id", "duration"]).map { Column(kind: kind, name: $0, values: values, encoding: nil) }
        }
    }()

    @Test func noFormatIsSureAndWrong() {
        #expect(Self.dates.count > 500 && Self.others.count > 150)
        for column in Self.dates + Self.others {
            guard let found = column.recognised(), found.certainty == .sure else { continue }
            #expect(found.encoding == column.encoding, "\(column): \(found.reason)")
        }
    }

    @Test func mostDatesAreRecognised() {
        let named = Self.dates.filter { $0.name != "v" }
        let right = named.filter { column in
            let found = column.recognised()
            return found?.encoding == column.encoding && [.sure, .likely].contains(found?.certainty)
        }
        let sure = right.filter { $0.recognised()?.certainty == .sure }
        // The columns are the same in every run.
        #expect([named.count, right.count, sure.count] == [476, 320, 162])
        // A wrong format is at most one of several: only for dates of the next century may others be taken.
        for column in named where !column.kind.hasSuffix("far ahead") {
            guard let found = column.recognised(), found.certainty == .likely else { continue }
            #expect(found.encoding == column.encoding, "\(column): \(found.reason)")
        }
    }

    @Test func mixedColumnsAreReportedAsMixed() throws {
        for column in Self.others where ["created_at", "time"].contains(column.name) {
            let isMixed = ["text and seconds", "two shapes", "seconds and milliseconds", "text, seconds and words"]
                .contains(column.kind)
            #expect(
                (column.recognised()?.certainty == .mixed) == isMixed,
                "\(column): \(String(describing: column.recognised()))")
        }
        let two = try #require(Self.others.first { $0.kind == "two shapes" }?.recognised())
        #expect(two.shapes.map(\.encoding?.rawValue) == ["iso8601", "%m/%d/%Y"])
        #expect(two.shapes.map(\.valueCount) == [25, 25])
    }

    /// The values of the cookies of a real browser, with an expiry date in the year 9999.
    @Test(arguments: ["creation_utc", "v"]) func cookiesOfABrowserAreNotApplesNanoseconds(name: String) throws {
        let values: [StoreValue] = [
            13_241_804_625_000_000, 13_241_804_780_584_929, 265_034_982_388_000_000, 13_210_795_193_134_291,
            13_494_636_648_991_093,
        ].map(StoreValue.integer)
        let found = try #require(Column(kind: "", name: name, values: values, encoding: nil).recognised())
        #expect(found.encoding == .webkitMicroseconds)
        #expect(found.sentinels == [.integer(265_034_982_388_000_000)] && found.alternatives.isEmpty, "\(found)")
    }
}
