import PriceStore

extension StoreContext {
    /// Executes a batch request in the store. The context's own objects are not updated;
    /// ``executeAndMergeChanges(using:into:allowingUnsavedChanges:)`` updates them.
    ///
    /// - Parameters:
    ///   - request: what to delete, insert or update.
    ///   - allowingUnsavedChanges: whether to execute although the request does not see unsaved changes of the entity. A batch insert
    ///     depends on them only if it replaces rows.
    /// - Throws: `StoreError`: of kind `unsupported` if the context has unsaved changes of the entity, which the request would not see, or
    ///   if the store is open for reading only; otherwise errors of the store, and the errors of a batch insert's handler. Nothing of the
    ///   request is then done.
    @discardableResult
    public func execute<Request: BatchRequest>(
        _ request: Request, allowingUnsavedChanges: Bool = false
    ) throws -> Request.Result {
        let writer = try writer()
        if !allowingUnsavedChanges { try checkIsSaved(request) }
        return try request.execute(in: writer)
    }

    /// Executes a batch request in the store, and merges the changes into this context and others. Observers are notified, and objects of
    /// changed rows are read again.
    ///
    /// - Parameters:
    ///   - request: what to delete, insert or update. If a context needs the IDs of inserted or updated rows, they are requested whatever
    ///     the result type. For deletes, the store is asked which objects in memory still exist.
    ///   - contexts: other contexts of the same store and thread to update.
    ///   - allowingUnsavedChanges: as in ``execute(_:allowingUnsavedChanges:)``.
    /// - Throws: the errors of ``execute(_:allowingUnsavedChanges:)``; `StoreError` of kind `unsupported` inside a transaction of the
    ///   store.
    @discardableResult
    public func executeAndMergeChanges<Request: BatchRequest>(
        using request: Request, into contexts: [StoreContext] = [], allowingUnsavedChanges: Bool = false
    ) throws -> Request.Result {
        _ = try committingWriter()
        var request = request
        let contexts = [self] + contexts.filter { $0 !== self }
        if contexts.contains(where: request.needsObjectIDs) { request.resultType = .objectIDs }
        let result = try execute(request, allowingUnsavedChanges: allowingUnsavedChanges)
        try request.merge(result, into: contexts)
        return result
    }

    /// Throws if the context has unsaved changes that a request would not see: of its entities or their sub-entities.
    func checkIsSaved<Request: BatchRequest>(_ request: Request) throws(StoreError) {
        for entity in request.changedEntities.sorted() where hasChanges {
            let concerned = family(of: [entity])
            var isMet = false
            for list in [inserted, updated, deleted] {
                list.forEach { if $0.entity == entity || concerned.contains($0.entity.folded) { isMet = true } }
            }
            guard isMet else { continue }
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "the context holds unsaved \(entity) objects, which \(Request.phrase) would not see",
                hint: "save the context first")
        }
    }
}
