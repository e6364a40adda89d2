import PriceStore
import RetentionPolicy
import TestSupport
import Testing

struct CutoffTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var asOf: String
        var age: MaxAge
        var align: CalendarUnit?
        var zone: String
        var cutoff: String
        var testDescription: String { "\(asOf) - \(age.written) \(align?.rawValue ?? "") in \(zone)" }

        init(_ asOf: String, _ age: MaxAge, align: CalendarUnit? = nil, in zone: String = "UTC", is cutoff: String) {
            self.asOf = asOf
            self.age = age
            self.align = align
            self.zone = zone
            self.cutoff = cutoff
        }
    }

    static func cutoff(_ row: Row) throws -> String {
        let zone = try #require(CalendarZone(identifier: row.zone))
        let asOf = try #require(Instant(iso8601: row.asOf))
        return Cutoff.instant(asOf: asOf, maxAge: row.age, align: row.align, zone: zone).rfc3339
    }

    @Test(arguments: [
        Row("2026-11-21T00:00:00Z", .of(days: 30), is: "2026-10-22T00:00:00Z"),
        Row("2026-11-21T00:00:00Z", .of(days: 7), is: "2026-11-14T00:00:00Z"),
        Row("2026-11-21T10:11:12.345678Z", .of(weeks: 1), is: "2026-11-14T10:11:12.345678Z"),
        Row("2026-03-31T12:00:00Z", .of(months: 1), is: "2026-02-28T12:00:00Z"),
        Row("2024-03-31T12:00:00Z", .of(months: 1), is: "2024-02-29T12:00:00Z"),
        Row("2024-02-29T00:00:00Z", .of(years: 1), is: "2023-02-28T00:00:00Z"),
        Row("2024-02-29T00:00:00Z", .of(years: 4), is: "2020-02-29T00:00:00Z"),
        Row("2000-02-29T00:00:00Z", .of(years: 100), is: "1900-02-28T00:00:00Z"),
        Row("2026-11-21T00:00:00Z", .of(years: 1, months: 6), is: "2025-05-21T00:00:00Z"),
        Row("2026-01-31T00:00:00Z", .of(years: 1, months: 11), is: "2024-02-29T00:00:00Z"),
        // Clamped to the month's end before days are taken off.
        Row("2026-03-31T00:00:00Z", .of(months: 1, days: 1), is: "2026-02-27T00:00:00Z"),
        Row("2026-01-15T00:00:00Z", .of(months: 13), is: "2024-12-15T00:00:00Z"),
        Row("2026-11-21T00:00:00Z", .of(days: 1, hours: 1, minutes: 1, seconds: 1), is: "2026-11-19T22:58:59Z"),
        Row("1970-01-01T00:00:00Z", .of(seconds: 1), is: "1969-12-31T23:59:59Z"),
    ])
    func takesOffTheAge(row: Row) throws {
        #expect(try CutoffTests.cutoff(row) == row.cutoff)
    }

    @Test(arguments: [
        ("2026-11-21T00:00:00Z", MaxAge.of(days: 30), "UTC", "2026-12-21T00:00:00Z"),
        ("2026-01-31T12:00:00Z", MaxAge.of(months: 1), "UTC", "2026-02-28T12:00:00Z"),
        ("2024-02-29T00:00:00Z", MaxAge.of(years: 1, days: 1), "UTC", "2025-03-01T00:00:00Z"),
        ("2026-10-24T10:00:00Z", MaxAge.of(days: 1), "Europe/Berlin", "2026-10-25T11:00:00Z"),
        ("2026-10-24T10:00:00Z", MaxAge.of(hours: 24), "Europe/Berlin", "2026-10-25T10:00:00Z"),
        // 02:30 is there twice on 25 October: the later.
        ("2026-10-24T00:30:00Z", MaxAge.of(days: 1), "Europe/Berlin", "2026-10-25T01:30:00Z"),
        ("2026-11-21T00:00:00.000001Z", MaxAge.of(seconds: 1), "UTC", "2026-11-21T00:00:01.000001Z"),
    ])
    func addsTheAge(start: String, age: MaxAge, zone: String, end: String) throws {
        let zone = try #require(CalendarZone(identifier: zone))
        #expect(Cutoff.end(of: age, from: try #require(Instant(iso8601: start)), zone: zone).rfc3339 == end)
    }

    @Test func theEndOfAnAgeIsNeverBeforeItsStart() {
        let start = Instant(unixSeconds: 1_795_219_200)
        for age in [MaxAge.of(years: 9999), .of(months: 120_000), .of(days: 3_650_000), .of(hours: 1)] {
            #expect(Cutoff.end(of: age, from: start, zone: .utc) > start)
        }
        #expect(Cutoff.end(of: .of(seconds: 1), from: Instant(microseconds: .max), zone: .utc).microseconds == .max)
    }

    @Test(arguments: [
        // 02:30 does not exist on 29 March: the offset before the gap.
        Row("2026-03-30T00:30:00Z", .of(days: 1), in: "Europe/Berlin", is: "2026-03-29T01:30:00Z"),
        // A day is 23, 24 or 25 hours; 24 hours are 24 hours.
        Row("2026-03-29T10:00:00Z", .of(days: 1), in: "Europe/Berlin", is: "2026-03-28T11:00:00Z"),
        Row("2026-03-29T10:00:00Z", .of(hours: 24), in: "Europe/Berlin", is: "2026-03-28T10:00:00Z"),
        Row("2026-10-25T11:00:00Z", .of(days: 1), in: "Europe/Berlin", is: "2026-10-24T10:00:00Z"),
        // 02:30 is there twice on 25 October: the first.
        Row("2026-10-26T01:30:00Z", .of(days: 1), in: "Europe/Berlin", is: "2026-10-25T00:30:00Z"),
        // Exact units do not go through local time, also in the second 02:30.
        Row("2026-10-25T01:30:00Z", .of(hours: 1), in: "Europe/Berlin", is: "2026-10-25T00:30:00Z"),
        Row("2018-11-05T02:00:00Z", .of(days: 1), in: "America/Sao_Paulo", is: "2018-11-04T03:00:00Z"),
        Row("2018-11-04T03:00:00Z", .of(months: 1), in: "America/Sao_Paulo", is: "2018-10-04T04:00:00Z"),
        // The zone had no 30 December 2011.
        Row("2012-01-01T10:00:00Z", .of(days: 2), in: "Pacific/Apia", is: "2011-12-30T10:00:00Z"),
        Row("2012-01-01T10:00:00Z", .of(days: 3), in: "Pacific/Apia", is: "2011-12-30T10:00:00Z"),
        Row("2012-01-01T11:00:00Z", .of(days: 3), in: "Pacific/Apia", is: "2011-12-30T11:00:00Z"),
        Row("2012-01-01T11:00:00Z", .of(days: 4), in: "Pacific/Apia", is: "2011-12-29T11:00:00Z"),
    ])
    func calendarUnitsAreLocal(row: Row) throws {
        #expect(try CutoffTests.cutoff(row) == row.cutoff)
    }

    @Test(arguments: [
        Row("2026-11-21T10:20:30.5Z", .of(days: 1), align: .hour, is: "2026-11-20T10:00:00Z"),
        Row("2026-11-21T10:20:30.5Z", .of(days: 1), align: .day, is: "2026-11-20T00:00:00Z"),
        Row("2026-11-21T10:20:30.5Z", .of(days: 1), align: .week, is: "2026-11-16T00:00:00Z"),
        Row("2026-11-21T10:20:30.5Z", .of(days: 1), align: .month, is: "2026-11-01T00:00:00Z"),
        Row("2026-11-17T00:00:00Z", .of(days: 1), align: .week, is: "2026-11-16T00:00:00Z"),
        Row("2026-11-16T00:00:00Z", .of(days: 1), align: .week, is: "2026-11-09T00:00:00Z"),
        Row("1970-01-02T00:00:00Z", .of(days: 1), align: .week, is: "1969-12-29T00:00:00Z"),
        Row("1969-12-28T00:00:00Z", .of(hours: 1), align: .hour, is: "1969-12-27T23:00:00Z"),
        Row("2026-11-21T10:00:00Z", .of(days: 1), align: .hour, is: "2026-11-20T10:00:00Z"),
        Row("2026-03-30T10:00:00Z", .of(days: 1), align: .day, in: "Europe/Berlin", is: "2026-03-28T23:00:00Z"),
        Row("2026-10-26T10:00:00Z", .of(days: 1), align: .day, in: "Europe/Berlin", is: "2026-10-24T22:00:00Z"),
        Row("2026-11-21T10:00:00Z", .of(days: 1), align: .month, in: "Europe/Berlin", is: "2026-10-31T23:00:00Z"),
        Row("2026-11-21T10:00:00Z", .of(days: 1), align: .hour, in: "Asia/Kathmandu", is: "2026-11-20T09:15:00Z"),
        // Midnight is skipped, and the day begins at one o'clock.
        Row("2018-11-05T12:00:00Z", .of(days: 1), align: .day, in: "America/Sao_Paulo", is: "2018-11-04T03:00:00Z"),
        // The day that is left out.
        Row("2011-12-31T12:00:00Z", .of(hours: 12), align: .day, in: "Pacific/Apia", is: "2011-12-30T10:00:00Z"),
        // 00:01 fell back to 23:01 of the day before, but Sunday had begun.
        Row("2006-10-29T04:00:00Z", .of(hours: 1), align: .day, in: "America/St_Johns", is: "2006-10-29T02:30:00Z"),
    ])
    func alignmentMovesBackToTheStart(row: Row) throws {
        #expect(try CutoffTests.cutoff(row) == row.cutoff)
    }

    @Test func absurdAgesDeleteNothing() {
        let asOf = Instant(unixSeconds: 1_795_132_800)
        let ages: [MaxAge] = [
            .of(years: .max), .of(months: .max), .of(weeks: .max), .of(days: .max), .of(hours: .max),
            .of(minutes: .max), .of(years: 400_000), .of(days: 200_000_000),
            .of(
                years: .max, months: .max, weeks: .max, days: .max, hours: .max, minutes: .max, seconds: .max),
        ]
        for age in ages {
            for align in [nil] + CalendarUnit.allCases {
                #expect(Cutoff.instant(asOf: asOf, maxAge: age, align: align, zone: .utc) == .distantPast)
            }
        }
        let seconds = Cutoff.instant(asOf: asOf, maxAge: .of(seconds: .max), align: nil, zone: .utc)
        #expect(seconds == .distantPast)
        #expect(Cutoff.instant(asOf: .distantPast, maxAge: .of(days: 1), align: .month, zone: .utc) == .distantPast)
    }

    @Test(arguments: [
        "UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "America/St_Johns", "Australia/Lord_Howe",
        "Africa/Casablanca", "America/Havana",
    ])
    func aLongerAgeNeverGivesALaterCutoff(name: String) throws {
        let zone = try #require(CalendarZone(identifier: name))
        var random = SeededRandom(10)
        let units: [WritableKeyPath<MaxAge, Int128>] = [\.months, \.days, \.seconds]
        let largest: [Int128] = [700, 20_000, 1_800_000_000]
        for _ in 0..<6000 {
            let asOf = Instant(microseconds: .random(in: 600_000_000_000_000...1_900_000_000_000_000, using: &random))
            let unit = Int.random(in: 0..<units.count, using: &random)
            var shorter = MaxAge(written: "")
            shorter[keyPath: units[unit]] = .random(in: 1...largest[unit], using: &random)
            var longer = shorter
            longer[keyPath: units[unit]] += Bool.random(using: &random) ? 1 : .random(in: 1...100, using: &random)
            if Bool.random(using: &random), unit < 2 { longer.seconds += 1 }
            for align in [nil] + CalendarUnit.allCases {
                let early = Cutoff.instant(asOf: asOf, maxAge: longer, align: align, zone: zone)
                let late = Cutoff.instant(asOf: asOf, maxAge: shorter, align: align, zone: zone)
                #expect(early <= late, "\(asOf.rfc3339) \(shorter) \(longer)")
                #expect(late <= asOf)
            }
        }
    }

    @Test func alignmentNeverMovesForwardAndKeepsOrderAroundClockChanges() throws {
        for name in ["America/St_Johns", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe", "Europe/Berlin"] {
            let zone = try #require(CalendarZone(identifier: name))
            for change in [
                "2006-10-29T02:31:00Z", "2018-11-04T03:00:00Z", "2011-12-30T10:00:00Z", "2018-02-18T02:00:00Z",
            ] {
                let middle = try #require(Instant(iso8601: change))
                for align in CalendarUnit.allCases {
                    var previous = Instant.distantPast
                    for minute in -1600...1600 {
                        let asOf = middle.advanced(byMicroseconds: Int64(minute) * 60_000_000)
                        let cutoff = Cutoff.instant(asOf: asOf, maxAge: .of(seconds: 30), align: align, zone: zone)
                        #expect(cutoff < asOf && cutoff >= previous)
                        previous = cutoff
                    }
                }
            }
        }
    }

    /// Seven minutes and a day have a common start each seven days.
    @Test func aggregatesMoveACutoffToAStartOfEach() throws {
        var rule = Rule(
            name: "gold", entity: "q", dateAttribute: "at", maxAge: .of(days: 1),
            marks: Marks(whole: Mark(line: 1, column: 1)))
        let asOf = try #require(Instant(iso8601: "2026-01-11T12:00:00Z"))
        func buckets(minutes: Int64, zone: CalendarZone = .utc) -> AggregateBuckets {
            AggregateBuckets(name: "a", length: .microseconds(minutes * 60_000_000), origin: 0, zone: zone)
        }
        for (minutes, cutoff) in [
            ([60], "2026-01-10T12:00:00Z"), ([1440], "2026-01-10T00:00:00Z"), ([7, 1440], "2026-01-08T00:00:00Z"),
            ([1440, 60, 7], "2026-01-08T00:00:00Z"),
        ] as [([Int64], String)] {
            rule.aggregates = minutes.map { buckets(minutes: $0) }
            #expect(rule.cutoff(asOf: asOf, zone: .utc).rfc3339 == cutoff)
        }
        // Days of two zones have none: the store refuses the cutoff.
        let berlin = try #require(CalendarZone(identifier: "Europe/Berlin"))
        rule.aggregates = [buckets(minutes: 1440), buckets(minutes: 1440, zone: berlin)]
        #expect(rule.cutoff(asOf: asOf, zone: .utc).rfc3339 == "2026-01-10T12:00:00Z")
    }
}

extension MaxAge {
    fileprivate static func of(
        years: Int = 0, months: Int = 0, weeks: Int = 0, days: Int = 0, hours: Int = 0, minutes: Int = 0,
        seconds: Int = 0
    ) -> MaxAge {
        var age = MaxAge(written: "\(years)y\(months)mo\(weeks)w\(days)d\(hours)h\(minutes)min\(seconds)s")
        age.months = Int128(years) * 12 + Int128(months)
        age.days = Int128(weeks) * 7 + Int128(days)
        age.seconds = Int128(hours) * 3600 + Int128(minutes) * 60 + Int128(seconds)
        return age
    }
}
