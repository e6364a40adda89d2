import PriceStore
import Testing

struct CandleBucketsTests {
    private func bucket(
        _ length: CandleBuckets.Length, at instant: String, in zone: String = "UTC", from start: Int = 0
    ) throws -> [String] {
        let zone = try #require(CalendarZone(identifier: zone))
        let bucket = try CandleBuckets(length, zone: zone, sessionStart: start)
            .bucket(at: #require(Instant(iso8601: instant)))
        return [bucket.lowerBound.rfc3339, bucket.upperBound.rfc3339]
    }

    @Test func minutesAreCountedFromTheStartOfTheSession() throws {
        #expect(
            try bucket(.minutes(5), at: "2026-03-02T10:04:59.999999Z") == [
                "2026-03-02T10:00:00Z", "2026-03-02T10:05:00Z",
            ])
        #expect(
            try bucket(.minutes(5), at: "2026-03-02T10:05:00Z") == ["2026-03-02T10:05:00Z", "2026-03-02T10:10:00Z"])
        // 17:00 in New York is 22:00 in UTC.
        #expect(
            try bucket(.minutes(240), at: "2026-03-03T01:59:59Z", in: "America/New_York", from: 61_200) == [
                "2026-03-02T22:00:00Z", "2026-03-03T02:00:00Z",
            ])
    }

    @Test func aSessionAfterNoonBelongsToTheNextDay() throws {
        // Friday evening is Saturday's session; the week begins on Sunday at 17:00, the month on the last day before it.
        #expect(
            try bucket(.unit(.day), at: "2026-03-06T22:00:00Z", in: "America/New_York", from: 61_200) == [
                "2026-03-06T22:00:00Z", "2026-03-07T22:00:00Z",
            ])
        #expect(
            try bucket(.unit(.week), at: "2026-03-01T21:59:59Z", in: "America/New_York", from: 61_200) == [
                "2026-02-22T22:00:00Z", "2026-03-01T22:00:00Z",
            ])
        #expect(
            try bucket(.unit(.month), at: "2026-02-28T22:00:00Z", in: "America/New_York", from: 61_200) == [
                "2026-02-28T22:00:00Z", "2026-03-31T21:00:00Z",
            ])
        // Until noon it belongs to its own day.
        #expect(
            try bucket(.unit(.week), at: "2026-03-02T08:59:59Z", from: 32_400) == [
                "2026-02-23T09:00:00Z", "2026-03-02T09:00:00Z",
            ])
    }

    @Test func aDayThatTheClocksChangeIsOneSession() throws {
        #expect(
            try bucket(.unit(.day), at: "2026-03-29T12:00:00Z", in: "Europe/Berlin") == [
                "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z",
            ])
        // 23 hours are 5 buckets of 4 hours, and one of 3.
        #expect(
            try bucket(.minutes(240), at: "2026-03-29T21:00:00Z", in: "Europe/Berlin") == [
                "2026-03-29T19:00:00Z", "2026-03-29T22:00:00Z",
            ])
        // 25 hours are 6 of them, and one of 1.
        #expect(
            try bucket(.minutes(240), at: "2026-10-25T22:30:00Z", in: "Europe/Berlin") == [
                "2026-10-25T22:00:00Z", "2026-10-25T23:00:00Z",
            ])
        // Clocks on Lord Howe Island change by half an hour.
        #expect(
            try bucket(.minutes(60), at: "2026-10-04T12:45:00Z", in: "Australia/Lord_Howe") == [
                "2026-10-04T12:30:00Z", "2026-10-04T13:00:00Z",
            ])
    }

    /// Buckets leave no gap and do not overlap, whatever the clocks do.
    @Test(arguments: ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia"])
    func eachInstantIsInOneBucket(zone: String) throws {
        let zone = try #require(CalendarZone(identifier: zone))
        for length in [CandleBuckets.Length.minutes(45), .minutes(720), .unit(.day), .unit(.week), .unit(.month)] {
            for start in [0, 32_400, 61_200, 84_600] {
                let buckets = CandleBuckets(length, zone: zone, sessionStart: start)
                var instant = try #require(Instant(iso8601: "2011-12-01T00:00:00Z"))
                let end = instant.advanced(byMicroseconds: 400 * 86_400_000_000)
                var previous: Range<Instant>?
                while instant < end {
                    let bucket = buckets.bucket(at: instant)
                    #expect(bucket.contains(instant) && buckets.bucket(at: bucket.lowerBound) == bucket)
                    if let previous { #expect(previous.upperBound == bucket.lowerBound, "\(length) from \(start)") }
                    previous = bucket
                    instant = bucket.upperBound
                }
            }
        }
    }
}
