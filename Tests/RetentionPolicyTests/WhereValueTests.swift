import PriceStore
import RetentionPolicy
import Testing

/// What a value of `where` is, by the way it is written.
struct WhereValueTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var written: String
        var value: StoreValue
        var testDescription: String { written }
    }

    static let rows = [
        Row(written: "XAUUSD", value: .text("XAUUSD")),
        Row(written: "5", value: .integer(5)),
        Row(written: "-5", value: .integer(-5)),
        Row(written: "0", value: .integer(0)),
        Row(written: "9223372036854775807", value: .integer(.max)),
        Row(written: "-9223372036854775808", value: .integer(.min)),
        Row(written: "\"5\"", value: .text("5")),
        Row(written: "'5'", value: .text("5")),
        Row(written: "!!str 5", value: .text("5")),
        Row(written: "1.5", value: .real(1.5)),
        Row(written: ".5", value: .real(0.5)),
        Row(written: "5.", value: .real(5)),
        Row(written: "-0.5e3", value: .real(-500)),
        Row(written: "5.e1", value: .real(50)),
        Row(written: "1e3", value: .real(1000)),
        Row(written: "true", value: .integer(1)),
        Row(written: "false", value: .integer(0)),
        Row(written: "True", value: .text("True")),
        Row(written: "no", value: .text("no")),
        Row(written: "on", value: .text("on")),
        Row(written: "0644", value: .text("0644")),
        Row(written: "007.5", value: .text("007.5")),
        Row(written: "0x1F", value: .text("0x1F")),
        Row(written: "0o17", value: .text("0o17")),
        Row(written: "1:30", value: .text("1:30")),
        Row(written: "1_000", value: .text("1_000")),
        Row(written: "2026-01-01", value: .text("2026-01-01")),
        Row(written: "nan", value: .text("nan")),
        Row(written: ".", value: .text(".")),
        Row(written: "1e", value: .text("1e")),
        Row(written: "''", value: .text("")),
        Row(written: "'null'", value: .text("null")),
        Row(written: "\"a\\nb\"", value: .text("a\nb")),
        Row(written: "Ünïcode 金", value: .text("Ünïcode 金")),
    ]

    @Test(arguments: rows)
    func equality(row: Row) throws {
        let rule = try PolicyFixtures.rule("where: { a: \(row.written) }")
        #expect(rule.filter == .compare("a", .equal, row.value))
    }

    /// A comparison in quotes is a mistake in a policy (AdviceTests), but not in the ledger's record of an older one.
    @Test(arguments: ["<none>", "> five", "=SUM", "a > 5", "5 >"]) func aTextThatIsNoComparisonIsAText(_ text: String)
        throws
    {
        #expect(try PolicyFixtures.rule("where: { a: '\(text)' }").filter == .compare("a", .equal, .text(text)))
    }

    @Test func aRecordedComparisonIsRead() throws {
        var rule = try PolicyFixtures.rule("where: { a: b }")
        rule.filter = .compare("a", .equal, .text("> 5"))
        let record = RecordedRule(rule, entity: "Gold", date: "at", zone: .utc)
        #expect(RecordedRule(canonical: record.canonical) == record)
        #expect(try PolicyFixtures.rule("where: { a: ['> 5'] }").filter == .isIn("a", [.text("> 5")]))
    }

    /// It may be a phone number: as a number it would be compared without the sign.
    @Test(arguments: ["+5", "+1.5"]) func aPlusNeedsAChoice(written: String) throws {
        let mistakes = PolicyFixtures.mistakes(PolicyFixtures.text(rule: ["where: { a: \(written) }"])).map(\.message)
        #expect(mistakes == ["write \(written.dropFirst()) without '+', or \"\(written)\" in quotes if it is text"])
        #expect(try PolicyFixtures.rule("where: { a: '\(written)' }").filter == .compare("a", .equal, .text(written)))
    }

    @Test func aListIsMembership() throws {
        #expect(try PolicyFixtures.rule("where: { a: [1, '1'] }").filter == .isIn("a", [.integer(1), .text("1")]))
    }

    @Test func everyOperator() throws {
        let rule = try PolicyFixtures.rule("where: { a: { lt: 1, le: 2, gt: 3, ge: 4, ne: x, null: false } }")
        #expect(
            rule.filter
                == .and([
                    .compare("a", .less, .integer(1)), .compare("a", .lessOrEqual, .integer(2)),
                    .compare("a", .greater, .integer(3)), .compare("a", .greaterOrEqual, .integer(4)),
                    .compare("a", .notEqual, .text("x")), .isNotNull("a"),
                ]))
    }

    @Test func attributesMayHaveAnyName() throws {
        let rule = try PolicyFixtures.rule("where: { \"a b\": 1, null: 2, Größe: 3 }")
        #expect(
            rule.filter
                == .and([
                    .compare("a b", .equal, .integer(1)), .compare("null", .equal, .integer(2)),
                    .compare("Größe", .equal, .integer(3)),
                ]))
        #expect(rule.marks.key("where.Größe") == Mark(line: 9, column: 33, length: 5))
    }
}
