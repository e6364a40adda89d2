public import PriceStore

extension StoreContext {
    /// The position after the last transaction in the history; nil: the store keeps no history.
    ///
    /// Read it before the first fetch. Everything that is fetched is then at least as new as the position.
    public func currentHistoryToken() throws(StoreError) -> HistoryToken? {
        try (inserter as? any StoreHistory)?.currentHistoryToken()
    }

    /// The next transactions after a position, in order, of this program and all others.
    ///
    /// - Parameters:
    ///   - token: the position; nil: before the oldest transaction in the history.
    ///   - limit: the maximum number of transactions.
    /// - Returns: transactions, all in memory; empty at the end of the history. There may be fewer than the limit before the end.
    /// - Throws: `StoreError`, as ``StoreHistory/history(after:limit:)`` does.
    public func history(after token: HistoryToken?, limit: Int = 100) throws(StoreError) -> [HistoryTransaction] {
        guard let store = inserter as? any StoreHistory else {
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "a store of the kind \(inserter.engine) keeps no history")
        }
        return try store.history(after: token, limit: limit)
    }

    /// Updates contexts with a part of the history, as ``mergeChanges(fromRemoteContextSave:into:)`` does.
    ///
    /// The part may contain transactions that a context already knows, including its own. So an object whose row the history deleted is
    /// looked up first. If its key exists now, the object is read again, unless it has unsaved changes; its save then compares the row.
    ///
    /// The cost is that of a merge, and a lookup of each object in memory that the history deleted. The contexts are those of one store, all
    /// on this thread.
    /// - Throws: `StoreError` if rows cannot be read. All other contexts are then updated, and the same history can be merged again.
    public static func merge(history: [HistoryTransaction], into contexts: [StoreContext]) throws {
        let changes = ChangeSet(history)
        try forEach(contexts) { context throws(StoreError) in
            try context.merge(try context.withoutRowsThatAreThere(changes))
        }
    }

    /// Notifies observers if other connections have changed the store since the last call. The first call only looks at its state.
    func noticeOthers() throws(StoreError) {
        guard let version = try (inserter as? any StoreHistory)?.dataVersion(), version != dataVersion else { return }
        if dataVersion != nil { notify(ObjectsDidChange(.others)) }
        dataVersion = version
    }

    /// The changes without deletes of objects in memory whose key exists in the store now. Objects without unsaved changes are read again
    /// instead.
    private func withoutRowsThatAreThere(_ changes: ChangeSet) throws(StoreError) -> ChangeSet {
        let suspects = changes.deleted.filter { id in
            guard let object = held(id) else { return false }
            // Without the values that were read, a save could not detect that the row is now another one.
            return object.state != .markedDeleted || object.read != nil
        }
        guard !suspects.isEmpty else { return changes }
        let there = try rowsThatAreThere(suspects)
        guard !there.isEmpty else { return changes }
        var rest = changes
        rest.deleted.removeAll { there.contains($0) }
        rest.inserted.removeAll { there.contains($0) }
        rest.updated += suspects.filter { id in there.contains(id) && held(id)?.hasChanges == false }
        return rest
    }

    func rowsThatAreThere(_ ids: [ObjectID]) throws(StoreError) -> Set<ObjectID> {
        var there: Set<ObjectID> = []
        for (entity, ids) in Dictionary(grouping: ids, by: \.entity) {
            do throws(StoreError) {
                there.formUnion(try rows(ids, of: entity, []).keys)
            } catch {
                // If the entity was dropped or its key changed, none of the rows exists.
                guard error.kind == .unknownName || error.kind == .unsupported else { throw error }
            }
        }
        return there
    }
}
