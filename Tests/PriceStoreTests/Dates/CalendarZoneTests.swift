import Foundation
import PriceStore
import TestSupport
import Testing

struct CalendarZoneTests {
    static func zone(_ name: String) throws -> CalendarZone { try #require(CalendarZone(identifier: name)) }

    @Test(arguments: ["UTC", "Etc/UTC", "GMT", "Z"])
    func allNamesOfUTCAreOneZone(name: String) {
        #expect(CalendarZone(identifier: name) == .utc)
        #expect(CalendarZone(identifier: name)?.isUTC == true)
    }

    @Test(arguments: [
        "", "Berlin", "Europe/Berlinn", "europe/berlin", "GMT+2", "UTC+3", "+02:00", "PST", "Mars/Phobos", "Europe/",
        "posix/Europe/Berlin", " UTC", "utc", "../etc/passwd",
    ])
    func refusesWhatIsNoIANAName(name: String) {
        #expect(CalendarZone(identifier: name) == nil)
    }

    @Test(arguments: ["Europe/Berlin", "US/Eastern", "Asia/Calcutta", "CET", "Etc/GMT+5", "America/Argentina/Ushuaia"])
    func takesIANANames(name: String) throws {
        let zone = try CalendarZoneTests.zone(name)
        #expect(zone.identifier == name)
        #expect(!zone.isUTC)
        #expect(Set([zone]).contains(try CalendarZoneTests.zone(name)))
    }

    struct LocalTime: Sendable, CustomTestStringConvertible {
        var zone: String
        var local: CivilDateTime
        var utc: String
        var testDescription: String { "\(zone) \(local.date) \(local.hour):\(local.minute)" }

        init(_ zone: String, _ date: (Int, Int, Int), _ hour: Int, _ minute: Int, _ utc: String) {
            self.zone = zone
            self.local = CivilDateTime(CivilDate(year: date.0, month: date.1, day: date.2), hour: hour, minute: minute)
            self.utc = utc
        }
    }

    @Test(arguments: [
        LocalTime("Europe/Berlin", (2026, 3, 29), 1, 59, "2026-03-29T00:59:00Z"),
        LocalTime("Europe/Berlin", (2026, 3, 29), 2, 0, "2026-03-29T01:00:00Z"),
        LocalTime("Europe/Berlin", (2026, 3, 29), 2, 30, "2026-03-29T01:30:00Z"),
        LocalTime("Europe/Berlin", (2026, 3, 29), 3, 0, "2026-03-29T01:00:00Z"),
        LocalTime("America/Sao_Paulo", (2018, 11, 4), 0, 0, "2018-11-04T03:00:00Z"),
        LocalTime("America/Sao_Paulo", (2018, 11, 4), 0, 30, "2018-11-04T03:30:00Z"),
        LocalTime("America/Sao_Paulo", (2018, 11, 4), 1, 0, "2018-11-04T03:00:00Z"),
        LocalTime("Pacific/Apia", (2011, 12, 29), 23, 59, "2011-12-30T09:59:00Z"),
        LocalTime("Pacific/Apia", (2011, 12, 30), 0, 0, "2011-12-30T10:00:00Z"),
        LocalTime("Pacific/Apia", (2011, 12, 30), 12, 0, "2011-12-30T22:00:00Z"),
        LocalTime("Pacific/Apia", (2011, 12, 31), 0, 0, "2011-12-30T10:00:00Z"),
    ])
    func aSkippedLocalTimeUsesTheOffsetBeforeTheGap(row: LocalTime) throws {
        #expect(try CalendarZoneTests.zone(row.zone).instant(of: row.local).rfc3339 == row.utc)
    }

    @Test(arguments: [
        LocalTime("Europe/Berlin", (2026, 10, 25), 1, 59, "2026-10-24T23:59:00Z"),
        LocalTime("Europe/Berlin", (2026, 10, 25), 2, 0, "2026-10-25T01:00:00Z"),
        LocalTime("Europe/Berlin", (2026, 10, 25), 2, 59, "2026-10-25T01:59:00Z"),
        LocalTime("Europe/Berlin", (2026, 10, 25), 3, 0, "2026-10-25T02:00:00Z"),
        LocalTime("America/Sao_Paulo", (2018, 2, 17), 23, 30, "2018-02-18T02:30:00Z"),
        LocalTime("America/Sao_Paulo", (2018, 2, 18), 0, 0, "2018-02-18T03:00:00Z"),
        LocalTime("Australia/Lord_Howe", (2026, 4, 5), 1, 45, "2026-04-04T15:15:00Z"),
        LocalTime("Atlantic/Azores", (2026, 10, 25), 0, 0, "2026-10-25T01:00:00Z"),
    ])
    func ofALocalTimeThatOccursTwiceTheLaterIsMeant(row: LocalTime) throws {
        #expect(try CalendarZoneTests.zone(row.zone).instant(of: row.local).rfc3339 == row.utc)
    }

    /// A day begins at the first of its midnights.
    @Test func aDayBeginsAtTheFirstOfTwoMidnights() throws {
        let azores = try CalendarZoneTests.zone("Atlantic/Azores")
        #expect(
            azores.startOfDay(CivilDate(year: 2026, month: 10, day: 25)).rfc3339 == "2026-10-25T00:00:00Z")
    }

