package import PriceStore

extension StoreContext {
    /// The deletion of the rows that a request names, part by part. A part throws if this context has unsaved changes of the entity,
    /// because the deletion would not see them. Deletes are merged into the contexts.
    ///
    /// - Parameters:
    ///   - request: what to delete.
    ///   - contexts: other contexts of the same store and thread to update.
    /// - Throws: `StoreError`: of kind `unsupported` if the store is open for reading only, or its schema does not allow it.
    package func deletion(
        of request: SurveyRequest, mergingInto contexts: [StoreContext] = []
    ) throws(StoreError) -> any Deletion {
        var request = request
        let contexts = [self] + contexts.filter { $0 !== self }
        // Without objects in memory, the IDs of deleted rows are not needed.
        let merges = contexts.contains { !$0.registry.objects.isEmpty || !$0.observers.isEmpty }
        if merges { request.deleting.wantsObjectIDs = true }
        guard let writer = inserter as? any RetentionWriter else { throw readOnly }
        let deletion = try writer.deletion(of: request)
        return ContextDeletion(deletion, entity: request.entity, context: self, merging: merges ? contexts : [])
    }
}

/// A deletion that updates contexts.
private final class ContextDeletion: Deletion {
    private let deletion: any Deletion
    private let entity: String
    private let context: StoreContext
    private let contexts: [StoreContext]

    init(_ deletion: any Deletion, entity: String, context: StoreContext, merging contexts: [StoreContext]) {
        self.deletion = deletion
        self.entity = entity
        self.context = context
        self.contexts = contexts
    }

    var outline: DeletionOutline { deletion.outline }

    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart {
        try context.checkIsSaved(entity, "a deletion")
        let part = try deletion.deleteNext(bounds)
        let changes = ChangeSet(deleted: part.result.objectIDs)
        for context in contexts { try context.merge(changes) }
        return part
    }

    func remainingCount(besides others: [StorePredicate]) throws(StoreError) -> Int {
        try deletion.remainingCount(besides: others)
    }
}
