import PriceStore

extension StoreContext {
    /// Updates contexts with changes of another context, a batch request or another process.
    ///
    /// Objects of deleted rows are deleted, with their unsaved changes. Objects of changed rows are read again when needed. An object with
    /// unsaved changes keeps them: its row is read immediately, and the next save compares with these values. Objects of entities that the
    /// deletes can reach through relationships are also read again, because their rows may be deleted or changed. Each context then
    /// notifies its observers.
    ///
    /// The cost is one lookup for each ID and one pass over the objects in memory. For deletes no row is read.
    ///
    /// - Parameters:
    ///   - changes: the changes. An ID without an object in memory costs only a lookup.
    ///   - contexts: the contexts, all on this thread. Send the change set to other threads.
    /// - Throws: `StoreError` if the row of an object with unsaved changes cannot be read. Everything else is then merged in all contexts,
    ///   and the save of the object finds the conflict.
    public static func mergeChanges(
        fromRemoteContextSave changes: ChangeSet, into contexts: [StoreContext]
    ) throws {
        try forEach(contexts) { context throws(StoreError) in try context.merge(changes) }
    }

    /// Updates all contexts, also if one of them fails, and throws the first error.
    static func forEach(
        _ contexts: [StoreContext], _ update: (StoreContext) throws(StoreError) -> Void
    ) throws(StoreError) {
        var failure: StoreError?
        for context in contexts {
            do throws(StoreError) { try update(context) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// The names of entities and of their sub-entities, in lower case.
    func family(of entities: Set<String>) -> Set<String> {
        var family: Set<String> = []
        for entity in entities {
            family.insert(entity.folded)
            family.formUnion((try? shape(entity))?.entity.model?.subentities.map { $0.folded } ?? [])
        }
        return family
    }

    /// The objects in memory that are rows of the entities or their sub-entities.
    func heldObjects(of entities: Set<String>) -> [ManagedObject] {
        guard !entities.isEmpty else { return [] }
        let family = family(of: entities)
        return registry.objects.filter { family.contains($0.entity.folded) }
    }

    /// Updates the context after a delete from entities whose deleted rows are not known one by one. Objects whose row is no longer in the
    /// store are deleted.
    func mergeDeletes(in entities: Set<String>) throws(StoreError) {
        let ids = heldObjects(of: entities).compactMap(\.objectID)
        let there = try rowsThatAreThere(ids)
        try merge(ChangeSet(deleted: ids.filter { !there.contains($0) }), deletesIn: entities)
    }

    /// Updates this context and notifies its observers.
    ///
    /// - Parameter entities: entities with deleted rows besides those of the change set.
    func merge(_ changes: ChangeSet, deletesIn entities: Set<String> = []) throws(StoreError) {
        var notice = ObjectsDidChange(.merge, inserted: changes.inserted)
        var entities = entities
        var lastEntity = ""
        for id in changes.deleted {
            // Runs of one entity are usual, and comparing is cheaper than hashing.
            if id.entity != lastEntity {
                lastEntity = id.entity
                entities.insert(lastEntity)
            }
            guard let object = held(id), let id = object.objectID else { continue }
            forget(object)
            notice.deleted.append(id)
        }
        var changed: [ManagedObject] = []
        for id in changes.updated + changes.inserted {
            guard let object = held(id), let id = object.objectID else { continue }
            if object.isUpdated { changed.append(object) } else { becomeFault(object) }
            notice.updated.append(id)
        }
        notice.refreshed = refreshReach(ofDeletesIn: entities)
        do {
            let deleted = try readAgain(changed)
            notice.updated.removeAll { deleted.contains($0) }
            notice.deleted += deleted
        } catch {
            // The objects keep the values that they were read with, so their save finds the conflict.
            notify(notice)
            throw error
        }
        notify(notice)
    }

    /// The object of an ID from another context or process, or from the program itself.
    func held(_ id: ObjectID) -> ManagedObject? {
        if let object = registry[id] { return object }
        guard id.storeIdentifier == nil else { return nil }
        return registry[canonical(id)]
    }

    /// Reads an object's row again. If the row is deleted, the object is deleted.
    ///
    /// - Parameters:
    ///   - object: an object of this context. New and deleted objects are not changed.
    ///   - mergeChanges: whether the object keeps its unsaved changes; the next save then compares with the new values. Otherwise unsaved
    ///     changes and a mark of deletion are lost.
    /// - Throws: ``ManagedObjectError`` if the object belongs to another context or to none; `StoreError` if the row cannot be read.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        if object.state == .inserted || object.state == .deleted { return }
        try requireOwn(object)
        if !mergeChanges {
            updated.remove(object)
            deleted.remove(object)
            object.changedValues = [:]
            object.state = .saved
        }
        let deleted = try readAgain([object])
        let ids = [object.objectID].compactMap(\.self)
        notify(ObjectsDidChange(.refresh, deleted: deleted, refreshed: deleted.isEmpty ? ids : []))
    }

    /// Reads the rows of saved objects again and keeps their unsaved changes. Returns the IDs of deleted rows.
    func readAgain(_ objects: [ManagedObject]) throws(StoreError) -> [ObjectID] {
        var deleted: [ObjectID] = []
        for (entity, objects) in Dictionary(grouping: objects, by: \.entity) {
            let shape = try shape(entity)
            let known = objects.rows
            let rows = try rows(known.map(\.id), of: entity, shape.names)
            for (object, id) in known {
                if let row = rows[id] {
                    object.read = ReadRow(id: id, shape: shape, values: row)
                } else {
                    forget(object)
                    deleted.append(id)
                }
            }
        }
        return deleted
    }

    /// The values of the rows that exist, of those given, with one statement for each 500.
    func rows(_ ids: [ObjectID], of entity: String, _ names: [String]) throws(StoreError) -> [ObjectID: [StoreValue]] {
        var rows: [ObjectID: [StoreValue]] = [:]
        var rest = ArraySlice(ids)
        while !rest.isEmpty {
            let request = StoreFetchRequest(entity: entity, predicate: .objectIDs(Array(rest.prefix(500))))
            for row in try inserter.fetchRows(request, attributes: names) { rows[row.objectID] = row.values }
            rest = rest.dropFirst(500)
        }
        return rows
    }

    /// Makes unchanged objects faults if deletes in other entities may have deleted or changed their rows through relationships, which the
    /// store does not report. Returns their IDs.
    func refreshReach(ofDeletesIn entities: Set<String>) -> [ObjectID] {
        // The deletes are done. If the schema cannot be read now, any object may be affected.
        let reached = try? reach(ofDeletesIn: entities)
        if let reached, reached.isEmpty { return [] }
        var refreshed: [ObjectID] = []
        for object in registry.objects where object.state == .saved && object.changedValues.isEmpty {
            guard let read = object.read, reached?.contains(object.entity.folded) != false else { continue }
            becomeFault(object)
            refreshed.append(read.id)
        }
        return refreshed
    }

    /// The entities, in lower case, whose rows deletes in the given entities may delete or change.
    ///
    /// Delete rules do not matter, because a batch delete can override them.
    private func reach(ofDeletesIn entities: Set<String>) throws(StoreError) -> Set<String> {
        var reached: Set<String> = []
        var waiting = Array(entities)
        while let next = waiting.popLast() {
            let entity = try shape(next).entity
            for name in entity.incomingRelationships.map(\.source) + (entity.model?.related ?? [])
            where reached.insert(name.folded).inserted { waiting.append(name) }
        }
        return reached
    }
}

extension EntityModel {
    /// The entities whose rows a delete can affect: those at the other ends, and the entities that inherit the same relationships.
    fileprivate var related: [String] { relationships.map(\.destination) + subentities }
}
