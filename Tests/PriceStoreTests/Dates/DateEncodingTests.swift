import PriceStore
import TestSupport
import Testing

struct DateEncodingTests {
    struct Known: Sendable, CustomTestStringConvertible {
        var encoding: DateEncoding
        var value: StoreValue
        var testDescription: String { encoding.rawValue }

        init(_ encoding: DateEncoding, _ value: StoreValue) {
            self.encoding = encoding
            self.value = value
        }
    }

    /// 2026-11-20T00:00:00Z in every format that can be written.
    static let midnight: [Known] = [
        Known(.iso8601, .text("2026-11-20T00:00:00Z")),
        Known(.unixSeconds, .integer(1_795_132_800)),
        Known(.unixMilliseconds, .integer(1_795_132_800_000)),
        Known(.unixMicroseconds, .integer(1_795_132_800_000_000)),
        Known(.unixNanoseconds, .integer(1_795_132_800_000_000_000)),
        Known(.appleSeconds, .integer(816_825_600)),
        Known(.appleNanoseconds, .integer(816_825_600_000_000_000)),
        Known(.webkitMicroseconds, .integer(13_439_606_400_000_000)),
        Known(.windowsFiletime, .integer(134_396_064_000_000_000)),
        Known(.dotnetTicks, .integer(639_307_296_000_000_000)),
        Known(.julianDay, .real(2_461_364.5)),
        Known(.unixDays, .integer(20_777)),
        Known(.yyyymmdd, .integer(20_261_120)),
        Known(.yyyymmddhhmmss, .integer(20_261_120_000_000)),
    ]

    static let instant = Instant(unixSeconds: 1_795_132_800)

    @Test func theTableHasEveryFormat() {
        #expect(Set(DateEncodingTests.midnight.map(\.encoding)) == Set(DateEncoding.allCases).subtracting([.native]))
    }

    @Test(arguments: midnight)
    func midnightIsWrittenAndReadAgain(row: Known) {
        let end = DateEncodingTests.instant.advanced(
            byMicroseconds: [.unixDays, .yyyymmdd].contains(row.encoding) ? 86_400_000_000 : 1)
        #expect(row.encoding.value(of: DateEncodingTests.instant, zone: .utc) == row.value)
        #expect(row.encoding.read(row.value, zone: .utc) == .span(start: DateEncodingTests.instant, end: end))
    }

