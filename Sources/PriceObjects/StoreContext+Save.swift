import PriceStore

extension StoreContext {
    /// Saves all changes in one transaction: new objects, then changed ones, then deletes.
    ///
    /// Objects are first validated without the store: required attributes must have a value. Then, inside the transaction, each changed or
    /// deleted object that was read is compared with its row. If another connection changed or deleted the row since, there is a conflict,
    /// which ``mergePolicy`` resolves. There is none if both deleted the row, or if the deleted object was never read. Relationships follow
    /// the delete rules of the store; if one forbids a delete, nothing is saved.
    ///
    /// After a save new objects have their IDs, and all saved objects are faults: their values, including those that the store computes,
    /// are read again when needed. Objects of entities that the deletes can reach through relationships also become faults.
    ///
    /// - Returns: the changed rows, for other contexts: see ``mergeChanges(fromRemoteContextSave:into:)``.
    /// - Throws: ``ObjectValidationError``; ``MergeConflictError``; `StoreError`, of kind `unsupported` inside a transaction of the store.
    ///   Nothing is then saved, and the context keeps its changes.
    @discardableResult
    public func save() throws -> ChangeSet {
        guard hasChanges else { return ChangeSet() }
        let writer = try committingWriter()
        try validate()
        var work = SaveWork(self, writer)
        // The COMMIT may also fail, so objects are updated after it.
        try writer.transaction(.normal) { try work.run() }
        return didSave(work)
    }

    /// Throws if an object lacks a required value, or names an attribute that cannot be set.
    private func validate() throws {
        var failures: [ObjectValidationError.Failure] = []
        func fail(_ object: ManagedObject, _ attribute: String, _ reason: ObjectValidationError.Failure.Reason) throws {
            let entity = try shape(object.entity).entity.name
            failures.append(.init(entity: entity, attribute: attribute, objectID: object.objectID, reason: reason))
        }
        try inserted.forEach { object in
            let shape = try shape(object.entity)
            var named: Set<String> = []
            for (name, value) in object.changedValues.sorted(by: { $0.key < $1.key }) {
                guard let place = shape.place(of: name) else {
                    try fail(object, name, .unknownAttribute)
                    continue
                }
                let attribute = shape.entity.attributes[place]
                named.insert(attribute.name)
                if attribute.isGenerated { try fail(object, attribute.name, .generatedAttribute) }
                if value.isNull, attribute.isRequired, !shape.mayBeNumbered(attribute) {
                    try fail(object, attribute.name, .valueMissing)
                }
            }
            for attribute in shape.entity.attributes
            where attribute.isRequired && !attribute.hasDefault && !attribute.isGenerated
                && !named.contains(attribute.name) && !shape.mayBeNumbered(attribute)
            {
                try fail(object, attribute.name, .valueMissing)
            }
        }
        try updated.forEach { object in
            for attribute in try values(of: object).shape.entity.attributes
            where attribute.isRequired && object.changedValues[attribute.name]?.isNull == true {
                try fail(object, attribute.name, .valueMissing)
            }
        }
        if !failures.isEmpty { throw ObjectValidationError(store: inserter.name, failures: failures) }
    }

    /// Gives the objects their new states after the transaction was committed.
    private func didSave(_ work: SaveWork) -> ChangeSet {
        var changes = ChangeSet()
        var refreshed: [ObjectID] = []
        for (object, id) in work.inserted {
            // A row of the same key was deleted. Its object, if still in memory, must not show the new row.
            if let former = registry[id], former !== object { former.end(as: .deleted) }
            if let formerID = object.objectID, formerID != id { registry.remove(formerID) }
            object.objectID = id
            becomeFault(object)
            object.changedValues = [:]
            object.state = .saved
            registry.add(object, id)
            changes.inserted.append(id)
        }
        for object in work.updated + work.kept {
            becomeFault(object)
            object.changedValues = [:]
            object.state = .saved
        }
        changes.updated = work.updated.compactMap(\.objectID)
        refreshed += work.kept.compactMap(\.objectID)
        for object in work.deleted {
            if let id = object.objectID {
                registry.remove(id)
                changes.deleted.append(id)
            }
            object.end(as: .deleted)
        }
        inserted.removeAll()
        updated.removeAll()
        deleted.removeAll()
        refreshed += refreshReach(ofDeletesIn: Set(work.deleted.map(\.entity)))
        notify(
            ObjectsDidChange(
                .save, inserted: changes.inserted, updated: changes.updated, deleted: changes.deleted,
                refreshed: refreshed))
        return changes
    }

    func becomeFault(_ object: ManagedObject) { object.read = nil }
}