    /// The clocks themselves are asked, minute by minute.
    @Test(arguments: [
        ("Europe/Berlin", "2026-10-25T01:00:00Z", 60), ("America/New_York", "2026-11-01T06:00:00Z", 60),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z", 30), ("America/Havana", "2026-11-01T05:00:00Z", 60),
        ("Atlantic/Azores", "2026-10-25T01:00:00Z", 60), ("America/Sao_Paulo", "2018-02-18T02:00:00Z", 60),
        ("Asia/Shanghai", "1990-09-15T17:00:00Z", 60), ("Europe/Berlin", "2026-03-29T01:00:00Z", 0),
    ])
    func noLaterInstantShowsTheLocalTimeOfTheOneThatIsRead(name: String, change: String, minutes twice: Int) throws {
        let zone = try CalendarZoneTests.zone(name)
        let middle = try #require(Instant(iso8601: change))
        let minutes = (-240...240).map { middle.advanced(byMicroseconds: $0 * 60_000_000) }
        let shown = minutes.map { zone.civil(of: $0) }
        var repeated = 0
        for (index, civil) in shown.enumerated() {
            let last = shown.lastIndex(of: civil) ?? index
            let first = shown.firstIndex(of: civil) ?? index
            if first != last { repeated += 1 }
            #expect(zone.instant(of: civil) == minutes[last] && zone.instant(of: civil, .first) == minutes[first])
            let isTwice = zone.repeatedTime(around: minutes[index]) != nil
            #expect(isTwice == (first != last), "\(minutes[index].rfc3339)")
        }
        // Each of them is there two times.
        #expect(repeated == 2 * twice)
    }

    @Test(arguments: [
        "UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca", "America/St_Johns",
        "Australia/Lord_Howe", "Asia/Kathmandu", "America/Juneau", "Asia/Manila",
    ])
    func localTimesAreFoundationsAndComeBack(name: String) throws {
        let zone = try CalendarZoneTests.zone(name)
        let foundation = try #require(TimeZone(identifier: name))
        var random = SeededRandom(1)
        var repeated = 0
        for _ in 0..<20_000 {
            let seconds = Int64.random(in: -5_000_000_000...5_000_000_000, using: &random)
            let instant = Instant(unixSeconds: seconds)
            let civil = zone.civil(of: instant)
            let offset = foundation.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
            let local = CalendarZone.utc.civil(of: Instant(unixSeconds: seconds + Int64(offset)))
            #expect(civil == local)
            let back = zone.instant(of: civil)
            if back != instant {
                repeated += 1
                #expect(back > instant && zone.civil(of: back) == civil)
            }
        }
        #expect(repeated < 100)
    }

    @Test func farAwayInstantsDoNotTrap() throws {
        for zone in [CalendarZone.utc, try CalendarZoneTests.zone("Europe/Berlin")] {
            for instant in [Instant.distantPast, .distantFuture] {
                #expect(zone.instant(of: zone.civil(of: instant)) == instant)
            }
            #expect(zone.instant(of: CivilDateTime(CivilDate(year: .max, month: 1, day: 1))) == .distantFuture)
            #expect(zone.instant(of: CivilDateTime(CivilDate(year: .min, month: 1, day: 1))) == .distantPast)
        }
    }

    @Test func oneZoneServesManyThreads() async throws {
        let zone = try CalendarZoneTests.zone("America/New_York")
        let sums = await withTaskGroup(of: Int64.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<5000).reduce(Int64(0)) { sum, day in
                        sum &+ zone.startOfDay(CivilDate(dayNumber: day)).microseconds
                    }
                }
            }
            return await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(sums.count == 1)
    }
}