    @Test(arguments: DateEncoding.allCases)
    func whatIsWrittenIsReadAgain(encoding: DateEncoding) {
        var random = SeededRandom(4)
        for _ in 0..<5000 {
            let micros = Int64.random(in: 1_000_000_000_000_000...2_000_000_000_000_000, using: &random)
            let instant = Instant(microseconds: micros)
            guard case .span(let start, let end) = encoding.read(encoding.value(of: instant, zone: .utc), zone: .utc)
            else {
                Issue.record("\(instant.rfc3339) was not read")
                return
            }
            switch encoding {
            case .julianDay:
                // The doubles are about 40 µs apart, and the nearest one to a whole millisecond is read as that, as SQLite writes it.
                #expect(abs(start.microseconds - micros) <= (start.microseconds.isMultiple(of: 1000) ? 41 : 21))
                let whole = Instant(microseconds: micros - micros % 1000)
                #expect(
                    encoding.read(encoding.value(of: whole, zone: .utc), zone: .utc)
                        == .span(start: whole, end: whole.advanced(byMicroseconds: 1)))
            case .unixDays, .yyyymmdd: #expect(start <= instant && instant < end)
            case .yyyymmddhhmmss: #expect(start.microseconds == micros - micros % 1_000_000)
            default: #expect(start == instant)
            }
        }
    }

    @Test func knownFormatsAreNumeric() {
        let others: Set<DateEncoding> = [.iso8601, .yyyymmdd, .yyyymmddhhmmss, .native]
        #expect(Set(DateEncoding.allCases.filter { !$0.isNumeric }) == others)
    }

    @Test(arguments: DateEncoding.allCases)
    func numericFormatsReadNumbersOnly(encoding: DateEncoding) {
        #expect(encoding.read(.null, zone: .utc) == .unreadable(.null))
        #expect(encoding.read(.blob([49]), zone: .utc) == .unreadable(.wrongType))
        guard encoding.isNumeric else { return }
        #expect(encoding.read(.text("1795132800"), zone: .utc) == .unreadable(.wrongType))
        #expect(encoding.read(.real(.infinity), zone: .utc) == .unreadable(.notADate))
        #expect(encoding.read(.real(-.infinity), zone: .utc) == .unreadable(.notADate))
        #expect(encoding.read(.real(.nan), zone: .utc) == .unreadable(.notADate))
        for extreme in [
            StoreValue.integer(.min), .integer(.max), .real(1e300), .real(-1e300), .real(.leastNonzeroMagnitude),
            .real(-0.0),
        ] {
            #expect(encoding.read(extreme, zone: .utc).start != nil)
        }
        #expect(encoding.read(.real(1e300), zone: .utc).start == .distantFuture)
        #expect(encoding.read(.real(-1e300), zone: .utc).start == .distantPast)
    }

    @Test func aDateTypeOfTheStoreIsReadAsTheTextThatTheStoreGives() {
        let start = DateEncodingTests.instant
        let day = start.advanced(byMicroseconds: 86_400_000_000)
        #expect(DateEncoding.native.read(.integer(1), zone: .utc) == .unreadable(.wrongType))
        #expect(DateEncoding.native.read(.text("2026-11-20"), zone: .utc) == .span(start: start, end: day))
        #expect(DateEncoding.native.read(.text("2026-11-20 01:00:00+01"), zone: .utc).start == start)
        #expect(DateEncoding.native.read(.text("infinity"), zone: .utc) == .unreadable(.notADate))
        #expect(DateEncoding.native.value(of: start, zone: .utc) == .text("2026-11-20T00:00:00Z"))
    }

    @Test func partsBelowAMicrosecondAreRoundedDown() {
        #expect(DateEncoding.unixNanoseconds.read(.integer(1999), zone: .utc).start?.microseconds == 1)
        #expect(DateEncoding.unixNanoseconds.read(.integer(-1), zone: .utc).start?.microseconds == -1)
        #expect(
            DateEncoding.windowsFiletime.read(.integer(116_444_736_000_000_019), zone: .utc).start?.microseconds == 1)
        #expect(DateEncoding.unixSeconds.read(.real(0.0000019), zone: .utc).start?.microseconds == 1)
        #expect(
            DateEncoding.unixSeconds.read(.real(-Double.leastNonzeroMagnitude), zone: .utc).start?.microseconds == -1)
        // The nearest double is below the decimal fraction.
        #expect(
            DateEncoding.unixSeconds.read(.real(1_700_000_000.123456), zone: .utc).start?.microseconds
                == 1_700_000_000_123_456)
    }

    @Test func aUnixDayIsItsWholeDayInUTC() throws {
        let berlin = try CalendarZoneTests.zone("Europe/Berlin")
        let day = DateReading.span(
            start: DateEncodingTests.instant, end: DateEncodingTests.instant.advanced(byMicroseconds: 86_400_000_000))
        #expect(DateEncoding.unixDays.read(.integer(20_777), zone: berlin) == day)
        #expect(DateEncoding.unixDays.read(.real(20_777.9), zone: berlin) == day)
        #expect(DateEncoding.unixDays.read(.real(-0.5), zone: .utc).start?.rfc3339 == "1969-12-31T00:00:00Z")
    }

    @Test func calendarDigitsAreReadInTheZone() throws {
        let berlin = try CalendarZoneTests.zone("Europe/Berlin")
        let start = try #require(Instant(iso8601: "2026-03-28T23:00:00Z"))
        let end = try #require(Instant(iso8601: "2026-03-29T22:00:00Z"))
        for value in [StoreValue.integer(20_260_329), .real(20_260_329), .text("20260329")] {
            #expect(DateEncoding.yyyymmdd.read(value, zone: berlin) == .span(start: start, end: end))
        }
        for value in [StoreValue.integer(20_260_329_233_059), .real(20_260_329_233_059), .text("20260329233059")] {
            let reading = DateEncoding.yyyymmddhhmmss.read(value, zone: berlin)
            #expect(reading.start?.rfc3339 == "2026-03-29T21:30:59Z")
        }
        let late = try #require(Instant(iso8601: "2026-11-20T23:30:00Z"))
        #expect(DateEncoding.yyyymmdd.value(of: late, zone: berlin) == .integer(20_261_121))
        #expect(DateEncoding.yyyymmddhhmmss.value(of: late, zone: berlin) == .integer(20_261_121_003_000))
    }

    @Test(arguments: [
        StoreValue.integer(0), .integer(2_026_112), .integer(202_611_200), .integer(20_261_131), .integer(20_260_229),
        .integer(20_261_300), .integer(-20_261_120), .integer(1_795_132_800), .real(20_261_120.5), .real(.infinity),
        .text(""), .text("2026-11-20"), .text("2026112"), .text("20261120 "), .text("2026112x"), .text("20261131"),
    ])
    func digitsThatAreNoDayAreRefused(value: StoreValue) {
        #expect(DateEncoding.yyyymmdd.read(value, zone: .utc) == .unreadable(.notADate))
    }

    @Test(arguments: [
        StoreValue.integer(20_261_120), .integer(20_261_120_240_000), .integer(20_261_120_006_000),
        .integer(20_261_120_000_061), .integer(20_261_131_000_000), .text("20261120"), .text("20261120T00000"),
    ])
    func digitsThatAreNoTimeAreRefused(value: StoreValue) {
        #expect(DateEncoding.yyyymmddhhmmss.read(value, zone: .utc) == .unreadable(.notADate))
    }

    @Test func coreDatasDistantPastAndFutureAreSentinels() {
        for value in [-63_114_076_800, 63_113_904_000] as [Int64] {
            #expect(DateEncoding.appleSeconds.read(.integer(value), zone: .utc) == .unreadable(.sentinel))
            #expect(DateEncoding.appleSeconds.read(.real(Double(value)), zone: .utc) == .unreadable(.sentinel))
            let nanoseconds = DateEncoding.appleNanoseconds.read(.real(Double(value) * 1e9), zone: .utc)
            #expect(nanoseconds == .unreadable(.sentinel))
            #expect(DateEncoding.unixSeconds.read(.integer(value), zone: .utc).start != nil)
            #expect(DateEncoding.appleSeconds.read(.integer(value + 1), zone: .utc).start != nil)
        }
        for encoding in DateEncoding.allCases {
            for value in encoding.sentinels { #expect(encoding.read(value, zone: .utc) == .unreadable(.sentinel)) }
            #expect(encoding.sentinels.isEmpty == ![.appleSeconds, .appleNanoseconds].contains(encoding))
        }
        #expect(DateEncoding.appleSeconds.read(.integer(0), zone: .utc).start?.rfc3339 == "2001-01-01T00:00:00Z")
    }

    @Test func whatDoesNotFitAnIntegerIsWrittenAsADouble() {
        let far = CalendarZone.utc.instant(of: CivilDateTime(CivilDate(year: 2500, month: 1, day: 1)))
        #expect(DateEncoding.unixNanoseconds.value(of: far, zone: .utc) == .real(16_725_225_600e9))
        #expect(DateEncoding.unixSeconds.value(of: Instant(microseconds: 500_000), zone: .utc) == .real(0.5))
        #expect(DateEncoding.unixSeconds.value(of: Instant(microseconds: 1), zone: .utc) == .real(1e-6))
        let fraction = DateEncoding.iso8601.value(of: Instant(microseconds: 500_000), zone: .utc)
        #expect(fraction == .text("1970-01-01T00:00:00.500000Z"))
    }
}
