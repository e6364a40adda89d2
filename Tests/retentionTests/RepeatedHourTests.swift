import Foundation
import PriceStore
import Testing

/// Rows of the hours that clocks show twice, in the running program: no row is deleted before it has passed the age.
struct RepeatedHourTests {
    /// How the local times of a zone are written.
    struct Column: Sendable, CustomTestStringConvertible {
        var format: String
        var type: String
        var pattern: String
        var zone = "Europe/Amsterdam"
        var testDescription: String { "\(format) in \(type) of \(zone)" }
    }

    private static let quarter = 15 * 60
    /// The instants of the ticks, in quarters of an hour from the change of the clocks.
    private static let steps = -12...16

    /// How a column writes local times.
    private func formatter(_ column: Column) throws -> DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        let zone: TimeZone = try #require(TimeZone(identifier: column.zone))
        formatter.timeZone = zone
        formatter.dateFormat = column.pattern
        return formatter
    }

    /// A tick each 15 minutes around the change of the clocks, each with its true instant.
    private func job(_ column: Column, change: Int) throws -> LaunchedJob {
        let formatter = try formatter(column)
        let rows = Self.steps.map { step in
            let instant = change + step * Self.quarter
            return "('\(formatter.string(from: Date(timeIntervalSince1970: Double(instant))))', \(instant))"
        }
        return try LaunchedJob(
            "CREATE TABLE Tick(id INTEGER PRIMARY KEY, at \(column.type), instant INTEGER);"
                + "INSERT INTO Tick(at, instant) VALUES \(rows.joined(separator: ", "));",
            policy: Sample.policy(
                Sample.rule("allow_empty: true", entity: "Tick", format: column.format, age: "10d"),
                head: "timezone: \(column.zone)\nledger: none"), inMemory: true)
    }

    /// 2025-10-26 01:00 UTC is the change in Amsterdam and in the Azores, where midnight occurs twice.
    @Test(arguments: [
        Column(format: "iso8601", type: "TEXT", pattern: "yyyy-MM-dd HH:mm:ss"),
        Column(format: "iso8601", type: "TEXT", pattern: "yyyy-MM-dd'T'HH:mm"),
        Column(format: "yyyymmddhhmmss", type: "INTEGER", pattern: "yyyyMMddHHmmss"),
        Column(format: "yyyymmddhhmmss", type: "TEXT", pattern: "yyyyMMddHHmmss"),
        Column(format: "yyyymmdd", type: "INTEGER", pattern: "yyyyMMdd", zone: "Atlantic/Azores"),
        Column(format: "iso8601", type: "TEXT", pattern: "yyyy-MM-dd", zone: "Atlantic/Azores"),
    ])
    func noRowIsDeletedThatIsYoungerThanTheAge(column: Column) throws {
        let change = 1_761_440_400
        let formatter = try formatter(column)
        func written(_ instant: Int) -> String { formatter.string(from: Date(timeIntervalSince1970: Double(instant))) }
        // From before the first hour to after the second.
        for step in -6...6 {
            let job = try job(column, change: change)
            let asOf = Date(timeIntervalSince1970: Double(change + 10 * 86_400 + step * Self.quarter + 60))
            let run = try job.report("--as-of", asOf.ISO8601Format(), "--accept", "too_large_fraction")
            let cutoff = change + step * Self.quarter + 60
            let young = try job.number("SELECT count(*) FROM Tick WHERE instant >= \(cutoff)")
            #expect(young == 16 - step, "\(asOf) \(run.rules[0].cutoff) \(run)")
            // A row stays no longer than the two hours are apart, or than its day lasts: up to the second of two midnights.
            let taken = Int(try #require(Instant(iso8601: run.rules[0].cutoff)).microseconds / 1_000_000)
            let old = try job.number("SELECT count(*) FROM Tick WHERE instant < \(taken - 3600)")
            let expected = Self.steps.map { change + $0 * Self.quarter }
                .filter { $0 < taken - 3600 && [written(taken), written(taken - 3600)].contains(written($0)) }.count
            #expect(old == expected, "\(asOf) \(run)")
        }
    }

    /// A hold that ends, or begins, at such a time covers both hours.
    @Test(arguments: ["from: 2025-10-26T02:30", "until: 2025-10-26T02:30"])
    func aHoldCoversBothHours(end: String) throws {
        let column = Column(format: "iso8601", type: "TEXT", pattern: "yyyy-MM-dd HH:mm:ss")
        let job = try job(column, change: 1_761_440_400)
        try job.folder.write(
            Sample.policy(
                Sample.rule("allow_empty: true", entity: "Tick", format: "iso8601", age: "10d"),
                head: "timezone: Europe/Amsterdam\nholds: [{ name: tax, entity: Tick, \(end), reason: audit }]"),
            to: "retention.yaml")
        _ = try job.report("--accept", "too_large_fraction")
        let inHours = "SELECT count(*) FROM Tick WHERE at >= '2025-10-26 02' AND at < '2025-10-26 03'"
        #expect(try job.number(inHours) == 8)
        let others = end.hasPrefix("from") ? "at < '2025-10-26 02'" : "at >= '2025-10-26 03'"
        #expect(try job.number("SELECT count(*) FROM Tick WHERE \(others)") == 0)
    }
}
