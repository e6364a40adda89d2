import Testing

@testable import RetentionPolicy

/// What people write who know other programs gets one error, which says what to write.
struct AdviceTests {
    struct Mistake: CustomTestStringConvertible, Sendable {
        /// Lines at the top of the file, or of the rule.
        var top = ""
        var rule: [String] = []
        /// A key of the rule that the mistake stands for.
        var instead: String?
        var says: String
        var testDescription: String { top.isEmpty ? rule.joined(separator: ", ") : top }

        static func top(_ line: String, _ says: String) -> Self { Self(top: line, says: says) }
        static func rule(_ line: String, _ says: String, for key: String? = nil) -> Self {
            Self(rule: [line], instead: key, says: says)
        }
    }

    static let mistakes: [Mistake] = [
        .rule("table: Gold", "unknown key 'table'; write entity", for: "entity"),
        .rule("Table-Name: Gold", "write entity", for: "entity"),
        .rule("date_column: at", "write date_attribute", for: "date_attribute"),
        .rule("timestamp: at", "write date_attribute", for: "date_attribute"),
        .rule("column: at", "write date_attribute: at", for: "date_attribute"),
        .rule("ttl: 30d", "write max_age: 30d", for: "max_age"),
        .rule("delete_after: 30d", "write max_age: 30d", for: "max_age"),
        .rule("retention: 30d", "write max_age: 30d", for: "max_age"),
        .rule("ttl: 1y6mo", "write max_age: 1y6mo", for: "max_age"),
        .rule("older_than: 90", "write max_age, such as max_age: 30d", for: "max_age"),
        .rule("keep: 60d", "write max_age: 60d", for: "max_age"),
        .rule("delete_older_than: 60d", "write max_age: 60d", for: "max_age"),
        .rule("max_age: P30D", "write 30d", for: "max_age"), .rule("max_age: P6M", "write 6mo", for: "max_age"),
        .rule("batch_size: 500", "write batch: { rows: 500 }"), .rule("limit: 77", "write limits: { max_rows: 77 }"),
        .rule("exclude: [a]", "write except"), .rule("cascade: true", "write relationships: cascade"),
        .rule("disabled: true", "write enabled: false"), .rule("dry_run: true", "retention run --dry-run"),
        .rule("filter: x", "write where, such as where: { symbol: XAUUSD }"),
        .top("dry_run: true", "retention run --dry-run"),
        .top("schedule: daily", "write expected_every: 1d"), .rule("cron: \"0 3 * * *\"", "write expected_every: 1d"),
        .rule("accept: all", "found the text 'all'; write accept: [CODE], with the codes that the refusals show"),
        .rule("accept: future_date", "name each entry, as in [future_dates]"),
        .rule("accept: future_dates", "write [future_dates]"), .rule("keep_last: 5", "write { count: 5 }"),
        .rule("max_rows: 5", "it belongs under 'limits': limits: { max_rows: 5 }"),
        .rule("limits: { max_runtime: 5min }", "at the top of the file write limits: { max_runtime: 10min }"),
        .rule("keep_last: { count: 5, by: symbol }", "write per, such as per: [symbol]"),
        .top("archive: { path: old }", "unknown key 'path'; write folder: old"),
        .top("archive: archive", "write { folder: archive }"),
        .top("archive: 30d", "write { folder: archive, keep: 30d }"),
        .top("archive: ~/archive", "write { folder: … }: '~' is not expanded in '~/archive'"),
        .top("archive: $HOME/archive", "write { folder: … }: $VARIABLES are not expanded"),
        .top("log: ~/r.log", "write { file: … }: '~' is not expanded"),
        .top("archive: none", "remove the line: without it nothing is archived"),
        .top("ttl: 5d", "unknown key 'ttl'; in each rule write max_age: 5d"),
        .top("table: Gold", "unknown key 'table'; in each rule write entity"),
        .top("defaults: { ttl: 5d }", "unknown key 'ttl'; in each rule write max_age: 5d"),
        .top("log: retention.log", "write { file: retention.log }"), .top("log: json", "write { format: json }"),
        .top("log: debug", "write { level: debug }"), .top("metrics: a.prom", "write { textfile: a.prom }"),
        .rule("thin: daily", "write { daily: forever }"), .rule("thin: 1d", "write { daily: forever }"),
        .rule("thin: 1h", "write { hourly: forever }"), .rule("thin: 30d", "write thin: { daily: forever }"),
        .rule("daily: 7", "it belongs under 'thin', such as thin: { daily: forever }"),
        .rule("weekly: 5d", "it belongs under 'thin', such as thin: { daily: forever }"),
        .rule("into: candles", "it belongs under 'rollup', such as rollup: { into: candles, every: 1h, price: price }"),
        .rule("keep_daily: 7", "write thin, such as thin: { daily: forever } beside max_age"),
        .rule("keep-monthly: 2y", "write thin: { monthly: forever } beside max_age"),
        .top("keep_weekly: 4", "in each rule write thin, such as thin: { weekly: forever } beside max_age"),
        .rule("keep_within: 60d", "write max_age: 60d", for: "max_age"),
        .rule("mtime: 30", "write max_age, such as max_age: 30d", for: "max_age"),
        .rule("minage: 30", "write max_age, such as max_age: 30d", for: "max_age"),
        .rule("rotate: 7", "write max_age, such as max_age: 30d", for: "max_age"),
        .rule("batch: { pause: 0 }", "found the number 0; write none"),
        .rule("batch: 5000", "write { rows: 5000 }"),
        .rule("batch: 100ms", "write { target: 100ms }"), .rule("limits: 0.5", "write { max_fraction: 0.5 }"),
        .rule("limits: 500", "write { max_rows: 500 }"),
        .rule("where: symbol = 'XAUUSD'", "write where: { symbol: 'XAUUSD' }"),
        .rule("where: symbol = 'null'", "write where: { symbol: 'null' }"),
        .rule("where: name = 'Gold spot'", "write where: { name: 'Gold spot' }"),
        .rule("where: symbol IS NULL", "write where: { symbol: { null: true } }"),
        .rule("where: symbol = null", "write where: { symbol: { null: true } }"),
        .rule("where: symbol is not null", "write where: { symbol: { null: false } }"),
        .rule("where: symbol IN ('A', 'B')", "write where: { symbol: ['A', 'B'] }"),
        .rule("where: symbol = 'A' AND time > 5", "write where: { symbol: 'A', time: { gt: 5 } }"),
        .rule("where: a = 1 and b = 2", "write where: { a: 1, b: 2 }"),
        .rule("where: time > 5 AND time < 9", "found the text 'time > 5 AND time < 9'"),
        .rule("where: isin = '42'", "write where: { isin: '42' }"),
        .rule("where: \"price > 5\"", "write where: { price: { gt: 5 } }"),
        .rule("where: price <> 5", "write where: { price: { ne: 5 } }"),
        .rule("thin: [daily]", "write thin: { daily: forever }"),
        .rule("relationships: set_null", "did you mean 'nullify'?"),
        .rule("rollup: 4h", "write rollup: { into: candles, every: 1h, price: price }"),
        .rule("limits: { max_fraction: 50 }", "write 0.50"),
        .top("archive: true", "write archive: { folder: archive }"),
        .top("pending: in/*.csv", "write pending: [{ files: \"pending/*.csv\", entity: prices }]"),
        .top("pending: in", "write pending: [{ files: \"pending/*.csv\", entity: prices }]"),
        .rule("date_format: \"%Y-%m-%d\"", "or write { pattern: \"%Y-%m-%d\" }", for: "date_format"),
        .top("ledger: “l.sqlite”", "remove the curly quotes: write l.sqlite"),
        .top("expected_every: daily", "write 1d"),
        .rule("max_age: “30d”", "remove the curly quotes: write 30d", for: "max_age"),
        .rule("entity: “Gold”", "remove the curly quotes: write Gold", for: "entity"),
        .rule("where: { symbol: “XAUUSD” }", "remove the curly quotes: write XAUUSD"),
        .top("file: prices.sqlite", "write store"), .top("log_level: debug", "write log: { level: debug }"),
        .rule("retention_days: 20", "write max_age: 20d", for: "max_age"),
        .rule("max_age: monthly", "write 1mo", for: "max_age"),
        .top("ledger: $HOME/l.sqlite", "$VARIABLES are not expanded"),
        .top("ledger: ${DIR}/l.sqlite", "$VARIABLES are not expanded"),
        .top("ledger: sqlite:///prices.sqlite", "write prices.sqlite"),
        .top("ledger: sqlite:////var/prices.sqlite", "write /var/prices.sqlite"),
        .top("holds: { tax: { entity: Gold } }", "begin each entry with \"- name: tax\""),
        .rule("vacuum: true", "write reclaim, such as reclaim: vacuum"),
        .rule("vacuum: incremental", "write reclaim: incremental"),
        .rule("where: { price: '> 5' }", "write { gt: 5 }, or [\"> 5\"] for that text"),
        .rule("where: { day: '<=2026-01-01' }", "write { le: 2026-01-01 }"), .rule("where: { n: '= 5' }", "write 5"),
        .rule("where: { price: { '>': 5 } }", "write gt: 5"), .rule("where: { a: { not: b } }", "write ne: b"),
        .rule("where: { a: { eq: b } }", "write the value itself"),
        .rule("where: { a: { in: [b] } }", "write the list itself"),
        .rule("keep_last: { count: 1, group_by: [a] }", "write per, such as per: [symbol]"),
        .rule("keep_last: { n: 7 }", "write count: 7"), .rule("limits: { max_delete: 7 }", "write max_rows: 7"),
        .rule("thin: { every: 1h }", "write daily: forever, which keeps a row of each day"),
        .rule("max_age_days: 60", "write max_age: 60d", for: "max_age"),
        .rule("days: 60", "write max_age: 60d", for: "max_age"),
        .rule("max_age: never", "rows that never expire need no rule", for: "max_age"),
        .rule("entity: [a, b]", "write a rule for each, or a pattern such as ohlcv_*", for: "entity"),
        Mistake(rule: ["max_size: 2 GB", "never_younger_than: 7d"], says: "found the text '2 GB'; write 2GB"),
        .top("limits: { max_rows: 5 }", "for all rules write defaults: { limits: { max_rows: 5 } }"),
        .top("mailto: me@example.org", "write on_failure: [mail, -s, retention, root]"),
        .rule("notify: me@example.org", "at the top of the file write on_failure: [mail, -s, retention, root]"),
        .rule("tables: Gold", "write entity", for: "entity"),
        .rule("archive: folder", "at the top of the file write archive: { folder: folder }"),
        .rule("archive: { folder: a }", "the folder is that of all rules: write it at the top of the file"),
        .rule("per: symbol", "it belongs under 'rollup', 'keep_last' or 'thin'"),
        .rule("group_by: symbol", "such as keep_last: { count: 5, per: [symbol] }"),
        .rule("rollup: { into: c, interval: 4h, price: p }", "write every: 4h"),
        .rule("batch: { size: 500 }", "write rows: 500"),
        .top("batch_size: 10", "for all rules write defaults: { batch: { rows: 1000 } }"),
        .top("interval: 1d", "write expected_every: 1d"),
        .rule(
            "date_format: yyyy-MM-dd", "is not a value of 'date_format'; write iso8601, or { pattern: \"%Y-%m-%d\" }",
            for: "date_format"),
        .rule("date_format: dd.mm.yyyy HH:mm", "write { pattern: \"%d.%m.%Y %H:%M\" }", for: "date_format"),
        .rule("date_format: timestamp", "did you mean 'unix_seconds'?", for: "date_format"),
        .rule("date_format: milliseconds", "did you mean 'unix_milliseconds'?", for: "date_format"),
        .top("pending: { files: a.csv }", "begin each entry with \"- files: …\""),
    ]

