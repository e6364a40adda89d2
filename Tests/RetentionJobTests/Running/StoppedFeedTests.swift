import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// The rows of a feed that has died stay, until rows arrive again.
struct StoppedFeedTests {
    private let bench = RunBench()

    private func refusals(_ nights: [Int64], _ file: PriceFile) throws -> [RefusalCode?] {
        try nights.map { try bench.night($0, file).refusal }
    }

    @Test func aFeedThatHasStoppedKeepsItsRows() throws {
        let file = try PriceFile(daysOld: 0..<60)
        #expect(try bench.night(0, file).done.deleted == 29)
        #expect(bench.recorder.past.rules.count == 1)
        for number in 1...7 { #expect(try bench.night(Int64(number), file).done.deleted == 1) }
        for number in 8...9 {
            let rule = try bench.night(Int64(number), file)
            #expect(rule.refusal == .feedStopped && rule.done.deleted == 0)
            // That row may be gone.
            let day = "2026-11-21 00:00:00Z"
            #expect(rule.message?.contains("no row newer than \(day) has arrived since \(day), and limits") == true)
        }
        try file.addPrices(daysOld: [-9])
        #expect(try bench.night(10, file).done.deleted == 3)
        // From here on this row is the newest.
        #expect(try refusals([17, 18], file) == [nil, .feedStopped])
    }

    /// A rule that waits for another reason still sees how far its rows have come.
    @Test func aFeedStopsAlsoWhileItsRuleWaits() throws {
        let file = try PriceFile(daysOld: 0..<60)
        func night(_ number: Int64, accept: Set<RefusalCode> = []) throws -> RefusalCode? {
            bench.options.accept = accept
            return try bench.night(number, file, .prices { $0.limits.maxRows = 1 }).refusal
        }
        #expect(try night(0, accept: [.tooManyRows]) == nil)
        try file.addPrices(daysOld: [-1])
        for number in 2...9 { #expect(try night(Int64(number)) == .tooManyRows) }
        #expect(try night(10, accept: [.tooManyRows]) == .feedStopped)
    }

    /// A row of the future does not make a feed live.
    @Test func aFeedWithARowOfTheFutureHasStoppedToo() throws {
        bench.options.accept = [.futureDates]
        let file = try PriceFile(daysOld: Array(0..<60) + [-400])
        #expect(try refusals([0, 7, 8], file) == [nil, nil, .feedStopped])
    }

    /// The time without runs began after the last row had come, so it does not count as one between two runs.
    @Test func aFeedThatStoppedBeforeATimeWithoutRunsIsRefusedInEachRun() throws {
        bench.options.accept = [.clockJumped]
        let found = try refusals([0, 1, 25, 25, 26], PriceFile(daysOld: 0..<60))
        #expect(found == [nil, nil, .feedStopped, .feedStopped, .feedStopped])
    }

    /// What a rule keeps of its rows says nothing about their feed.
    @Test(arguments: [
        Rule.prices { $0.keepLast = Rule.KeepLastSetting(count: 3, per: []) },
        .prices { $0.thin = Rule.ThinSetting(tiers: [.init(.year, age: nil)]) },
        .prices { $0.latest = Instant(unixSeconds: 1_900_000_000) },
    ]) func aFeedHasStoppedAlsoForARuleThatChanges(_ changed: Rule) throws {
        let file = try PriceFile(daysOld: 0..<60)
        #expect(try refusals([0, 5], file) == [nil, nil])
        for number in 8...9 {
            let rule = try bench.night(Int64(number), file, changed)
            #expect(rule.refusal == .feedStopped && rule.done.deleted == 0)
        }
    }
}
