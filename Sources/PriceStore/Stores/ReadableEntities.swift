/// The entities of a store that can be read, and why the others cannot: a view of a dropped table, a missing module.
package struct ReadableEntities: Sendable {
    /// The readable entities, in the store's order.
    package var entities: [Entity] = []
    /// The names of the others, each with a reason.
    package var troubles: [(name: String, reason: String)] = []

    /// Makes an empty list.
    package init() {}
}

extension StoreReader {
    /// Reads all entities. Unreadable ones are left out.
    ///
    /// - Throws: ``StoreError`` if the store as a whole cannot be read.
    package func readableEntities() throws(StoreError) -> ReadableEntities {
        var found = ReadableEntities()
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
    package var isOfOneEntity: Bool { kind == .unsupported || kind == .unknownName }
}
