import PriceStore
import Testing

@testable import RetentionPolicy

/// `newest_rows` and `max_size`.
@Suite struct SizeBoundTests {
    private static let sizes: [(String, Int?)] = [
        ("500B", 500), ("1kB", 1000), ("1KB", 1000), ("2KiB", 2048), ("3MB", 3_000_000), ("1MiB", 1 << 20),
        ("2GB", 2_000_000_000), ("1GiB", 1 << 30), ("1TB", 1_000_000_000_000), ("1TiB", 1 << 40), ("0B", nil),
        ("1", nil), ("1G", nil), ("1iB", nil), ("1.5GB", nil), ("-1GB", nil), ("1 GB", nil), ("", nil),
        ("999999999999999TB", nil),
    ]

    @Test(arguments: sizes)
    func aSizeIsANumberWithAUnit(_ text: String, _ bytes: Int?) { #expect(SizeBound.bytes(text) == bytes) }

    private func policy(_ keys: String, maxAge: String = "30d") throws -> Policy {
        let text =
            "version: 1\nstore: a.sqlite\nrules:\n  - { name: a, entity: P, date_attribute: t, date_format: unix_seconds, "
            + "max_age: \(maxAge), \(keys) }\n"
        return try PolicyFile.policy(bytes: Array(text.utf8), path: "p.yaml", baseFolder: "/")
    }

    @Test(arguments: [
        ("newest_rows: 5, never_younger_than: 7d", ""), ("max_size: 2GB, never_younger_than: 7d", ""),
        ("newest_rows: 5", "'newest_rows' needs never_younger_than"),
        ("newest_rows: 0, never_younger_than: 7d", "'newest_rows' must be"),
        ("max_size: 2, never_younger_than: 7d", "'max_size' must be a size, such as 500MB or 2GiB"),
        ("never_younger_than: 7d", "'never_younger_than' is for a bound"),
        ("newest_rows: 5, max_size: 2GB, never_younger_than: 7d", "'newest_rows' and 'max_size' are two bounds"),
        ("newest_rows: 5, never_younger_than: 30d", "'never_younger_than' must be shorter than 'max_age' (30d)"),
    ])
    func aMistakeHasItsMessage(_ keys: String, _ message: String) throws {
        do {
            _ = try policy(keys)
            #expect(message.isEmpty)
        } catch PolicyError.invalid(let diagnostics, _) {
            #expect(!message.isEmpty && diagnostics.contains { $0.message.hasPrefix(message) }, "\(diagnostics)")
        }
    }

    @Test func aRuleWithSeveralAgesHasNoBound() {
        #expect(throws: PolicyError.self) {
            try policy("newest_rows: 5, never_younger_than: 7d", maxAge: "{ by: s, XAU: 5y, default: 30d }")
        }
    }

    @Test(arguments: [
        ("newest_rows: 5, never_younger_than: 7d", "newest_rows: 6, never_younger_than: 7d", false),
        ("newest_rows: 5, never_younger_than: 7d", "newest_rows: 4, never_younger_than: 7d", true),
        ("newest_rows: 5, never_younger_than: 7d", "newest_rows: 5, never_younger_than: 8d", false),
        ("newest_rows: 5, never_younger_than: 7d", "newest_rows: 5, never_younger_than: 6d", true),
        ("newest_rows: 5, never_younger_than: 7d", "max_size: 5GB, never_younger_than: 7d", true),
        ("max_size: 5GB, never_younger_than: 7d", "max_size: 5000MB, never_younger_than: 1w", false),
        ("newest_rows: 5, never_younger_than: 7d", "enabled: true", false),
        ("enabled: true", "newest_rows: 5, never_younger_than: 7d", true),
    ])
    func aSmallerBoundIsAWiderPolicy(_ old: String, _ new: String, _ isWider: Bool) throws {
        let records = try [old, new].map { text in
            try RecordedRule(#require(policy(text).rules.first), entity: "P", date: "t", zone: .utc)
        }
        for record in records { #expect(RecordedRule(canonical: record.canonical) == record) }
        let changes = RuleChange.changes(from: records[0], to: records[1])
        #expect(changes.isEmpty != isWider)
    }
}
