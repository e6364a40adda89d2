import PriceStore
import Testing

@testable import PostgresStore

struct StoreErrorTests {
    struct Row: Sendable {
        var code: String?
        var kind: StoreError.Kind
        var isLost = false
    }

    static let rows = [
        Row(code: nil, kind: .unreachable, isLost: true), Row(code: nil, kind: .unsupported),
        Row(code: "08006", kind: .unreachable), Row(code: "57P01", kind: .unreachable, isLost: true),
        Row(code: "57P03", kind: .unreachable), Row(code: "28P01", kind: .permission),
        Row(code: "28000", kind: .permission),
        Row(code: "42501", kind: .permission), Row(code: "25006", kind: .permission),
        Row(code: "3D000", kind: .missing),
        Row(code: "53100", kind: .inputOutput), Row(code: "53200", kind: .inputOutput),
        Row(code: "58030", kind: .inputOutput),
        Row(code: "XX001", kind: .inputOutput), Row(code: "53300", kind: .busy), Row(code: "55P03", kind: .busy),
        Row(code: "57014", kind: .busy), Row(code: "40P01", kind: .busy), Row(code: "40001", kind: .busy),
        Row(code: "23503", kind: .constraint), Row(code: "P0001", kind: .constraint),
        Row(code: "42P01", kind: .unknownName),
        Row(code: "42703", kind: .unknownName), Row(code: "0A000", kind: .unsupported),
        Row(code: "22P02", kind: .unsupported),
        Row(code: "XX000", kind: .defect),
    ]

    @Test(arguments: rows)
    func everySQLSTATEHasItsKind(row: Row) {
        let fault = ServerFault(code: row.code, message: "no reason", isConnectionLost: row.isLost)
        let error = StoreError(fault, store: "postgresql:///prices", doing: "deleting rows")
        #expect(error.kind == row.kind)
        #expect(error.engineCode == row.code.map { "SQLSTATE \($0)" })
        #expect(error.message == "deleting rows: no reason")
    }

    @Test func onlyWhatMayGoWellAtOnceIsTriedAgain() {
        let repeated = Self.rows.filter { row in
            StoreError(
                ServerFault(code: row.code, message: "", isConnectionLost: row.isLost), store: "", doing: ""
            ).isWorthRepeating
        }
        #expect(Set(repeated.compactMap(\.code)) == ["40001", "40P01", "55P03"])
    }
}
