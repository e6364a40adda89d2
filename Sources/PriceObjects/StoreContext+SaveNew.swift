public import PriceStore

extension StoreContext {
    /// What a save of new objects did.
    public struct SaveResult: Hashable, Sendable {
        /// Objects that are in the store now.
        public var savedCount = 0
        /// Objects that were ignored because their key already exists.
        public var ignoredCount = 0
        /// Objects that the store refused.
        public var rejectedCount = 0

        /// Makes an empty result.
        public init() {}
    }

    /// Saves all new objects in one transaction and releases them, to import many rows with bounded memory.
    ///
    /// No validation runs; the store checks each row. The objects get no ID, and those that the program still holds belong to no context.
    ///
    /// - Parameters:
    ///   - onConflict: what to do with an object whose primary or unique key already exists.
    ///   - rejecting: called with each object that the store rejects, and the reason; the others are saved. Nil: the first rejection is
    ///     thrown and nothing is saved.
    /// - Throws: `StoreError`, of kind `unsupported` if the store is open for reading only, or if the context also has changed or deleted
    ///   objects. The context then keeps all its objects and the store is unchanged.
    @discardableResult
    public func save(
        onConflict: ConflictPolicy, rejecting: ((ManagedObject, String) -> Void)? = nil
    ) throws -> SaveResult {
        guard isRehearsal || inserter is any StoreWriter else { throw readOnly }
        guard updated.isEmpty, deleted.isEmpty else {
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "the context holds changed or deleted objects, and this save is for new ones only",
                hint: "use save()")
        }
        var result = SaveResult()
        guard hasChanges else { return result }
        try inserter.transaction(.normal) {
            if let together = try saveTogether(onConflict) {
                result = together
                return
            }
            try inserted.forEach { object in
                switch try inserter.insert(entity: object.entity, values: object.changedValues, onConflict: onConflict)
                {
                case .saved: result.savedCount += 1
                case .ignored: result.ignoredCount += 1
                case .rejected(let reason):
                    guard let rejecting else {
                        throw StoreError(
                            .constraint, store: inserter.name,
                            message: "a new \(object.entity) was refused: \(reason)")
                    }
                    result.rejectedCount += 1
                    rejecting(object, reason)
                }
            }
        }
        inserted.forEach { $0.end(as: .detached) }
        inserted.removeAll()
        notify(ObjectsDidChange(.save))
        return result
    }

    /// Saves all new objects as one list, if they have one entity and the store accepts lists; nil: nothing was saved.
    private func saveTogether(_ onConflict: ConflictPolicy) throws -> SaveResult? {
        var rows: [[String: StoreValue]] = []
        var entities: Set<String> = []
        inserted.forEach { object in
            rows.append(object.changedValues)
            entities.insert(object.entity)
        }
        guard rows.count > 1, entities.count == 1, let entity = entities.first,
            let saved = try (inserter as? any RetentionInserter)?.insert(
                entity: entity, rows: rows, onConflict: onConflict)
        else { return nil }
        var result = SaveResult()
        (result.savedCount, result.ignoredCount) = (saved, rows.count - saved)
        return result
    }
}
