import Foundation
import PriceStore
@testable import RetentionJob
import RetentionPolicy
import Testing

/// The text of a plan's file, read back.
struct SavedPlanTests {
    private var plan: SavedPlan {
        let instant = Instant(microseconds: 1_800_000_000_000_000)
        var plan = SavedPlan(
            policySHA256: "00", store: "/a\n\u{1B}\\b", asOf: instant, made: instant, validUntil: instant)
        var numbers = SavedPlan.Step(name: "numbers")
        numbers.keys = .numbers([Int64.min...Int64.min, -5...8, 10...10, Int64.max...Int64.max])
        var texts = SavedPlan.Step(name: "texts")
        texts.keys = .lines(["'a\u{0}\r\t\u{202E}'|5", #"'a\n'"#, "'e\u{301}'"].map { Array($0.utf8) })
        (numbers.cutoff, texts.cutoff) = (instant, instant)
        plan.steps = [numbers, texts]
        plan.accept = [.wrongUnit, .futureDates]
        plan.ruleNames = ["numbers"]
        return plan
    }

    @Test func whatIsWrittenIsReadBack() throws {
        let plan = plan
        #expect(plan.text.contains(#"  key: 'a\u{0}\r\t\u{202E}'|5"# + "\n") && plan.text.contains("  rows: 17\n"))
        #expect(plan.text.contains("\naccept: future_dates\naccept: wrong_unit\nonly_rule: numbers\n"))
        #expect(SavedPlan(text: plan.text) == plan)
    }

    /// Somebody who can compute the last line can still not write what a dry run never writes.
    @Test(arguments: [
        ("keys: 10\n", "keys: -9223372036854775808..9223372036854775807\n"), ("keys: 10\n", "keys: 11..9\n"),
        ("keys: 10\n", "keys: 7..10\n"), ("keys: 10\n", "keys: 9\n"), ("keys: 10\n", "keys: 10\n  keys: 9\n"),
        ("rows: 17", "rows: -5"), ("rows: 17", "rows: 9223372036854775807"), ("  keys: 10\n", ""),
        ("as_of: 2027", "as_of: 27"), ("store: ", "shop: "), ("store: ", "store:"), ("  key: 'a\\\\n'\n", ""),
        ("'e\u{301}'", "'\u{E9}'\n  key: 'e\u{301}'"), ("rule: texts\n", ""), ("\n", "\r\n"),
        ("accept: wrong_unit", "accept: all"), ("rows: 17\n", "rows: 17\n  more: 1\n"),
        ("keys: 10\n", "keys: x..10\n"),
    ]) func aFileThatNoDryRunWritesIsRefused(part: String, other: String) throws {
        func forged(_ body: String) -> String { body + "sha256: \(SavedPlan.hash(body))\n" }
        let text = plan.text
        let body = try #require(text.range(of: "\nsha256: ")).lowerBound
        let lines = String(text[..<body]) + "\n"
        #expect(forged(lines) == text && lines.contains(part))
        #expect(SavedPlan(text: forged(lines.replacing(part, with: other))) == nil)
    }

    /// Who has locked rows that the engine skipped is named.
    @Test func theOutlineOfThePlannedRowsNamesALocker() {
        var outline = DeletionOutline(method: "range batches", isInBatches: true)
        outline.locker = "another session"
        #expect(PlannedDeletion.outline(outline).locker == "another session")
    }
}
