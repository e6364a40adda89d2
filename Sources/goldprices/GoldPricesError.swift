/// Why a store or a pending file could not be created, as a sentence for the terminal.
struct GoldPricesError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
