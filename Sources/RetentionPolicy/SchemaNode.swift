/// A value of a JSON document whose members have an order. The reports convert it to text.
package indirect enum SchemaNode: Hashable, Sendable {
    case flag(Bool)
    case integer(Int)
    case text(String)
    case list([SchemaNode])
    case object([Member])

    /// A name and its value.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: SchemaNode
    }

    /// This object with more members at its end. A value that is not an object is unchanged.
    func adding(_ more: [Member]) -> SchemaNode {
        guard case .object(let members) = self else { return self }
        return .object(members + more)
    }
}

extension SchemaNode: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    package init(booleanLiteral value: Bool) { self = .flag(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .text(value) }
}

extension SchemaNode: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: SchemaNode...) { self = .list(elements) }

    package init(dictionaryLiteral elements: (String, SchemaNode)...) {
        self = .object(elements.map(Member.init))
    }
}
