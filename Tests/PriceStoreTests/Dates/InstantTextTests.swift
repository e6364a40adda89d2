import PriceStore
import TestSupport
import Testing

struct InstantTextTests {
    @Test func showsOnlyFractionsThatAreNotZero() {
        let midnight = Instant(unixSeconds: 1_795_132_800)
        #expect(midnight.rfc3339 == "2026-11-20T00:00:00Z")
        #expect(midnight.plain == "2026-11-20 00:00:00")
        #expect(midnight.advanced(byMicroseconds: 7_000).rfc3339 == "2026-11-20T00:00:00.007Z")
        #expect(midnight.advanced(byMicroseconds: 7).plain == "2026-11-20 00:00:00.000007")
        #expect(midnight.advanced(byMicroseconds: -1).rfc3339 == "2026-11-19T23:59:59.999999Z")
    }

    @Test func showsYearsOfEverySize() {
        #expect(
            CalendarZone.utc.instant(of: CivilDateTime(CivilDate(year: 7, month: 3, day: 2))).rfc3339
                == "0007-03-02T00:00:00Z")
        #expect(Instant.distantPast.rfc3339 == "-290308-12-21T19:59:05.224192Z")
        #expect(Instant.distantFuture.rfc3339 == "294247-01-10T04:00:54.775807Z")
    }

    @Test func whatIsReportedIsReadAgain() {
        var random = SeededRandom(2)
        for _ in 0..<5000 {
            let instant = Instant(
                microseconds: .random(in: -62_167_219_200_000_000...253_402_300_799_999_999, using: &random))
            #expect(Instant(iso8601: instant.rfc3339) == instant)
            #expect(Instant(iso8601: instant.plain) == instant)
        }
    }

    @Test func reducedDatesGiveTheirFirstInstant() throws {
        let berlin = try CalendarZoneTests.zone("Europe/Berlin")
        #expect(Instant(iso8601: "2026-11")?.rfc3339 == "2026-11-01T00:00:00Z")
        #expect(Instant(iso8601: "2026", zone: berlin)?.rfc3339 == "2025-12-31T23:00:00Z")
        #expect(Instant(iso8601: "2026-11-20T12:00:00Z", zone: berlin)?.rfc3339 == "2026-11-20T12:00:00Z")
        #expect(Instant(iso8601: "yesterday") == nil)
    }
}
