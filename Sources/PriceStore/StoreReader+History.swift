extension StoreReader {
    /// Nil: the engine keeps no history.
    public func currentHistoryToken() throws(StoreError) -> HistoryToken? { nil }

    /// Throws: the engine keeps no history.
    public func history(after token: HistoryToken?, limit: Int) throws(StoreError) -> [HistoryTransaction] {
        throw StoreError(.unsupported, store: name, message: "a store of the kind \(engine) keeps no history")
    }
}

extension StoreWriter {
    /// Throws: the engine keeps no history.
    public func keepHistory() throws(StoreError) {
        throw StoreError(.unsupported, store: name, message: "a store of the kind \(engine) keeps no history")
    }

    /// Throws: the engine keeps no history.
    public func deleteHistory(before instant: Instant) throws(StoreError) -> Int {
        throw StoreError(.unsupported, store: name, message: "a store of the kind \(engine) keeps no history")
    }

    /// Throws: the engine keeps no history.
    public func deleteHistory(before token: HistoryToken) throws(StoreError) -> Int {
        throw StoreError(.unsupported, store: name, message: "a store of the kind \(engine) keeps no history")
    }
}
