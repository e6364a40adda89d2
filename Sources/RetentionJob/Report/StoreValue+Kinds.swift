package import PriceStore

extension StoreValue {
    /// The whole number; nil: another kind of value.
    package var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    /// The text; nil: another kind of value.
    package var string: String? { if case .text(let text) = self { text } else { nil } }
}
