import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// Advice about rules that are valid and probably not meant so.
struct PolicyAdviceTests {
    private static func ticks(_ name: String, _ change: @escaping @Sendable (inout Rule) -> Void = { _ in }) -> Rule {
        .prices(name, change)
    }

    private static func candles(price: String?) -> Rule {
        .prices("candles") {
            $0.maxAge.days = 60
            $0.rollup = Rule.RollupSetting(target: "candle", length: .minutes(60))
            $0.rollup?.price = price
        }
    }

    private static let covered = "every row that 'a' deletes is also deleted by 'b'"
    private static let lost = "'a' deletes rows of price before 'candles' makes candles of them"

    /// Rules, and how the advice about the first one begins; nil: there is none.
    struct Case: CustomTestStringConvertible, Sendable {
        var name: String
        var rules: [Rule]
        var expected: String?
        var testDescription: String { name }
    }

    static let cases = [
        Case(
            name: "what the first rule thins, the second deletes",
            rules: [ticks("a") { $0.thin = Rule.ThinSetting(per: [], tiers: []) }, ticks("b")],
            expected: covered + ", including the rows that its thin keeps; remove 'a'"),
        Case(
            name: "only the second rule has a latest date",
            rules: [ticks("b"), ticks("a") { $0.latest = PriceFile.now }],
            expected: covered),
        Case(
            name: "only the first rule has a latest date",
            rules: [ticks("b") { $0.latest = PriceFile.now }, ticks("a")],
            expected: "every row that 'b' deletes is also deleted by 'a'"),
        Case(
            name: "a later latest date",
            rules: [
                ticks("b") { $0.latest = PriceFile.now },
                ticks("a") { $0.latest = PriceFile.now.advanced(byMicroseconds: 1) },
            ],
            expected: "every row that 'b' deletes is also deleted by 'a'"),
        Case(
            name: "the same latest date",
            rules: [ticks("b") { $0.latest = PriceFile.now }, ticks("a") { $0.latest = PriceFile.now }],
            expected: covered),
        Case(
            name: "rows without a usable price become no candle",
            rules: [
                ticks("a") { $0.filter = .and([.isNotNull("symbol"), .compare("PRICE", .less, .real(-0.5))]) },
                candles(price: "price"),
            ],
            expected: nil),
        Case(
            name: "rows with a usable price do",
            rules: [ticks("a") { $0.filter = .compare("price", .less, .real(0.5)) }, candles(price: "price")],
            expected: lost),
        Case(
            name: "a text is no number",
            rules: [ticks("a") { $0.filter = .compare("price", .equal, .text("0")) }, candles(price: "price")],
            expected: lost),
        Case(
            name: "candles of candles have no price",
            rules: [ticks("a") { $0.filter = .isNull("price") }, candles(price: nil)], expected: lost),
    ]

    @Test(arguments: cases) func theFirstRuleIsAdvisedOf(_ test: Case) throws {
        let policy = Policy(
            file: PolicySource(path: "retention.yaml", sha256: "", lines: []),
            store: Policy.StoreLocation(.file("/x"), written: "x", mark: Mark(line: 2, column: 8)), rules: test.rules)
        let found = PolicyAdvice.diagnostics(policy, clock: PriceFile.now).map(\.message)
        #expect(found.count == (test.expected == nil ? 0 : 1), "\(found)")
        if let expected = test.expected { #expect(found.first?.hasPrefix(expected) == true, "\(found)") }
    }
}
