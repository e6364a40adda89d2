import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

@Suite struct PendingDiagnosticsTests {
    let fixture: PendingStoreFixture

    init() throws { fixture = try PendingStoreFixture() }

    private func messages(_ change: (inout Policy) -> Void) throws -> [String] {
        var policy = fixture.policy()
        change(&policy)
        return try PendingFolder.diagnostics(policy: policy, reader: try fixture.writer()).map(\.message)
    }

    @Test func aSoundSourceHasNone() throws {
        #expect(try messages { $0.pending[0].columns = ["Date": "UpdateTime"] }.isEmpty)
        #expect(try messages { $0.pending[0].constants = ["symbol": .text("XAU")] }.isEmpty)
        #expect(try messages { $0.pending[0].entity = "PRICE" }.isEmpty)
        #expect(try messages { $0.pending[0].constants = ["updateTime": .text("2026")] }.isEmpty)
    }

    @Test func unknownNamesAreNamedWithTheNearest() throws {
        #expect(
            try messages { $0.pending[0].entity = "Prise" } == [
                "the store has no entity 'Prise'; did you mean 'Price'?"
            ])
        #expect(
            try messages {
                $0.pending[0].columns = ["Date": "updatTime", "B": "zzz"]
                $0.pending[0].constants = ["symbl": .null]
            } == [
                "'Price' has no attribute 'zzz'", "'Price' has no attribute 'updatTime'; did you mean 'updateTime'?",
                "'Price' has no attribute 'symbl'; did you mean 'symbol'?",
            ])
    }

    @Test func anAttributeThatIsGivenTwiceIsNamed() throws {
        #expect(
            try messages {
                $0.pending[0].columns = ["A": "price", "B": "Price"]
                $0.pending[0].constants = ["price": .integer(1)]
            }.count == 2)
    }

    @Test func aConstantThatFitsNotIsNamed() throws {
        #expect(
            try messages { $0.pending[0].constants = ["price": .text("x")] } == [
                "constant 'price': price: not a number"
            ])
    }

    @Test func noRuleOrTwoFormatsAreNamed() throws {
        #expect(
            try messages { $0.rules[0].entity = "Other" }.first?.hasPrefix("no rule has the entity 'Price'") == true)
        #expect(
            try messages {
                var other = $0.rules[0]
                other.name = "other"
                other.dateAttribute = "UPDATETIME"
                other.dateFormat = .unixMilliseconds
                other.isEnabled = false
                $0.rules.append(other)
            } == [
                "the rules differ in the date_format of 'updateTime' (unix_seconds in rule 'gold', "
                    + "unix_milliseconds in rule 'other'); pending rows need one"
            ])
    }

    @Test func theMarkIsThatOfTheKey() throws {
        var policy = fixture.policy()
        policy.pending[0].columns = ["Date": "zzz"]
        policy.pending[0].marks = Marks(
            whole: Mark(line: 1, column: 1), values: ["columns.Date": Mark(line: 7, column: 20, length: 3)])
        let found = try PendingFolder.diagnostics(policy: policy, reader: try fixture.writer())
        #expect(found.map(\.mark) == [Mark(line: 7, column: 20, length: 3)])
    }
}
