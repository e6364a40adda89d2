import PriceStore
import Testing

struct AggregateBucketsTests {
    private func at(_ text: String) -> Instant { Instant(iso8601: text) ?? .distantPast }
    private let hour: Int64 = 3_600_000_000

    private func start(
        _ length: AggregateBuckets.Length, origin: Int64 = 0, _ zone: String = "UTC", at instant: String
    ) throws -> String {
        let zone = try #require(CalendarZone(identifier: zone))
        return AggregateBuckets(name: "a", length: length, origin: origin, zone: zone).start(at: at(instant)).rfc3339
    }

    @Test func bucketsBeginAtMultiplesOfTheirLengthFromTheOrigin() throws {
        #expect(try start(.microseconds(hour), at: "2026-01-01T02:10:00Z") == "2026-01-01T02:00:00Z")
        #expect(try start(.microseconds(hour), at: "2026-01-01T02:00:00Z") == "2026-01-01T02:00:00Z")
        #expect(
            try start(.microseconds(24 * hour), origin: 5 * hour, at: "2026-01-01T02:00:00Z") == "2025-12-31T05:00:00Z")
        #expect(try start(.microseconds(7 * hour), at: "1969-12-31T23:00:00Z") == "1969-12-31T17:00:00Z")
        #expect(try start(.months(3), at: "2026-05-31T00:00:00Z") == "2026-04-01T00:00:00Z")
        #expect(try start(.months(1), origin: 36 * hour, at: "2026-05-02T00:00:00Z") == "2026-04-02T12:00:00Z")
        #expect(try start(.months(12), at: "1999-12-31T00:00:00Z") == "1999-01-01T00:00:00Z")
    }

    @Test func aZoneHasItsOwnDays() throws {
        #expect(
            try start(.microseconds(24 * hour), "Europe/Berlin", at: "2026-07-01T00:00:00Z") == "2026-06-30T22:00:00Z")
        #expect(try start(.months(1), "Asia/Kathmandu", at: "2026-07-01T00:00:00Z") == "2026-06-30T18:15:00Z")
    }

    /// Both times of 02:30 are in one bucket, on both sides of 02:00 as well as of 01:30.
    @Test(arguments: ["2026-10-25T00:45:00Z", "2026-10-25T01:15:00Z", "2026-10-25T00:00:00Z"])
    func aTimeThatClocksRepeatIsNotDivided(instant: String) throws {
        #expect(try start(.microseconds(hour / 2), "Europe/Berlin", at: instant) == "2026-10-25T00:00:00Z")
    }

    @Test func numbersHaveTheBucketsOfTheirUnit() throws {
        #expect(try #require(DateEncoding.unixSeconds.buckets(width: 100, origin: 7)) == (100_000_000, 7_000_000))
        #expect(try #require(DateEncoding.unixMilliseconds.buckets(width: 60_000, origin: 0)).length == 60_000_000)
        #expect(try #require(DateEncoding.appleSeconds.buckets(width: 60, origin: 0)).origin == 978_307_200_000_000)
        #expect(
            try #require(DateEncoding.unixNanoseconds.buckets(width: 60_000_000_000, origin: 0)).length == 60_000_000)
        #expect(DateEncoding.unixNanoseconds.buckets(width: 1500, origin: 0) == nil)
        #expect(DateEncoding.yyyymmdd.buckets(width: 1, origin: 0) == nil)
        #expect(DateEncoding.unixDays.buckets(width: .max, origin: 0) == nil)
    }

    @Test func beforeAllDatesNothingMoves() throws {
        let buckets = AggregateBuckets(name: "a", length: .months(1), origin: 0, zone: .utc)
        #expect(buckets.start(at: .distantPast) == .distantPast)
    }
}
