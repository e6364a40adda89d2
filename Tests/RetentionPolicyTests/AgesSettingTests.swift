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
        rule.family = .init(name: "a", entity: "Price", except: [])
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
        share.others = [.integer(7)]
        rule.share = share
        let more = RecordedRule(rule, entity: "Price", date: "t", zone: .utc)
        #expect(RuleChange.changes(from: record, to: more).map(\.isWider) == [true])
        #expect(RuleChange.changes(from: more, to: record).map(\.isWider) == [false])
    }
}
