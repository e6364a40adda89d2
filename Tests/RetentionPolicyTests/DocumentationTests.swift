import Foundation
import PriceStore
import Testing

@testable import RetentionPolicy

/// What the documentation shows is what the program reads.
struct DocumentationTests {
    private static let reference = PolicyFixtures.package.appendingPathComponent("docs/configuration.md")

    /// HouseRulesTests compares the keys.
    @Test func theReferenceNamesEveryWord() throws {
        let text = try String(contentsOf: Self.reference, encoding: .utf8)
        func words(_ shape: PolicyShape) -> [String] {
            switch shape {
            case .group(let keys): keys.map(\.shape).flatMap(words)
            case .scalarOrGroup(let scalar, let keys): words(scalar) + keys.map(\.shape).flatMap(words)
            case .list(let shape, _), .named(let shape): words(shape)
            case .word(let own): own.map(\.name)
            case .wordOr(let own, let other): own.map(\.name) + words(other)
            default: []
            }
        }
        let missing = words(.group(PolicyKey.file)).filter { !text.contains("`\($0)`") }
        #expect(missing == [])
    }

    @Test func theSampleAtTheRootIsValid() throws {
        let policy = try PolicyFile.read(path: PolicyFixtures.package.appendingPathComponent("retention.yaml").path)
        #expect(policy.store.written == "prices.sqlite")
        #expect(policy.pending.map(\.files) == ["pending/*.csv"])
        #expect(policy.log?.file == PolicyFixtures.package.path + "/retention.log" && policy.log?.format == .json)
        try #require(policy.rules.count == 1)
        let rule = policy.rules[0]
        #expect(rule.entity == "YahooGoldPricePoint" && rule.dateAttribute == "updateTime")
        #expect(rule.dateFormat == .unixSeconds && rule.maxAge.written == "30d" && rule.maxAge.days == 30)
    }

    @Test func theSampleForTheNightIsValid() throws {
        let path = PolicyFixtures.package.appendingPathComponent("cron/retention.yaml").path
        let policy = try PolicyFile.read(path: path)
        #expect(policy.store.written == "/var/lib/retention/prices.sqlite")
        #expect(policy.log?.file == "/var/log/retention/retention.log")
    }
}
