import PriceStore
import Testing

@testable import PostgresStore

struct LocalRangeTests {
    /// The range holds a local time exactly if the zone puts it before the instant.
    @Test(arguments: ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
    func holdsTheLocalTimesBeforeTheInstantAndNoOthers(name: String) throws {
        let zone = try #require(CalendarZone(identifier: name))
        let hour: Int64 = 3_600_000_000
        for change in ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-03-08T07:00:00Z", "2026-04-04T15:00:00Z"] {
            for step in stride(from: Int64(-12), through: 12, by: 1) {
                let instant = at(change).advanced(byMicroseconds: step * hour / 4)
                let range = LocalRange(before: instant, zone: zone)
                for offset in stride(from: -30 * hour, through: 30 * hour, by: Int(hour / 8)) {
                    let local = instant.advanced(byMicroseconds: offset)
                    let isInside = local.microseconds < range.end && range.hole?.contains(local.microseconds) != true
                    #expect(
                        isInside == (zone.instant(of: local.civil) < instant),
                        "\(local.rfc3339) before \(instant.rfc3339)")
                }
            }
        }
    }
}
