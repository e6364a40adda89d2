import PriceStore
import Testing

@testable import RetentionJob

/// A `where` is compared with the values that a column can have.
struct TextCheckTests {
    @Test(
        arguments: [
            (StorePredicate.compare("side", .equal, .text("buy")), nil),
            (.compare("side", .equal, .text("bid")), "t.side has no value 'bid'; it has 'buy', 'sell'"),
            (.isIn("side", [.text("sell"), .integer(1)]), "t.side has no value 1; it has 'buy', 'sell'"),
            (.compare("side", .notEqual, .null), nil), (.compare("name", .equal, .text("bid")), nil),
            (.compare("price", .equal, .real(1.5)), nil),
            (
                .isIn("name", [.text("1"), .real(1.5)]),
                "t.name is a column of text: put the number in quotes, with the digits that are stored"
            ),
        ] as [(StorePredicate, String?)])
    func aValueThatAColumnCannotHaveIsAMistake(_ filter: StorePredicate, _ expected: String?) {
        var side = Attribute(name: "side", affinity: .none)
        side.labels = ["buy", "sell"]
        let entity = Entity(
            name: "t", kind: .table,
            attributes: [
                side, Attribute(name: "name", affinity: .text), Attribute(name: "price", affinity: .real),
            ])
        #expect(entity.textTrouble(of: filter)?.reason == expected)
    }
}
