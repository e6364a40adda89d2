import Foundation
import PriceStore
import Testing

@testable import RetentionPolicy

/// What the documentation shows is what the program reads.
struct DocumentationTests {
    private static let reference = PolicyFixtures.package.appendingPathComponent("docs/configuration.md")

    @Test func everySampleOfTheReferenceIsValid() throws {
        let text = try String(contentsOf: Self.reference, encoding: .utf8)
        let samples = text.components(separatedBy: "```yaml\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { $0.hasPrefix("version: 1") }
        #expect(samples.count >= 6)
        for sample in samples {
            let mistakes = PolicyFixtures.mistakes(sample)
            #expect(mistakes.isEmpty, "\(sample)\n\(mistakes)")
        }
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

    @Test func theReferenceNamesEveryKeyAndValue() throws {
        let text = try String(contentsOf: Self.reference, encoding: .utf8)
        var missing: [String] = []
        func look(at keys: [PolicyKey]) {
            for key in keys {
                if !text.contains(key.name) { missing.append(key.name) }
                look(at: key.shape)
            }
        }
        func look(at shape: PolicyShape) {
            switch shape {
            case .group(let keys), .scalarOrGroup(_, let keys): look(at: keys)
            case .list(let shape, _), .named(let shape): look(at: shape)
            case .word(let words): missing += words.map(\.name).filter { !text.contains("`\($0)`") }
            default: break
            }
        }
        look(at: PolicyKey.file)
        missing.removeAll { $0 == "textfile" }
        #expect(missing.isEmpty)
    }
}
