package import PriceStore

extension EngineDelete {
    /// A batch, or all rows, by a method.
    package init(
        fetchRequest: StoreFetchRequest, resultType: BatchResultType = .statusOnly, method: Kind = .whole,
        relationships: BatchDeleteRequest.RelationshipRule = .asDeclared, continuation: BatchContinuation? = nil
    ) {
        self.init(
            BatchDeleteRequest(fetchRequest: fetchRequest, resultType: resultType, relationships: relationships))
        self.method = method
        self.continuation = continuation
    }
}
