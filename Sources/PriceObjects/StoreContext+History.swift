public import PriceStore

extension StoreContext {
    /// The place behind the last transaction that the store remembers; nil: it keeps no history.
    ///
    /// Ask for it before the first fetch: what is fetched later is at least as new as the place.
    public func currentHistoryToken() throws(StoreError) -> HistoryToken? {
        try (inserter as? any StoreHistory)?.currentHistoryToken()
    }

    /// The next transactions behind a place, in order: those of this program and of all others.
    ///
    /// - Parameters:
    ///   - token: the place; nil: before the oldest transaction that is kept.
    ///   - limit: how many transactions at most.
    /// - Returns: transactions, all in memory. There may be fewer than the limit before the end of the history; none: it
    ///   has no more.
    /// - Throws: `StoreError` as ``StoreHistory/history(after:limit:)`` does.
    public func history(after token: HistoryToken?, limit: Int = 100) throws(StoreError) -> [HistoryTransaction] {
        guard let store = inserter as? any StoreHistory else {
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "a store of the kind \(inserter.engine) keeps no history")
        }
        return try store.history(after: token, limit: limit)
    }

    /// Brings contexts up to date with a part of the history, as ``mergeChanges(fromRemoteContextSave:into:)`` does.
    ///
    /// A context may be given transactions that it knows already, its own among them: objects are read again and stay
    /// what they are. For that, an object whose row was deleted by the history is looked up: if a row of its key is there
    /// now, the object is read anew; if it has unsaved changes it is left alone, and its save finds out whether the row
    /// is still the one that was read.
    ///
    /// The cost is that of a merge, and a look-up of the held objects that the history calls deleted.
    /// - Parameters:
    ///   - history: transactions in their order.
    ///   - contexts: contexts of the same store; all belong to this thread.
    /// - Throws: `StoreError` if rows cannot be read. All other contexts are brought up to date then; the same
    ///   history can be merged again.
    public static func merge(history: [HistoryTransaction], into contexts: [StoreContext]) throws {
        let changes = ChangeSet(history)
        var failure: StoreError?
        for context in contexts {
            do throws(StoreError) {
                try context.merge(try context.withoutRowsThatAreThere(changes))
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// The changes without the deletes of held objects of whose key a row is there now: those without unsaved changes
    /// are to be read anew, the others are not mentioned.
    private func withoutRowsThatAreThere(_ changes: ChangeSet) throws(StoreError) -> ChangeSet {
        let suspects = changes.deleted.filter { id in
            guard let object = held(id) else { return false }
            // Without what was read, a save could not find out that the row is another one now.
            return object.state != .markedDeleted || object.snapshot != nil
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

    private func rowsThatAreThere(_ ids: [ObjectID]) throws(StoreError) -> Set<ObjectID> {
        var there: Set<ObjectID> = []
        for (entity, ids) in Dictionary(grouping: ids, by: \.entity) {
            var rest = ids[...]
            while !rest.isEmpty {
                let part = Array(rest.prefix(500))
                rest = rest.dropFirst(500)
                do throws(StoreError) {
                    let request = FetchRequest(entity: entity, predicate: .objectIDs(part))
                    there.formUnion(try inserter.fetchObjectIDs(request))
                } catch {
                    // The entity may be gone, or have another key than in its past: then none of the rows is there.
                    guard error.kind == .unknownName || error.kind == .unsupported else { throw error }
                }
            }
        }
        return there
    }
}
