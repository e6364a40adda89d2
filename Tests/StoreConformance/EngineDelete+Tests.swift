package import PriceStore

extension EngineDelete {
    /// A batch, or all rows, by a technique.
    package init(
        fetchRequest: StoreFetchRequest, resultType: BatchResultType = .statusOnly, technique: Kind = .whole,
        relationships: BatchDeleteRequest.RelationshipRule = .asDeclared, continuation: BatchContinuation? = nil
    ) {
        self.init(
            BatchDeleteRequest(fetchRequest: fetchRequest, resultType: resultType, relationships: relationships))
        self.technique = technique
        self.continuation = continuation
    }
}
