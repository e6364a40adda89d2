extension StoreReader {
    /// The entities that can be read, in the store's order, and the names of the others, each with a reason.
    ///
    /// - Throws: ``StoreError`` if the store as a whole cannot be read.
    package func readableEntities() throws(StoreError) -> (
        entities: [Entity], troubles: [(name: String, reason: String)]
    ) {
        var found: (entities: [Entity], troubles: [(name: String, reason: String)]) = ([], [])
        for name in try entityNames() {
            do {
                if let entity = try entity(named: name) { found.entities.append(entity) }
            } catch  where error.isOfOneEntity {
                found.troubles.append((name, error.message))
            }
        }
        return found
    }
}

extension StoreError {
    /// Whether the error concerns one entity only: a missing module, a view of a dropped table.
    package var isOfOneEntity: Bool { [.unsupported, .unknownName].contains(kind) }
}
