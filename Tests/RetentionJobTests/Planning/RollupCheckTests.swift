import Foundation
import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// What `check` says of rows that cannot become candles, and of tables that cannot hold them.
struct RollupCheckTests {
    /// The table of ticks, a table of candles with a change in it, a rule's settings, and a part of the message; nil: none.
    struct Case: CustomTestStringConvertible {
        var tick = "id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER, price REAL, size INTEGER"
        var candle: String?
        var format = "unix_seconds"
        var zone = "UTC"
        var rollup = "every: 1h, per: [symbol], price: price, volume: size"
        var message: String?
        var testDescription: String { message ?? "\(rollup) \(candle ?? "") is good" }
    }

    private static let candle = """
        symbol TEXT, time INTEGER, open REAL, high REAL, low REAL, close REAL, volume INTEGER, count INTEGER,
        open_time INTEGER, close_time INTEGER, price_volume REAL, PRIMARY KEY (symbol, time)
        """

    private static let hours = "{ pattern: \"%d.%m.%Y %H\" }"

    private static func changed(_ old: String, _ new: String) -> String { candle.replacing(old, with: new) }

    static let cases: [Case] = [
        Case(), Case(candle: candle), Case(candle: changed("symbol TEXT", "note TEXT DEFAULT 'x', symbol TEXT")),
        Case(candle: changed("PRIMARY KEY (symbol, time)", "PRIMARY KEY (TIME, Symbol)")),
        Case(candle: changed("INTEGER", "NUMERIC").replacing("REAL", with: "")),
        Case(
            candle: changed("open REAL", "o REAL").replacing("symbol", with: "pair"),
            rollup: "every: 1h, per: [symbol], price: price, volume: size, columns: { open: o, symbol: pair }"),
        Case(rollup: "every: 1h, per: [symbl], price: price", message: "tick has no attribute 'symbl'"),
        Case(rollup: "every: 1h, price: prise", message: "tick has no attribute 'prise'"),
        Case(rollup: "every: 1h, price: price, volume: sise", message: "tick has no attribute 'sise'"),
        Case(rollup: "every: 1h, price: symbol", message: "tick.symbol is a column for text"),
        Case(rollup: "every: 1h, from: candles", message: "tick has no attribute 'open'"),
        Case(
            rollup: "every: 1h, price: price, columns: { open: o }",
            message: "the store has no entity 'candle' whose columns could have other names"),
        Case(format: "yyyymmdd", rollup: "every: 1h, price: price", message: "yyyymmdd has whole days only"),
        Case(format: hours, rollup: "every: 15min, price: price", message: "%d.%m.%Y %H has whole hours only"),
        Case(
            format: hours, rollup: "every: 1h, price: price, session: { start: \"09:30\" }",
            message: "%d.%m.%Y %H has whole hours only"),
        Case(
            format: hours, rollup: "every: 1h, price: price, session: { zone: Asia/Kolkata }",
            message: "%d.%m.%Y %H has whole hours only"),
        Case(format: hours, rollup: "every: 2h, price: price"),
        Case(
            format: "unix_days", rollup: "every: 1d, price: price, session: { start: \"17:00\" }",
            message: "the session must begin with them"),
        Case(
            format: "unix_days", rollup: "every: 1d, price: price, session: { zone: Asia/Tokyo }",
            message: "unix_days has whole days of UTC"),
        Case(
            format: "unix_days", zone: "Europe/Berlin", rollup: "every: 1d, price: price",
            message: "unix_days has whole days of UTC"),
        Case(
            format: "yyyymmdd", rollup: "every: 1d, price: price, session: { start: \"17:00\" }",
            message: "yyyymmdd has whole days of timezone"),
        Case(
            tick: "id INTEGER PRIMARY KEY, symbol BLOB, at INTEGER, price REAL, size INTEGER", candle: candle,
            message: "candle.symbol is a column for text, which cannot hold values of any kind"),
        Case(format: "yyyymmdd", rollup: "every: 1w, price: price"),
        Case(
            format: "yyyymmddhhmmss", zone: "Europe/Berlin", rollup: "every: 2h, price: price",
            message: "an hour that the clocks of Europe/Berlin repeat"),
        // No row is read as in the first of the two hours, and no other bucket begins in it.
        Case(format: "yyyymmddhhmmss", zone: "America/New_York", rollup: "every: 1h, price: price"),
        // The second of the two hours can be said.
        Case(format: "yyyymmddhhmmss", zone: "America/New_York", rollup: "every: 2h, price: price"),
        Case(format: "yyyymmddhhmmss", zone: "America/New_York", rollup: "every: 1d, price: price"),
        Case(format: "yyyymmddhhmmss", rollup: "every: 2h, price: price"),
        Case(candle: changed("high REAL, ", ""), message: "candle has no attribute 'high'"),
        Case(candle: changed("high REAL", "high TEXT"), message: "candle.high is a column for text"),
        Case(candle: changed("high REAL", "high INTEGER")),
        Case(candle: changed("symbol TEXT", "symbol INTEGER"), message: "which cannot hold text"),
        Case(candle: changed("count INTEGER", "count REAL"), message: "candle.count is a column for doubles"),
        Case(
            candle: changed("high REAL", "high REAL AS (low)"),
            message: "candle.high is computed by the store"),
        Case(candle: changed("symbol TEXT", "note TEXT NOT NULL, symbol TEXT"), message: "candle.note needs a value"),
        Case(
            candle: changed(", PRIMARY KEY (symbol, time)", ""),
            message: "the primary key of candle must be symbol, time"),
        Case(candle: changed("(symbol, time)", "(time)"), message: "the primary key of candle must be symbol, time"),
    ]

    private static func diagnostics(_ test: Case, _ more: String = "") throws -> [Diagnostic] {
        let file = try PriceFile("CREATE TABLE tick (\(test.tick)); \(more)")
        if let candle = test.candle { try file.execute("CREATE TABLE candle (\(candle))") }
        let path = file.folder.appending(path: "policy.yaml").path(percentEncoded: false)
        let text = """
            version: 1
            store: \(file.path)
            timezone: \(test.zone)
            rules:
              - name: ticks
                entity: tick
                date_attribute: at
                date_format: \(test.format)
                max_age: 7d
                rollup: { into: candle, \(test.rollup) }

            """
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try StoreCheck.diagnostics(
            policy: PolicyFile.read(path: path), reader: file.reader(), clock: PriceFile.now, includingAdvice: false
        ).filter { $0.severity == .error }
    }

    @Test(arguments: cases) func saysWhatCannotBeDone(_ test: Case) throws {
        let found = try Self.diagnostics(test)
        if let message = test.message {
            #expect(found.contains { $0.message.contains(message) && $0.mark.line == 10 }, "\(found)")
        } else {
            #expect(found.isEmpty, "\(found)")
        }
    }

    @Test func rowsToWhichOthersReferBecomeNoCandles() throws {
        let found = try Self.diagnostics(Case(), "CREATE TABLE fill (tick INTEGER REFERENCES tick)")
        #expect(
            found.map(\.message) == ["rows of fill refer to rows of tick, which cannot become candles for that reason"])
    }

    @Test func aViewHoldsNoCandles() throws {
        let found = try Self.diagnostics(Case(), "CREATE VIEW candle AS SELECT * FROM tick")
        #expect(found.contains { $0.message.contains("candle is not a table") }, "\(found)")
    }
}
