extension Dictionary {
    /// Of pairs with the same key, the first one is taken.
    package init(firstOf pairs: some Sequence<(Key, Value)>) {
        self.init(pairs, uniquingKeysWith: { first, _ in first })
    }
}
