import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob

@Suite struct RefusalsTests {
    static let day: Int64 = 86_400_000_000
    static let minute: Int64 = 60_000_000
    /// 2026-11-21T00:00:00Z.
    static let clock = Instant(unixSeconds: 1_795_219_200)

    /// A rule and a survey that nothing speaks against: 1,000 rows, 100 of them expired.
    static func harmless() -> Refusals {
        var rule = Rule(
            name: "prices", entity: "Price", dateAttribute: "at", maxAge: maxAge(days: 30),
            marks: Marks(whole: Mark(line: 1, column: 1)))
        rule.dateFormat = .unixSeconds
        var survey = Survey()
        survey.rowCount = 1000
        survey.readableCount = 1000
        survey.expiredCount = 100
        survey.expiredAloneCount = 100
        survey.dates.newestValue = .integer(1_795_219_000)
        survey.dates.newestOfEntity = Instant(unixSeconds: 1_795_219_000)
        return Refusals(
            rule: rule,
            date: DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 31_536_000)),
            cutoff: clock.advanced(byMicroseconds: -30 * day), survey: survey, clock: clock)
    }

    struct Row: CustomTestStringConvertible {
        var name: String
        var refusals: Refusals
        var codes: [RefusalCode]
        var testDescription: String { name }

        init(_ name: String, _ codes: [RefusalCode], _ change: (inout Refusals) -> Void) {
            self.name = name
            self.codes = codes
            refusals = harmless()
            change(&refusals)
        }
    }

    static func unreadable(_ reason: Survey.Unreadable, _ count: Int) -> Survey.UnreadableRows {
        Survey.UnreadableRows(reason: reason, rowCount: count, example: .text("n/a"))
    }

    /// A newest row that a run saw some days ago, and some microseconds.
    static func feed(daysAgo days: Int64, and more: Int64 = 0) -> RunMemory.CarriedOut.Feed {
        .init(newest: .distantPast, since: clock.advanced(byMicroseconds: -days * day - more))
    }

    static func maxAge(days: Int) -> MaxAge {
        var age = MaxAge(written: "\(days)d")
        age.days = Int128(days)
        return age
    }

    /// Seconds of the day before that are read in another format, as a date or, without one, as none.
    static func misread(_ encoding: DateEncoding, newest: Instant? = nil) -> (inout Refusals) -> Void {
        return {
            $0.rule.dateFormat = encoding
            $0.date = DateAttribute(name: "at", encoding: encoding, earliest: Instant(unixSeconds: 31_536_000))
            $0.survey.dates.newestValue = .integer(1_795_132_800)
            $0.survey.dates.newestOfEntity = newest
        }
    }

    static func obstacle(
        _ rule: Relationship.DeleteRule, _ objection: Survey.Obstacle.Objection = .pointing
    ) -> Survey.Obstacle {
        Survey.Obstacle(
            relationship: Relationship(
                source: "Trade", sourceAttributes: ["price"], destination: "Price", destinationAttributes: ["id"],
                deleteRule: rule, isIndexed: true), rowCount: 3, objection: objection)
    }

    static let countRows = [
        Row("nothing speaks against it", []) { _ in },
        Row("all readable rows would go", [.wouldEmptyEntity]) { $0.survey.leavesReadableRows = false },
        Row("all would go, and the rule allows it", []) {
            $0.survey.leavesReadableRows = false
            $0.rule.allowEmpty = true
        },
        Row("an entity without readable rows", []) {
            $0.survey.leavesReadableRows = false
            $0.survey.expiredAloneCount = 0
            $0.survey.expiredCount = 0
        },
        Row("all would go, but an earlier rule counts them", [.wouldEmptyEntity]) {
            $0.survey.leavesReadableRows = false
            $0.survey.expiredCount = 0
        },
        Row("exactly max_rows", []) { $0.rule.limits.maxRows = 100 },
        Row("one more than max_rows", [.tooManyRows]) { $0.rule.limits.maxRows = 99 },
        Row("max_rows 0 and nothing expired", []) {
            $0.rule.limits.maxRows = 0
            $0.survey.expiredCount = 0
        },
        Row("exactly max_fraction", []) { $0.rule.limits.maxFraction = 0.1 },
        Row("a row more than max_fraction", [.tooLargeFraction]) {
            $0.rule.limits.maxFraction = 0.1
            $0.survey.expiredCount = 101
        },
        Row("99 of 100 is not more than 0.99", []) {
            $0.rule.limits.maxFraction = 0.99
            $0.survey.expiredCount = 99
            $0.survey.readableCount = 100
        },
        Row("the fraction is of readable rows", [.tooLargeFraction]) {
            $0.rule.limits.maxFraction = 0.5
            $0.survey.readableCount = 199
        },
        Row("rows that were not counted have no fraction", []) {
            $0.rule.limits.maxFraction = 0.01
            $0.survey.readableCount = nil
            $0.survey.rowCount = nil
            $0.survey.expiredCount = 0
        },
        Row("no limits, everything but one row expired", []) { $0.survey.expiredCount = 999 },
    ]

    static let dateRows = [
        Row("the newest row a day ahead of the clock", []) {
            $0.survey.dates.newestOfEntity = clock.advanced(byMicroseconds: day)
            $0.survey.dates.newestValue = .integer(1_795_219_200 + 86_400)
        },
        Row("the newest row a microsecond more than a day ahead", [.futureDates]) {
            $0.survey.dates.newestOfEntity = clock.advanced(byMicroseconds: day + 1)
        },
        Row("milliseconds read as seconds", [.wrongUnit, .futureDates]) {
            $0.survey.dates.newestValue = .integer(1_795_132_800_000)
            $0.survey.dates.newestOfEntity = Instant(unixSeconds: 1_795_132_800_000)
        },
        Row("seconds read as milliseconds", [.wrongUnit], misread(.unixMilliseconds)),
        Row("seconds read as microseconds", [.wrongUnit], misread(.unixMicroseconds)),
        Row(
            "seconds read as Apple's", [.wrongUnit, .futureDates],
            misread(.appleSeconds, newest: Instant(unixSeconds: 1_795_132_800 + 978_307_200))),
        Row("nanoseconds read as seconds", [.wrongUnit]) {
            $0.survey.dates.newestValue = .integer(1_795_132_800_000_000_000)
            $0.survey.dates.newestOfEntity = nil
        },
        Row("an old date that no other format makes recent", []) {
            $0.survey.dates.newestValue = .integer(100_000_000)
            $0.survey.dates.newestOfEntity = Instant(unixSeconds: 100_000_000)
        },
        Row("the store gives the format", []) {
            $0.rule.isFormatStored = true
            $0.survey.dates.newestValue = .integer(1_795_132_800_000)
        },
        Row("the newest value is NULL", []) { $0.survey.dates.newestValue = .null },
        Row("a text for a number", []) { $0.survey.dates.newestValue = .text("x") },
        Row("no value at all", []) {
            $0.survey.dates.newestValue = nil
            $0.survey.dates.newestOfEntity = nil
        },
        Row("exactly 1 % cannot be read", []) { $0.survey.unreadable = [unreadable(.notADate, 10)] },
        Row("more than 1 % cannot be read", [.mixedFormats]) {
            $0.survey.unreadable = [unreadable(.notADate, 6), unreadable(.wrongType, 5)]
        },
        Row("1 % of the values that are not NULL", [.mixedFormats]) {
            $0.survey.unreadable = [unreadable(.null, 500), unreadable(.wrongType, 6)]
        },
        Row("NULL, sentinels and dates out of bounds are no mixture", []) {
            $0.survey.unreadable = [
                unreadable(.null, 100), unreadable(.sentinel, 100), unreadable(.beforeEarliest, 100),
                unreadable(.afterLatest, 100),
            ]
        },
        Row("only NULLs", []) { $0.survey.unreadable = [unreadable(.null, 1000)] },
    ]

    static let ages: [(days: Int64, codes: [RefusalCode])] = [(1, [.wrongUnit]), (400, [.wrongUnit]), (401, [])]

    static let oldRows = ages.map { days, codes in
        Row("31 years old, and another format makes it \(days) days old", codes) {
            $0.clock = Instant(unixSeconds: 817_000_000 + 978_307_200 + days * 86_400)
            $0.survey.dates.newestValue = .integer(817_000_000)
            $0.survey.dates.newestOfEntity = Instant(unixSeconds: 817_000_000)
        }
    }

    static let clockRows = [
        Row("60 s before the last run", []) {
            $0.memory.ends = [clock.advanced(byMicroseconds: minute)]
        },
        Row("a microsecond more than 60 s before the last run", [.clockMovedBack]) {
            $0.memory.ends = [clock.advanced(byMicroseconds: minute + 1)]
        },
        Row("7 days after the only run", []) {
            $0.memory.ends = [clock.advanced(byMicroseconds: -7 * day)]
            $0.hasRowsSinceLastRun = false
        },
        Row("more than 7 days after the only run", [.clockJumped]) {
            $0.memory.ends = [clock.advanced(byMicroseconds: -7 * day - 1)]
            $0.hasRowsSinceLastRun = false
        },
        Row("more than 7 days, and rows have come since", []) {
            $0.memory.ends = [clock.advanced(byMicroseconds: -7 * day - 1)]
        },
        Row("three times the longest gap", []) {
            $0.memory = RunMemory(ends: [-30 * day, -40 * day].map { clock.advanced(byMicroseconds: $0) })
            $0.hasRowsSinceLastRun = false
        },
        Row("more than three times the longest gap", [.clockJumped]) {
            $0.memory = RunMemory(ends: [-30 * day - 1, -40 * day - 1].map { clock.advanced(byMicroseconds: $0) })
            $0.hasRowsSinceLastRun = false
        },
        Row("three times a short gap, but not 7 days", []) {
            $0.memory = RunMemory(ends: [-6 * day, -6 * day - 60 * minute].map { clock.advanced(byMicroseconds: $0) })
            $0.hasRowsSinceLastRun = false
        },
        Row("no run yet", []) { $0.hasRowsSinceLastRun = false },
        Row("the newest row is the same for 7 days", []) { $0.doubts.stopped = feed(daysAgo: 7) },
        Row("the newest row is the same for longer", [.feedStopped]) {
            $0.doubts.stopped = feed(daysAgo: 7, and: 1)
        },
        Row("the newest row is the same for longer, and nothing expires", []) {
            $0.doubts.stopped = feed(daysAgo: 8)
            $0.survey.expiredCount = 0
        },
        Row("three times the longest gap without a newer row", []) {
            $0.memory.ends = [clock.advanced(byMicroseconds: -31 * day), clock.advanced(byMicroseconds: -41 * day)]
            $0.doubts.stopped = feed(daysAgo: 30)
        },
        Row("more than three times the longest gap without a newer row", [.feedStopped]) {
            $0.memory.ends = [clock.advanced(byMicroseconds: -31 * day), clock.advanced(byMicroseconds: -41 * day)]
            $0.doubts.stopped = feed(daysAgo: 30, and: 1)
        },
        Row("longer than the rule allows", [.feedStopped]) {
            $0.rule.limits.maxSilence = maxAge(days: 2)
            $0.doubts.stopped = feed(daysAgo: 2, and: 1)
        },
        Row("as long as the rule allows", []) {
            $0.rule.limits.maxSilence = maxAge(days: 30)
            $0.doubts.stopped = feed(daysAgo: 30)
        },
    ]

    static let schemaRows = [
        Row("rows stand in the way of a RESTRICT key", [.relationshipDenied]) {
            $0.survey.related.obstacles = [obstacle(.restrict)]
        },
        Row("rows stand in the way of a NO ACTION key", [.relationshipDenied]) {
            $0.survey.related.obstacles = [obstacle(.noAction)]
        },
        Row("the rule denies what the schema cascades", [.relationshipDenied]) {
            $0.rule.relationships = .deny
            $0.survey.related.obstacles = [obstacle(.cascade)]
        },
        Row("a view, of which nothing else can be told", [.unsupportedSchema]) {
            $0.survey.unsupported = "Price is a view"
            $0.survey.leavesReadableRows = false
            $0.survey.related.obstacles = [obstacle(.restrict)]
        },
        Row("a deny rule of a model", [.relationshipDenied]) {
            $0.survey.related.obstacles = [obstacle(.noAction, .denyRule)]
        },
        Row("a mandatory inverse of a model", [.relationshipDenied]) {
            $0.survey.related.obstacles = [obstacle(.noAction, .mandatoryInverse)]
        },
        Row("a relationship without a way back", [.relationshipDenied]) {
            $0.survey.related.obstacles = [obstacle(.noAction, .noInverse)]
        },
    ]

    /// Causes come before what follows from them, and related rows before numbers.
    static let orderRows = [
        Row("a wrong unit", [.wrongUnit, .clockMovedBack, .futureDates, .wouldEmptyEntity, .tooManyRows]) {
            $0.survey.dates.newestValue = .integer(1_795_132_800_000)
            $0.survey.dates.newestOfEntity = Instant(unixSeconds: 1_795_132_800_000)
            $0.survey.leavesReadableRows = false
            $0.rule.limits.maxRows = 1
            $0.memory.ends = [clock.advanced(byMicroseconds: day)]
        },
        Row(
            "related rows",
            [.relationshipDenied, .notArchivable, .wouldEmptyEntity, .tooManyRows, .tooLargeFraction]
        ) {
            $0.survey.leavesReadableRows = false
            ($0.rule.limits.maxRows, $0.rule.limits.maxFraction) = (1, 0.01)
            $0.survey.related.obstacles = [obstacle(.restrict)]
            $0.doubts.archiveObstacle = "there is no archive"
        },
    ]

    @Test(arguments: countRows + dateRows + oldRows + clockRows + schemaRows + orderRows)
    func saysWhatItRefusesAndTheWayPast(_ row: Row) {
        let refusals = row.refusals.all()
        #expect(refusals.map(\.code) == row.codes)
        for refusal in refusals {
            #expect(refusal.message.hasPrefix("refusing to delete from Price: "))
            #expect(refusal.message.contains("--accept \(refusal.code.rawValue)") == refusal.isAcceptable)
        }
    }

    /// Words that a refusal has for what the survey found.
    @Test(arguments: [
        Row(
            "Price: the newest of 1,000 rows reads as 1970-01-21 in unix_milliseconds; in unix_seconds it is 2026-11-20. Is ",
            [], misread(.unixMilliseconds)),
        Row("3 rows of Trade (price) refer to rows that would be deleted, and 1 other relationship too", []) {
            $0.survey.related.obstacles = [obstacle(.restrict), obstacle(.noAction)]
        },
        Row("Trade.price is deny, which a batch delete cannot carry out (Core Data's error 134060); 3 rows", []) {
            $0.survey.related.obstacles = [obstacle(.noAction, .denyRule)]
        },
        Row("would be at its other end; 1 other relationship too", []) {
            $0.survey.related.obstacles = [obstacle(.noAction, .denyRule), obstacle(.noAction, .denyRule)]
        },
        Row("1 row of Trade.price refers to rows that would be deleted, and the model has no inverse", []) {
            $0.survey.related.obstacles = [obstacle(.noAction, .noInverse)]
            $0.survey.related.obstacles[0].rowCount = 1
        },
        Row("this cannot be accepted; delete those rows first", []) {
            $0.rule.entity = "Market"
            $0.survey.related.obstacles = [obstacle(.restrict)]
        },
        Row(
            "no readable row would be left: 1 row is older than the cutoff 2026-10-22T00:00:00Z, and 2 newer rows are",
            []
        ) {
            $0.survey.leavesReadableRows = false
            $0.survey.expiredAloneCount = 1
            $0.survey.related.cascadedCounts = ["price": 2]
        },
        Row(
            "no readable row would be left: 100 rows are older than the cutoff 2026-10-22T00:00:00Z, and 1 newer row is",
            []
        ) {
            $0.survey.leavesReadableRows = false
            $0.survey.related.cascadedCounts = ["price": 1]
        },
        Row("days lacks rows. If no row of that time was deleted before: REFRESH days; to accept", []) {
            $0.survey.losses.aggregates = .init("days lacks rows", oldest: clock, statement: "REFRESH days")
        },
        Row("days lacks rows. To materialize them: REFRESH days; to accept", []) {
            $0.survey.losses.aggregates = .init("days lacks rows", oldest: clock, statement: "REFRESH days")
            $0.memory.crashedAsOf = clock
        },
        Row("days lacks rows. Earlier runs may have deleted rows before 2026-10-22T00:00:00Z", []) {
            $0.survey.losses.aggregates = .init("days lacks rows", oldest: .distantPast, statement: "REFRESH days")
            $0.memory.crashedAsOf = clock
        },
        Row("name Price in 'except' of the rule", []) {
            $0.survey.unsupported = "Price is a view"
            $0.rule.family = .init(name: "prices", entity: "P*")
        },
        Row("days lacks rows. Other rules of the policy delete rows of Price, and a refresh makes a bucket of", []) {
            $0.survey.losses.aggregates = .init("days lacks rows", oldest: clock, statement: "REFRESH days")
            $0.sharesEntity = true
            $0.memory.crashedAsOf = clock
        },
        Row("1 of 1 sampled row that would be deleted are recent in unix_seconds, up to 2026-10-20", []) {
            $0.rule.dateFormat = .unixMilliseconds
            $0.date = DateAttribute(name: "at", encoding: .unixMilliseconds)
            $0.survey.dates.newestValue = .integer(1_795_219_000_000)
            $0.doubts.misread = MisreadRows(
                [.integer(1_792_454_400)], date: $0.date, cutoff: clock.advanced(byMicroseconds: -40 * day),
                clock: clock)
        },
    ]) func saysWhatTheSurveyFound(_ row: Row) {
        let messages = row.refusals.all().map(\.message)
        #expect(messages.contains { $0.contains(row.name) }, "\(messages)")
    }

    /// What a model denies can only be changed there.
    @Test func aDenialOfTheModelCannotBeAccepted() {
        var refusals = Self.harmless()
        refusals.survey.related.obstacles = [Self.obstacle(.noAction, .denyRule)]
        #expect(refusals.all().map(\.isAcceptable) == [false])
    }
}
