extension StoreContext {
    /// Carries out a batch delete in the store. The context's own objects are not told: see
    /// ``executeAndMergeChanges(using:into:allowingUnsavedChanges:)``.
    ///
    /// - Parameters:
    ///   - request: what to delete.
    ///   - allowingUnsavedChanges: whether it is meant that the request does not see what the context has not saved of
    ///     the entity.
    /// - Throws: ``StoreError``: of kind `unsupported` if the context holds unsaved changes of the entity, because the
    ///   request would not see them, or if the store is only a rehearsal; else what the store reports. Nothing of the
    ///   request is left behind then.
    public func execute(
        _ request: BatchDeleteRequest, allowingUnsavedChanges: Bool = false
    ) throws -> BatchDeleteResult {
        let writer = try writer("a rehearsal deletes nothing")
        if !allowingUnsavedChanges { try checkIsSaved(request.fetchRequest.entity, "a batch delete") }
        return try writer.execute(request)
    }

    /// Carries out a batch delete in the store, and merges the deletes into this context and others.
    ///
    /// - Parameters:
    ///   - request: what to delete; whatever its result type, the IDs are asked for and returned.
    ///   - contexts: other contexts of the same store and thread that are to know.
    ///   - allowingUnsavedChanges: as with ``execute(_:allowingUnsavedChanges:)``.
    /// - Throws: ``StoreError`` as ``execute(_:allowingUnsavedChanges:)`` does.
    @discardableResult
    public func executeAndMergeChanges(
        using request: BatchDeleteRequest, into contexts: [StoreContext] = [], allowingUnsavedChanges: Bool = false
    ) throws -> BatchDeleteResult {
        var request = request
        request.resultType = .objectIDs
        let result = try execute(request, allowingUnsavedChanges: allowingUnsavedChanges)
        try Self.mergeChanges(
            fromRemoteContextSave: ChangeSet(deleted: result.objectIDs),
            into: [self] + contexts.filter { $0 !== self })
        return result
    }

    /// Throws if the context holds unsaved changes of an entity, which a request in the store would not see.
    func checkIsSaved(_ entity: String, _ request: String) throws(StoreError) {
        guard hasChanges else { return }
        let folded = entity.lowercased()
        var isMet = false
        for list in [inserted, updated, deleted] {
            list.forEach { if $0.entity == entity || $0.entity.lowercased() == folded { isMet = true } }
        }
        guard !isMet else {
            throw StoreError(
                .unsupported, store: inserter.name,
                message: "the context holds unsaved \(entity) objects, which \(request) would not see",
                hint: "save the context first")
        }
    }
}
