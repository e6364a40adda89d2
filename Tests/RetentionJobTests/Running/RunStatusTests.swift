import PriceStore
import RetentionJob
import Testing

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
        Row("nothing happened", 0) { _ in },
        Row("a refused rule", 65) { $0.note(RunStatus.refused) },
        Row("the budget spent", 75) { $0.note(RunStatus.tryAgain) },
        Row("a policy error", 78) { $0.note(RunStatus.wrongPolicy) },
        Row("a defect", 70) { $0.note(CancellationError()) },
        Row("a missing store before a refusal", 66) {
            $0.fail(.missing)
            $0.note(RunStatus.refused)
        },
        Row("SIGINT", 130) { $0.note(signal: 2) },
        Row("SIGTERM", 143) { $0.note(signal: 15) },
        Row("a signal before all else", 143) {
            $0.note(signal: 15)
            $0.note(RunStatus.refused)
            $0.note(CancellationError())
            $0.fail(.inputOutput)
        },
        Row("an error before a refusal", 74) {
            $0.fail(.inputOutput)
            $0.note(RunStatus.refused)
        },
        Row("the budget before a refusal", 75) {
            $0.note(RunStatus.tryAgain)
            $0.note(RunStatus.refused)
        },
        Row("an error before the budget", 74) {
            $0.fail(.inputOutput)
            $0.note(RunStatus.tryAgain)
        },
        Row("a defect before an error", 70) {
            $0.fail(.inputOutput)
            $0.note(CancellationError())
        },
        Row("no permission before busy", 77) {
            $0.fail(.permission)
            $0.fail(.busy)
        },
    ]

    @Test(arguments: rows) func hasTheExitCode(_ row: Row) {
        #expect(row.status.exitCode == row.exitCode)
    }
}

extension RunStatus {
    fileprivate mutating func fail(_ kind: StoreError.Kind) { note(StoreError(kind, store: "s", message: "m")) }
}