    @Test(arguments: mistakes)
    func oneErrorSaysWhatToWrite(_ mistake: Mistake) throws {
        let text = PolicyFixtures.text(top: mistake.top, rule: mistake.rule)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            guard let key = mistake.instead, let own = mistake.rule.first else { return true }
            return !line.hasPrefix("    \(key):") || line == "    \(own)"
        }
        do throws(PolicyError) {
            _ = try PolicyFixtures.read(lines.joined(separator: "\n"))
            Issue.record("the policy was read")
        } catch {
            guard case .invalid(let diagnostics, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(
                diagnostics.count == 1 && diagnostics.allSatisfy { $0.message.contains(mistake.says) }, "\(diagnostics)"
            )
        }
    }

    @Test func whatIsAdvisedIsAccepted() throws {
        for line in [
            "keep_last: { count: 5 }", "thin: { daily: forever }", "batch: { target: 100ms }",
            "limits: { max_fraction: 0.5 }",
            "where: { symbol: XAUUSD }", "where: { isin: '42' }", "accept: [future_dates]",
            "batch: { rows: 1000 }", "where: { price: { gt: 5 } }",
            "rollup: { into: candles, every: 4h, price: price }",
            "relationships: cascade", "limits: { max_fraction: 0.50 }", "reclaim: vacuum", "batch: { pause: none }",
            "keep_last: { count: 5, per: [symbol] }", "where: { price: { ne: 5 } }", "where: { price: [\"> 5\"] }",
            "where: { symbol: \"“XAUUSD”\" }", "where: { symbol: 'null' }", "where: { symbol: { null: false } }",
            "where: { symbol: ['A', 'B'] }", "where: { symbol: 'A', time: { gt: 5 } }", "thin: { hourly: forever }",
        ] { _ = try PolicyFixtures.read(PolicyFixtures.text(rule: [line])) }
        for line in [
            "on_failure: [mail, -s, retention, root]", "defaults: { limits: { max_rows: 5 } }",
            "defaults: { batch: { rows: 1000 } }", "archive: { folder: archive, keep: 30d }",
        ] {
            _ = try PolicyFixtures.read(PolicyFixtures.text(top: line))
        }
        for age in PolicyKey.frequencies.values { _ = try MaxAge(parsing: age) }
    }
}
