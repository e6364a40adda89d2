import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob

/// What is said of columns of a server, too: a `where` is compared with the values that one can have, and a price is a number.
struct ColumnCheckTests {
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

    @Test(
        arguments: [
            ("REAL", .real, nil), ("", .none, nil), ("ANY", .none, nil), ("blob", .none, nil),
            ("VARCHAR", .text, "tick.p is a column for text, and"),
            ("money", .none, "tick.p is a column of type money, and"),
        ] as [(String, Attribute.Affinity, String?)])
    func aPriceIsANumber(_ type: String, _ affinity: Attribute.Affinity, _ message: String?) {
        let tick = Entity(name: "tick", attributes: [Attribute(name: "p", affinity: affinity, declaredType: type)])
        let found = StoreCheck.numberTrouble("p", of: tick, at: Mark(line: 1, column: 1))?.message
        #expect(found?.prefix { $0 != "," } == message?.prefix { $0 != "," })
    }
}
