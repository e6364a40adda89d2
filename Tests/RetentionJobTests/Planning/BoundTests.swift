import GRDB
import PriceStore
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

@testable import RetentionJob

/// Bounds by rows and by size, against the rows themselves.
@Suite struct BoundTests {
    /// The dates that a random table has, as it stores them, and the end of what each means, in microseconds.
    private func dates(_ encoding: DateEncoding, _ random: inout SeededRandom) -> [(sql: String, end: Int64)] {
        let now = PriceFile.now.microseconds / 1_000_000
        // Few different dates, so that several rows share one.
        let choices = Int64.random(in: 1...400, using: &random)
        let isDense = Bool.random(using: &random)
        return (0..<Int.random(in: 0...600, using: &random)).map { _ in
            let step = isDense ? 60 : 21_600
            let seconds = now - Int64.random(in: 0..<choices, using: &random) * Int64(step)
            let second = seconds * 1_000_000
            switch encoding {
            case .unixDays:
                let day = seconds / 86_400
                return ("\(day)", (day + 1) * 86_400_000_000)
            case .iso8601: return ("datetime(\(seconds), 'unixepoch')", second + 1)
            case .unixMilliseconds: return ("\(seconds * 1000)", second + 1)
            default: return ("\(seconds)", second + 1)
            }
        }
    }

    @Test(arguments: [DateEncoding.unixSeconds, .unixMilliseconds, .iso8601, .unixDays], 0..<20)
    func theNewestRowsStayAndThoseWithTheDateOfTheLast(_ encoding: DateEncoding, _ seed: Int) throws {
        var random = SeededRandom(UInt64(seed))
        let rows = dates(encoding, &random)
        let file = try PriceFile("CREATE TABLE tick(at, other INTEGER)", indexed: false)
        if Bool.random(using: &random) { try file.execute("CREATE INDEX tick_at ON tick(at)") }
        if !rows.isEmpty {
            try file.execute("INSERT INTO tick VALUES " + rows.map { "(\($0.sql), 1)" }.joined(separator: ", "))
        }
        // They are no rows of the rule, or have no date.
        try file.execute(
            "INSERT INTO tick SELECT at, 2 FROM tick LIMIT 50; INSERT INTO tick VALUES (NULL, 1), ('soon', 1)")
        let wanted = Int.random(in: 1...max(1, rows.count + 10), using: &random)
        let hours = Int.random(in: 1...400, using: &random)
        var rule = Rule.prices { rule in
            (rule.entity, rule.dateAttribute, rule.dateFormat) = ("tick", "at", encoding)
            rule.filter = .compare("other", .equal, 1)
            rule.maxAge = MaxAge(written: "90d")
            rule.maxAge.days = 90
            var youngest = MaxAge(written: "\(hours)h")
            youngest.seconds = Int128(hours) * 3600
            rule.bound = SizeBound(.rows(wanted), neverYoungerThan: youngest)
        }
        try rule.bound(asOf: PriceFile.now, zone: .utc, in: file.reader())

        // Of rows with equal dates none or all stay. A row goes if all of its date is before the cutoff.
        let byAge = PriceFile.now.microseconds - 90 * 86_400_000_000
        let youngest = PriceFile.now.microseconds - Int64(hours) * 3_600_000_000
        let ends = rows.map(\.end).sorted(by: >)
        let border = ends.count > wanted ? min(ends[wanted - 1] - 1, youngest) : byAge
        let goes = ends.filter { $0 <= max(border, byAge) }.count
        let cutoff = rule.cutoff(asOf: PriceFile.now, zone: .utc)
        #expect(ends.filter { $0 <= cutoff.microseconds }.count == goes, "\(wanted) of \(rows.count)")
        let left = ends.count - goes
        #expect((rule.excessOfBound != nil) == (cutoff.microseconds == youngest && left > wanted))
        if let text = rule.excessOfBound {
            #expect(text.contains(": \(Figures.count(left, "row")) of tick are younger"))
        }
    }

    /// Lengths of notes, and of how many rows: so many that a page counts for little.
    private static let notes = [
        ("20", 20_000), ("abs(random()) % 300", 10_000), ("CASE WHEN i < 4000 THEN 20 ELSE 900 END", 8000),
        // Larger than a page; of about half a page.
        ("5000 * (i % 20 = 0)", 8000), ("1500", 3000),
        // Longer and shorter from year to year; of two lengths, of which a page has one or three.
        ("20 + i / 2", 4000), ("2020 - i / 2", 4000), ("CASE i % 3 WHEN 0 THEN 2800 ELSE 1300 END", 3000),
    ]

    @Test(arguments: Trials.cases(Array(0..<32))) func theRowsTakeNoMoreSpaceThanTheBound(_ seed: Int) throws {
        var random = SeededRandom(UInt64(seed))
        let key = seed % 3 == 0 ? "PRIMARY KEY(symbol, at)) WITHOUT ROWID" : "UNIQUE(symbol, at))"
        let file = try PriceFile("CREATE TABLE tick(symbol INTEGER, at INTEGER, note, \(key)", indexed: false)
        let now = PriceFile.now.microseconds / 1_000_000
        let (length, count) = Self.notes[seed % 8]
        let order = seed % 2 == 0 ? "i" : "random()"
        if seed >= 16 { try file.execute("CREATE INDEX tick_note ON tick(note)") }
        try file.execute(
            """
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO tick SELECT i % 7, \(now) - i * 60, zeroblob(\(length)) FROM n ORDER BY \(order);
            """)
        if seed % 5 == 1 { try file.execute("DELETE FROM tick WHERE (at / 60) % 3 = 0") }
        let space = """
            SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE
            AND name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'tick')
            """
        func size() throws -> Int {
            try #require(try DatabaseQueue(path: file.path).read { try Int.fetchOne($0, sql: space) })
        }
        let whole = try size()
        let goal = Int(Double(whole) * Double.random(in: 0.2...0.5, using: &random))
        var rule = Rule.prices { rule in
            (rule.entity, rule.dateAttribute, rule.dateFormat) = ("tick", "at", .unixSeconds)
            rule.maxAge.days = 30
            var youngest = MaxAge(written: "1h")
            youngest.seconds = 3600
            rule.bound = SizeBound(.bytes(goal), neverYoungerThan: youngest)
        }
        try rule.bound(asOf: PriceFile.now, zone: .utc, in: file.reader())
        let cutoff = rule.cutoff(asOf: PriceFile.now, zone: .utc).microseconds / 1_000_000
        try file.execute("DELETE FROM tick WHERE at < \(cutoff); VACUUM;")
        let ratio = Double(try size()) / Double(goal)
        #expect((0.95...1.05).contains(ratio))
    }
}
