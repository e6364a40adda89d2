public import PriceStore

extension StoreContext {
    /// Carries out a batch delete in the store. The context's own objects are not told: see
    /// ``executeAndMergeChanges(using:into:allowingUnsavedChanges:)-(BatchDeleteRequest,_,_)``.
    ///
    /// - Parameters:
    ///   - request: what to delete.
    ///   - allowingUnsavedChanges: whether it is meant that the request does not see what the context has not saved of
    ///     the entity.
    /// - Throws: `StoreError`: of kind `unsupported` if the context holds unsaved changes of the entity, because the
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
    ///   - allowingUnsavedChanges: as with ``execute(_:allowingUnsavedChanges:)-(BatchDeleteRequest,_)``.
    /// - Throws: `StoreError` as ``execute(_:allowingUnsavedChanges:)-(BatchDeleteRequest,_)`` does.
    @discardableResult
    public func executeAndMergeChanges(
        using request: BatchDeleteRequest, into contexts: [StoreContext] = [], allowingUnsavedChanges: Bool = false
    ) throws -> BatchDeleteResult {
        var request = request
        request.resultType = .objectIDs
        let result = try execute(request, allowingUnsavedChanges: allowingUnsavedChanges)
        try mergeHereAnd(contexts, ChangeSet(deleted: result.objectIDs))
        return result
    }

    /// Carries out a batch insert in the store. No objects are made. What the context has not saved is no hindrance: a
    /// new row neither sees it nor touches it, unless the request overwrites rows that are there already.
    ///
    /// - Parameters:
    ///   - request: what to insert.
    ///   - allowingUnsavedChanges: with `ConflictPolicy.replace`, whether it is meant that the request may overwrite
    ///     rows of which the context holds unsaved changes.
    /// - Throws: `StoreError`; nothing of the request is left behind then.
    public func execute(
        _ request: BatchInsertRequest, allowingUnsavedChanges: Bool = false
    ) throws -> BatchInsertResult {
        let writer = try writer("a rehearsal inserts no batches")
        if request.onConflict == .replace, !allowingUnsavedChanges {
            try checkIsSaved(request.entity, "a batch insert that overwrites rows")
        }
        return try writer.execute(request)
    }

    /// Carries out a batch update in the store. The context's own objects are not told.
    ///
    /// - Parameters:
    ///   - request: what to update.
    ///   - allowingUnsavedChanges: as with a batch delete.
    /// - Throws: `StoreError` as ``execute(_:allowingUnsavedChanges:)-(BatchDeleteRequest,_)`` does.
    public func execute(
        _ request: BatchUpdateRequest, allowingUnsavedChanges: Bool = false
    ) throws -> BatchUpdateResult {
        let writer = try writer("a rehearsal updates no batches")
        if !allowingUnsavedChanges { try checkIsSaved(request.entity, "a batch update") }
        return try writer.execute(request)
    }

    /// Carries out a batch insert in the store, and merges the new rows into this context and others: their observers
    /// are told, and objects of rows that were overwritten are read anew.
    ///
    /// - Parameters:
    ///   - request: what to insert; whatever its result type, the IDs are asked for and returned.
    ///   - contexts: other contexts of the same store and thread that are to know.
    ///   - allowingUnsavedChanges: as with ``execute(_:allowingUnsavedChanges:)-(BatchInsertRequest,_)``.
    @discardableResult
    public func executeAndMergeChanges(
        using request: BatchInsertRequest, into contexts: [StoreContext] = [], allowingUnsavedChanges: Bool = false
    ) throws -> BatchInsertResult {
        var request = request
        request.resultType = .objectIDs
        let result = try execute(request, allowingUnsavedChanges: allowingUnsavedChanges)
        try mergeHereAnd(contexts, ChangeSet(inserted: result.objectIDs))
        return result
    }

    /// Carries out a batch update in the store, and merges the changes into this context and others.
    ///
    /// An attribute of the key may be set: rows then have other IDs, and all objects of the entity are read anew, so that
    /// those whose row is now another say that they are deleted.
    /// - Parameters:
    ///   - request: what to update; whatever its result type, the IDs are asked for and returned.
    ///   - contexts: other contexts of the same store and thread that are to know.
    ///   - allowingUnsavedChanges: as with a batch delete.
    @discardableResult
    public func executeAndMergeChanges(
        using request: BatchUpdateRequest, into contexts: [StoreContext] = [], allowingUnsavedChanges: Bool = false
    ) throws -> BatchUpdateResult {
        var request = request
        request.resultType = .objectIDs
        let result = try execute(request, allowingUnsavedChanges: allowingUnsavedChanges)
        let entity = try shape(request.entity).entity
        let key = Set(entity.primaryKey.map { $0.lowercased() })
        if request.propertiesToUpdate.keys.contains(where: { key.contains($0.lowercased()) }) {
            for context in [self] + contexts { context.refreshAll(of: entity.name) }
        }
        try mergeHereAnd(contexts, ChangeSet(updated: result.objectIDs))
        return result
    }

    private func mergeHereAnd(_ contexts: [StoreContext], _ changes: ChangeSet) throws {
        try Self.mergeChanges(fromRemoteContextSave: changes, into: [self] + contexts.filter { $0 !== self })
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
