import PriceStore

extension StoreContext {
    /// Brings contexts up to date with changes that were made by another context, a batch request or another process.
    ///
    /// Objects of deleted rows are deleted, with their unsaved changes, and say so when touched; objects of changed rows
    /// are read anew when next asked for. An object with unsaved changes keeps them over the row's new values, which
    /// are read at once, and which the next save takes as known. Objects of entities that the deletes can reach through
    /// relationships are read anew too, since rows may have gone or lost references with them. Each context then tells
    /// its observers.
    ///
    /// The cost is one look-up for each ID and a pass over the held objects; for deletes no row is read.
    ///
    /// - Parameters:
    ///   - changes: what changed; IDs that a context holds no object of cost a look-up only.
    ///   - contexts: the contexts; all belong to this thread. A context elsewhere is sent the change set.
    /// - Throws: `StoreError` if the row of an object with unsaved changes cannot be read. All else is
    ///   merged then, into all contexts, and the object's save will find the conflict.
    public static func mergeChanges(
        fromRemoteContextSave changes: ChangeSet, into contexts: [StoreContext]
    ) throws {
        var failure: StoreError?
        for context in contexts {
            do throws(StoreError) { try context.merge(changes) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Brings this context up to date, and tells its observers.
    func merge(_ changes: ChangeSet) throws(StoreError) {
        var told = ObjectsDidChange(.merge, inserted: changes.inserted)
        var entities: Set<String> = []
        var lastEntity = ""
        for id in changes.deleted {
            // Runs of one entity are the rule; comparing is cheaper than hashing.
            if id.entity != lastEntity {
                lastEntity = id.entity
                entities.insert(lastEntity)
            }
            guard let object = held(id), let id = object.objectID else { continue }
            forget(object)
            told.deleted.append(id)
        }
        var changed: [ManagedObject] = []
        for id in changes.updated + changes.inserted {
            guard let object = held(id), let id = object.objectID else { continue }
            if object.isUpdated { changed.append(object) } else { becomeFault(object) }
            told.updated.append(id)
        }
        told.refreshed = refreshReach(ofDeletesIn: entities)
        do {
            let gone = try readAgain(changed)
            told.updated.removeAll { gone.contains($0) }
            told.deleted += gone
        } catch {
            // The objects keep what they were read with, so that their save finds the conflict.
            tell(told)
            throw error
        }
        tell(told)
    }

    /// The object of an ID that another context, another process or a program's own hand made.
    func held(_ id: ObjectID) -> ManagedObject? {
        if let object = registry[id] { return object }
        guard id.storeIdentifier == nil else { return nil }
        return registry[canonical(id)]
    }

    /// Reads an object's row anew.
    ///
    /// If the row is gone, the object is deleted and says so when touched.
    /// - Parameters:
    ///   - object: an object of this context. Nothing happens to a new one or a deleted one.
    ///   - mergeChanges: whether the object keeps its unsaved changes over the row's new values, which the next save
    ///     then takes as known. If not, they are lost, a mark of deletion with them.
    /// - Throws: ``ManagedObjectError`` if the object belongs to another context or to none, `StoreError` if the row
    ///   cannot be read.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        if object.state == .inserted || object.state == .gone { return }
        guard object.state != .detached, object.context === self else {
            throw object.error(object.state == .detached || object.context == nil ? .detached : .otherContext)
        }
        if !mergeChanges {
            updated.remove(object)
            deleted.remove(object)
            object.changedValues = [:]
            object.state = .saved
        }
        let gone = try readAgain([object])
        let ids = [object.objectID].compactMap(\.self)
        tell(ObjectsDidChange(.refresh, deleted: gone, refreshed: gone.isEmpty ? ids : []))
    }

    /// Reads the rows of saved objects anew and keeps their changes; returns the IDs of those whose rows are gone.
    private func readAgain(_ objects: [ManagedObject]) throws(StoreError) -> [ObjectID] {
        var gone: [ObjectID] = []
        for (entity, objects) in Dictionary(grouping: objects, by: \.entity) {
            let shape = try shape(entity)
            var rest = objects[...]
            while !rest.isEmpty {
                let part = rest.prefix(500)
                rest = rest.dropFirst(500)
                let request = FetchRequest(entity: entity, predicate: .objectIDs(part.compactMap(\.objectID)))
                var rows: [ObjectID: [StoreValue]] = [:]
                for row in try inserter.fetchRows(request, attributes: shape.names) { rows[row.objectID] = row.values }
                for object in part {
                    guard let id = object.objectID else { continue }
                    if let row = rows[id] {
                        object.shape = shape
                        object.snapshot = row
                    } else {
                        forget(object)
                        gone.append(id)
                    }
                }
            }
        }
        return gone
    }

    /// Turns unchanged objects into faults whose rows may have gone or changed with deletes in other entities: the
    /// store's relationships cascade and nullify, and do not tell which rows they touched. Returns their IDs.
    func refreshReach(ofDeletesIn entities: Set<String>) -> [ObjectID] {
        // The deletes have happened: if the schema cannot be read now, every object may be concerned.
        let reached = try? reach(ofDeletesIn: entities)
        if let reached, reached.isEmpty { return [] }
        var refreshed: [ObjectID] = []
        for object in registry.objects where object.state == .saved && object.changedValues.isEmpty {
            guard object.snapshot != nil, let id = object.objectID,
                reached?.contains(object.entity.lowercased()) ?? true
            else { continue }
            becomeFault(object)
            refreshed.append(id)
        }
        return refreshed
    }

    /// Turns the unchanged objects of an entity into faults.
    func refreshAll(of entity: String) {
        for object in registry.objects where object.entity == entity && object.changedValues.isEmpty {
            becomeFault(object)
        }
    }

    /// The entities, in lower case, whose rows may have gone or changed with deletes in these.
    ///
    /// Relationships count whatever their delete rule: a batch delete can ask for another one.
    private func reach(ofDeletesIn entities: Set<String>) throws(StoreError) -> Set<String> {
        var reached: Set<String> = []
        var waiting = Array(entities)
        while let next = waiting.popLast() {
            let entity = try shape(next).entity
            for name in entity.incomingRelationships.map(\.source) + (entity.model?.related ?? [])
            where reached.insert(name.lowercased()).inserted { waiting.append(name) }
        }
        return reached
    }
}

extension EntityModel {
    /// The entities whose rows a delete can touch: those at the other ends, and the entities that inherit the same ends.
    fileprivate var related: [String] { relationships.map(\.destination) + subentities }
}
