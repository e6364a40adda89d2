package import PriceStore

extension StoreValue {
    /// The whole number, if it is one.
    package var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    /// The text, if it is one.
    package var string: String? { if case .text(let text) = self { text } else { nil } }
}
