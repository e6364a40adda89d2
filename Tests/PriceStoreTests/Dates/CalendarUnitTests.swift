import PriceStore
import Testing

struct CalendarUnitTests {
    private func buckets(
        _ unit: CalendarUnit, _ first: String, _ last: String, in zone: String = "UTC"
    ) throws -> [String] {
        let zone = try #require(CalendarZone(identifier: zone))
        return try zone.buckets(
            of: unit, from: #require(Instant(iso8601: first)), through: #require(Instant(iso8601: last))
        ).map(\.rfc3339)
    }

    @Test func bucketsFollowTheCalendar() throws {
        // A Sunday and the Monday after it.
        #expect(
            try buckets(.week, "2026-11-22T23:59:59Z", "2026-11-23T00:00:00Z") == [
                "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z",
            ])
        #expect(
            try buckets(.month, "2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z") == [
                "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z",
            ])
        #expect(
            try buckets(.quarter, "2025-12-31T23:00:00Z", "2026-04-01T00:00:00Z") == [
                "2025-10-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z", "2026-07-01T00:00:00Z",
            ])
        #expect(
            try buckets(.year, "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z") == [
                "1969-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1971-01-01T00:00:00Z",
            ])
    }

    @Test func aDayOf23Or25HoursIsOneDay() throws {
        #expect(
            try buckets(.day, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", in: "Europe/Berlin") == [
                "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z",
            ])
        #expect(
            try buckets(.day, "2026-10-25T01:00:00Z", "2026-10-25T01:00:00Z", in: "Europe/Berlin") == [
                "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
            ])
    }

    @Test func anHourThatIsRepeatedIsTwo() throws {
        #expect(
            try buckets(.hour, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", in: "Europe/Berlin") == [
                "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z",
            ])
        // Clocks go back by half an hour, so the second half of an hour comes twice.
        #expect(
            try buckets(.hour, "2026-04-04T14:10:00Z", "2026-04-04T15:40:00Z", in: "Australia/Lord_Howe") == [
                "2026-04-04T14:00:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z", "2026-04-04T16:30:00Z",
            ])
        // A zone half an hour off.
        #expect(
            try buckets(.hour, "2026-04-04T14:10:00Z", "2026-04-04T14:40:00Z", in: "Asia/Kolkata") == [
                "2026-04-04T13:30:00Z", "2026-04-04T14:30:00Z", "2026-04-04T15:30:00Z",
            ])
    }

    @Test func aSkippedDayIsNone() throws {
        #expect(
            try buckets(.day, "2011-12-30T09:00:00Z", "2011-12-30T11:00:00Z", in: "Pacific/Apia") == [
                "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z",
            ])
    }
}
