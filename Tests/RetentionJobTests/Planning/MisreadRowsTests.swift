import PriceStore
import TestSupport
import Testing

@testable import RetentionJob

@Suite("Rows that are live in another format")
struct MisreadRowsTests {
    static let clock = PriceFile.now
    static let unix = clock.microseconds / 1_000_000

    struct Case: CustomTestStringConvertible, Sendable {
        var name: String
        var declared: DateEncoding
        var years: Int64
        var values: [Int64]
        var found: DateEncoding?

        var testDescription: String { name }
    }

    /// A hundred dates, an hour apart, the newest so many days before the clock: in seconds since 1970.
    static func seconds(_ days: Int64) -> [Int64] { (0..<100).map { unix - days * 86400 - $0 * 3600 } }

    static let cases = [
        Case(
            name: "milliseconds among Apple nanoseconds", declared: .appleNanoseconds, years: 1,
            values: seconds(0).map { $0 * 1000 } + seconds(0).prefix(20).map { ($0 - 978_307_200) * 1_000_000_000 },
            found: .unixMilliseconds),
        Case(
            name: "Apple seconds and one row of the present", declared: .unixSeconds, years: 10,
            values: seconds(0).map { $0 - 978_307_200 } + [unix], found: .appleSeconds),
        Case(
            name: "Apple seconds that end 401 days ago", declared: .unixSeconds, years: 10,
            values: seconds(401).map { $0 - 978_307_200 }, found: .appleSeconds),
        Case(
            name: "two milliseconds", declared: .appleNanoseconds, years: 1,
            values: [unix * 1000, unix * 1000 - 5000], found: .unixMilliseconds),
        Case(name: "old rows in the right unit", declared: .unixSeconds, years: 1, values: seconds(4000), found: nil),
        Case(
            name: "old milliseconds", declared: .unixMilliseconds, years: 5, values: seconds(4000).map { $0 * 1000 },
            found: nil),
        Case(
            name: "old ticks", declared: .dotnetTicks, years: 5,
            values: seconds(3000).map { ($0 + 62_135_596_800) * 10_000_000 }, found: nil),
        Case(name: "nothing would go", declared: .unixSeconds, years: 1, values: seconds(0), found: nil),
    ]

    @Test(arguments: cases) func areFoundByTheRowsThatWouldGo(_ test: Case) {
        let date = DateAttribute(
            name: "at", encoding: test.declared, earliest: Instant(unixSeconds: 31_536_000))
        let cutoff = Self.clock.advanced(byMicroseconds: -test.years * FormatReading.year)
        let misread = MisreadRows(
            test.values.map(StoreValue.integer), date: date, cutoff: cutoff, clock: Self.clock)
        #expect(misread?.encoding == test.found)
    }
}
