import PriceStore
import RetentionJob
import Testing

/// Which of several things that happened decides. The code of each kind of error is in `ExitStatusTests`.
@Suite struct RunStatusTests {
    struct Row: CustomTestStringConvertible {
        var name: String
        var status: RunStatus
        var exitCode: Int32
        var testDescription: String { name }

        init(_ name: String, _ exitCode: Int32, _ change: (inout RunStatus) -> Void) {
            self.name = name
            self.exitCode = exitCode
            status = RunStatus()
            change(&status)
        }
    }

    static let rows = [
        Row("nothing happened", 0) { _ in }, Row("a refused rule", 65) { $0.hasRefusedRule = true },
        Row("a bad pending line", 65) { $0.hasBadPending = true },
        Row("the budget spent", 75) { $0.isBudgetSpent = true },
        Row("a defect", 70) { $0.hasDefect = true },
        Row("a missing store before a refusal", 66) {
            $0.failures = [.missing]
            $0.hasRefusedRule = true
        },
        Row("SIGINT", 130) { $0.signal = 2 }, Row("SIGTERM", 143) { $0.signal = 15 },
        Row("a signal before all else", 143) {
            $0.signal = 15
            $0.hasRefusedRule = true
            $0.hasDefect = true
            $0.failures = [.inputOutput]
        },
        Row("an error before a refusal", 74) {
            $0.failures = [.inputOutput]
            $0.hasRefusedRule = true
        },
        Row("the budget before a refusal", 75) {
            $0.isBudgetSpent = true
            $0.hasRefusedRule = true
            $0.hasBadPending = true
        },
        Row("an error before the budget", 74) {
            $0.failures = [.inputOutput]
            $0.isBudgetSpent = true
        },
        Row("a defect before an error", 70) {
            $0.failures = [.inputOutput]
            $0.hasDefect = true
        }, Row("no permission before busy", 77) { $0.failures = [.permission, .busy] },
        Row("a raised trigger after the budget", 75) {
            $0.failures = [.constraint]
            $0.isBudgetSpent = true
        }, Row("a policy error alone", 78) { $0.hasPolicyError = true },
    ]

    @Test(arguments: rows) func hasTheExitCode(_ row: Row) {
        #expect(row.status.exitCode == row.exitCode)
    }
}
