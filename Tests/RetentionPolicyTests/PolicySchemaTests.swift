import Foundation
import PriceStore
import Testing

@testable import RetentionPolicy

/// The schema's patterns and the reader agree on every text.
struct PolicySchemaTests {
    private static func pattern(_ definition: String) throws -> NSRegularExpression {
        let node = try #require(PolicySchema.document["$defs"]?[definition])
        guard case .string(let pattern)? = node["pattern"] ?? node["anyOf"]?.first?["pattern"] else {
            Issue.record("\(definition) has no pattern")
            return try NSRegularExpression(pattern: "")
        }
        return try NSRegularExpression(pattern: pattern)
    }

    private static func matches(_ text: String, _ pattern: NSRegularExpression) -> Bool {
        pattern.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }

    /// Every text of up to so many of the pieces.
    private static func texts(of pieces: [String], upTo count: Int) -> [String] {
        var all = [""]
        var last = [""]
        for _ in 0..<count {
            last = last.flatMap { text in pieces.map { text + $0 } }
            all += last
        }
        return all
    }

    private static let lengths =
        texts(of: ["0", "1", "7", "y", "mo", "w", "d", "h", "min", "s", "ms", "m", " "], upTo: 4)
        + texts(of: ["0", "1", "T", "Y", "M", "D", "W", "H"], upTo: 5).map { "P" + $0 }

    /// The texts about which a pattern and a reader disagree, and how many are read.
    private static func compare(
        _ definition: String, isRead: (String) -> Bool
    ) throws -> (disagreements: [String], readCount: Int) {
        let pattern = try pattern(definition)
        let read = lengths.filter(isRead)
        return (Set(read).symmetricDifference(lengths.filter { matches($0, pattern) }).sorted(), read.count)
    }

    @Test func agesAreReadByBoth() throws {
        let result = try Self.compare("age") { (try? MaxAge(parsing: $0)) != nil }
        #expect(result.disagreements == [] && result.readCount > 200, "\(result)")
    }

    @Test(arguments: [("duration", false), ("short_duration", true)])
    func durationsAreReadByBoth(definition: String, milliseconds: Bool) throws {
        let result = try Self.compare(definition) {
            (try? PolicyDuration.parse($0, allowsMilliseconds: milliseconds)) != nil
        }
        #expect(result.disagreements == [] && result.readCount > 100)
    }

    @Test(arguments: [
        "2026", "2026-11", "2026-11-21", "2026-11-21T05:06", "2026-11-21t05:06:07Z", "2026-11-21 05:06:07.5+01",
        "2026-11-21T05:06:07,123456789-01:30", "2026-11-21T23:59:59+0130", "0001-01-01",
        "", "26", "20261121", "2026-13", "2026-00", "2026-1-1", "2026-11-32", "2026-11-00", "2026-11-21T",
        "2026-11-21T5",
        "2026-11-21T24:00", "2026-11-21T05:60", "2026-11-21T05:06:60", "2026-11-21T05:06:07.", "2026-11-21T05:06:07+1",
        "2026-11-21T05:06Z ", " 2026-11-21", "-2026-11-21", "2026-11-21T05:06:07+24:00", "2026-11Z", "now",
    ])
    func datesAreReadByBoth(text: String) throws {
        #expect(Self.matches(text, try Self.pattern("date")) == (Instant(iso8601: text) != nil))
    }

    @Test(arguments: [
        "retention.log", "/srv/prices.log", "./a b", "~prices", "a:b", "files:a", "a/~/b", " a",
        "", " ", "~", "~/prices", ":memory:", ":Memory:x", "file:a", "FILE:/a", "https://example.org/a", "s3://bucket",
    ])
    func pathsAreReadByBoth(text: String) throws {
        let isRead = PolicyFixtures.mistakes(PolicyFixtures.text(top: "log: { file: \"\(text)\" }")).isEmpty
        #expect(Self.matches(text, try Self.pattern("path")) == isRead)
    }

    @Test func aServerIsAStore() throws {
        let pattern = try Self.pattern("store")
        for text in ["postgresql:///prices", "Postgres://a@b/c", "prices.sqlite"] {
            #expect(Self.matches(text, pattern))
        }
        for text in ["mysql://a/b", "~/prices", "file:postgresql://", ""] { #expect(!Self.matches(text, pattern)) }
    }
}

extension JSONText {
    /// A member of an object.
    fileprivate subscript(name: String) -> JSONText? {
        if case .object(let members) = self { members.first { $0.name == name }?.value } else { nil }
    }

    /// The first element of a list.
    fileprivate var first: JSONText? {
        if case .array(let elements) = self { elements.first } else { nil }
    }
}
