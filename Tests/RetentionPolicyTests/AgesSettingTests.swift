import PriceStore
import Testing

@testable import RetentionPolicy

/// `max_age` by the value of an attribute.
@Suite struct AgesSettingTests {
    private func mistakes(_ maxAge: String, _ more: String = "", entity: String = "Price") -> [String] {
        let text =
            "version: 1\nstore: a.sqlite\nrules:\n  - name: a\n    entity: \(entity)\n    date_attribute: t\n    "
            + "date_format: unix_seconds\n    max_age: \(maxAge)\n\(more)"
        do {
            _ = try PolicyFile.policy(bytes: Array(text.utf8), path: "p.yaml", baseFolder: "/")
            return []
        } catch PolicyError.invalid(let diagnostics, _) {
            return diagnostics.map(\.message)
        } catch {
            return ["\(error)"]
        }
    }

    @Test(arguments: [
        ("{ by: symbol, default: 30d, XAU: 5y, \"BTC*\": 90d }", ""), ("{ by: symbol, XAU: 5y }", ""),
        ("{ by: symbol, from: { entity: S, key: k, age: a } }", ""),
        ("{ default: 30d, XAU: 5y }", "ages need the attribute that they depend on: by: symbol"),
        ("{ by: symbol, default: 30d }", "'max_age' has no age but 'default'"),
        ("{ by: symbol, XAU: 30, BTC: 1d }", "'30' has no unit: write for example 30d or 30h"),
        ("{ by: symbol, XAU: 5y, \"B*C\": 1d }", "'B*C' is no value"),
        ("{ by: symbol, \"*\": 5y }", "'*' is no value"), ("{ by: 5, XAU: 5y }", "'by' must be text"),
        ("{ by: symbol, from: { entity: S, key: k } }", "required key 'age' is missing in 'from'"),
        ("[30d]", "'max_age' must be an age, such as 30d or 1y6mo"),
    ])
    func aMistakeHasItsMessage(_ maxAge: String, _ message: String) {
        let found = mistakes(maxAge)
        #expect(message.isEmpty ? found.isEmpty : found.contains { $0.hasPrefix(message) }, "\(found)")
    }

    @Test func whatDependsOnOneAgeIsRefused() {
        let ages = "{ by: symbol, XAU: 5y, default: 30d }"
        #expect(
            mistakes(ages, entity: "\"p_*\"").contains { $0.hasPrefix("a rule with several ages is for one table") })
        #expect(
            mistakes(ages, "    rollup: { into: c, every: 1h, price: p, per: [symbol] }\n").contains {
                $0.hasPrefix("a candle is made of rows with one age")
            })
        #expect(
            mistakes(ages, "    thin: { daily: 1y }\n") == [
                "'daily' must be longer than 'max_age' (5y); younger rows are kept anyway"
            ])
    }

    @Test func aRecordedShareReadsAsItWas() throws {
        var rule = Rule(
            name: "a:BTC*", entity: "Price", dateAttribute: "t", maxAge: try MaxAge(parsing: "90d"),
            marks: Marks(whole: Mark(line: 1, column: 1)))
        rule.family = .init(name: "a", entity: "Price")
        var share = AgeShare(name: "BTC*", attribute: "symbol")
        (share.beginning, share.others, share.otherBeginnings) = (
            "BTC", [.text("BTCEUR"), .integer(7)], ["BTCU", "\"*"]
        )
        rule.share = share
        let record = RecordedRule(rule, entity: "Price", date: "t", zone: .utc)
        let read = try #require(RecordedRule(canonical: record.canonical))
        #expect(read == record)
        #expect(read.rule.name == "a:BTC*")
        #expect(read.rule.rows == rule.rows)
    }

    /// Each age has limits of its own, so with a limit any other age is wider, for all of them.
    @Test func otherAgesAreWiderBesideALimit() throws {
        func record(_ ages: String, _ more: String) throws -> RecordedRule {
            let text =
                "version: 1\nstore: a.sqlite\nrules:\n  - { name: a, entity: p, date_attribute: t, date_format: unix_seconds, "
                + "max_age: \(ages), \(more) }\n"
            let policy = try PolicyFile.policy(bytes: Array(text.utf8), path: "p.yaml", baseFolder: "/")
            return RecordedRule(try #require(policy.rules.first), entity: "p", date: "t", zone: .utc)
        }
        var others = AgeShare(name: "default", attribute: "symbol")
        others.others = [.text("A")]
        for (more, isWider) in [
            ("limits: { max_rows: 50 }", true), ("limits: { max_late_rows: 50 }", false),
            ("keep_last: { count: 5 }", true),
            ("keep_last: { count: 5, per: [Symbol] }", false),
        ] {
            let changes = try RuleChange.changes(
                from: record("60d", more), to: record("{ by: symbol, default: 60d, A: 61d }", more))
            #expect(changes.count == (isWider ? 1 : 0), "\(more)")
            #expect(changes.allSatisfy(others.isConcerned))
        }
    }

    /// Each value is compared, listed or not.
    @Test(
        arguments: [
            ("default: 30d, XAU: 5y", "default: 30d, XAU: 6y", [:]),
            ("default: 30d, XAU: 5y", "default: 31d, XAU: 5y", [:]),
            ("default: 30d, XAU: 5y", "default: 30d, XAU: 4y", ["max_age.XAU": true]),
            ("default: 30d, XAU: 5y, EUR: 1y", "default: 30d, EUR: 1y", ["max_age": true]),
            ("default: 30d, XAU: 5y", "default: 29d, XAU: 5y", ["max_age.default": true]),
            ("XAU: 5y", "XAU: 5y, EUR: 9y", ["max_age.EUR": true]), ("XAU: 5y, EUR: 9y", "XAU: 5y", ["max_age": true]),
            ("XAU: 5y", "XAU: 5y, default: 30d", ["max_age.default": true]),
            ("default: 30d, BTC: 9d", "default: 30d, BTC: 30d", [:]),
            ("default: 30d, XAU: 5y", "default: 30d, XAU: 5y, EUR: 1y", [:]),
            ("default: 30d, \"BTC*\": 90d", "default: 30d, \"BTC*\": 90d, BTCUSD: 80d", ["max_age.BTCUSD": true]),
            ("default: 30d, \"BTC*\": 90d", "default: 30d, XAU: 1y", ["max_age.*": true, "max_age": true]),
        ] as [(String, String, [String: Bool])])
    func agesAreComparedByValue(_ old: String, _ new: String, _ wider: [String: Bool]) throws {
        func record(_ ages: String) throws -> RecordedRule {
            let text =
                "version: 1\nstore: a.sqlite\nrules:\n  - { name: a, entity: p, date_attribute: t, date_format: unix_seconds, "
                + "max_age: { by: symbol, \(ages) } }\n"
            let policy = try PolicyFile.policy(bytes: Array(text.utf8), path: "p.yaml", baseFolder: "/")
            let rule = try #require(policy.rules.first)
            let record = RecordedRule(rule, entity: "p", date: "t", zone: .utc)
            #expect(RecordedRule(canonical: record.canonical) == record)
            return record
        }
        let changes = try RuleChange.changes(from: record(old), to: record(new))
        #expect(Dictionary(uniqueKeysWithValues: changes.map { ($0.key, true) }) == wider)
    }
}
