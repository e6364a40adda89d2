import PriceStore

/// The work of a save inside its transaction, and its result. It changes no object, because the transaction may fail.
struct SaveWork {
    private let context: StoreContext
    private let writer: any ObjectStore
    private var conflicts: [MergeConflict] = []
    /// Objects to insert, to update with values, or to delete.
    private var inserts: [ManagedObject]
    private var updates: [(ManagedObject, values: [String: StoreValue])] = []
    private var deletes: [ManagedObject] = []
    /// Objects whose row another connection deleted and that are inserted again.
    private var insertsAgain: [ManagedObject] = []

    /// Objects that are now rows, with their IDs.
    private(set) var inserted: [(ManagedObject, ObjectID)] = []
    private(set) var updated: [ManagedObject] = []
    /// Objects whose rows are deleted, by this save or before.
    private(set) var deleted: [ManagedObject] = []
    /// Objects that keep the store's values.
    private(set) var kept: [ManagedObject] = []

    init(_ context: StoreContext, _ writer: any ObjectStore) {
        self.context = context
        self.writer = writer
        inserts = context.inserted.objects
    }

    mutating func run() throws {
        try decide(context.updated.objects)
        try decide(context.deleted.objects)
        try throwConflicts()
        for object in try ordered(inserts, referringFirst: false) {
            inserted.append((object, try writer.insertObject(entity: object.entity, values: object.changedValues)))
        }
        for object in insertsAgain { try insertAgain(object) }
        for (object, values) in updates { try update(object, values) }
        try throwConflicts()
        try delete(try ordered(deletes, referringFirst: true))
    }

    private func throwConflicts() throws {
        if !conflicts.isEmpty { throw MergeConflictError(store: writer.name, conflicts: conflicts) }
    }

    /// Compares objects with their rows and decides what to do with them. The transaction already holds the write lock, so what is read
    /// here stays the same until it ends.
    private mutating func decide(_ objects: [ManagedObject]) throws {
        var byEntity: [String: [ManagedObject]] = [:]
        for object in objects {
            if object.snapshot == nil {
                // The row was never read, so there is nothing to compare.
                if object.state == .markedDeleted { deletes.append(object) } else { addUpdate(object) }
            } else {
                byEntity[object.entity, default: []].append(object)
            }
        }
        for (entity, objects) in byEntity.sorted(by: { $0.key < $1.key }) {
            try compare(objects, try context.shape(entity))
        }
    }

    private mutating func compare(_ objects: [ManagedObject], _ shape: EntityShape) throws {
        let names = shape.names
        let rows = try context.rows(objects.compactMap(\.objectID), of: shape.entity.name, names)
        for object in objects {
            guard let id = object.objectID, let snapshot = object.snapshot else { continue }
            let row = rows[id]
            if row == snapshot {
                if object.state == .markedDeleted { deletes.append(object) } else { addUpdate(object) }
            } else if object.state == .markedDeleted {
                decideDelete(object, row, names)
            } else {
                decideUpdate(object, row, names)
            }
        }
    }

    private mutating func addUpdate(_ object: ManagedObject) { updates.append((object, object.changedValues)) }

    /// Decides about the delete of a row that differs from what the object read.
    private mutating func decideDelete(_ object: ManagedObject, _ row: [StoreValue]?, _ names: [String]) {
        guard row != nil else {
            // Both deleted the row.
            deleted.append(object)
            return
        }
        switch context.mergePolicy {
        case .error: addConflict(object, row, names)
        case .storeWins: kept.append(object)
        case .objectWins: deletes.append(object)
        }
    }

    /// Decides about the update of a row that differs from what the object read.
    private mutating func decideUpdate(_ object: ManagedObject, _ row: [StoreValue]?, _ names: [String]) {
        switch (context.mergePolicy, row) {
        case (.error, _): addConflict(object, row, names)
        case (.storeWins, nil): deleted.append(object)
        case (.objectWins, nil): insertsAgain.append(object)
        case (.objectWins, _): addUpdate(object)
        case (.storeWins, let row?):
            var values = object.changedValues
            for (place, name) in names.enumerated() where row[place] != object.snapshot?[place] { values[name] = nil }
            if values.isEmpty { kept.append(object) } else { updates.append((object, values)) }
        }
    }

    private mutating func addConflict(_ object: ManagedObject, _ row: [StoreValue]?, _ names: [String]) {
        guard let id = object.objectID else { return }
        func dictionary(_ values: [StoreValue]) -> [String: StoreValue] {
            Dictionary(zip(names, values), uniquingKeysWith: { first, _ in first })
        }
        conflicts.append(
            MergeConflict(
                objectID: id, isDelete: object.state == .markedDeleted, changedValues: object.changedValues,
                readValues: dictionary(object.snapshot ?? []), storeValues: row.map(dictionary)))
    }

    private mutating func insertAgain(_ object: ManagedObject) throws {
        guard let shape = object.shape, let snapshot = object.snapshot else { return }
        var values: [String: StoreValue] = [:]
        for (attribute, value) in zip(shape.entity.attributes, snapshot) where !attribute.isGenerated {
            values[attribute.name] = object.changedValues[attribute.name] ?? value
        }
        inserted.append((object, try writer.insertObject(entity: object.entity, values: values)))
    }

    private mutating func update(_ object: ManagedObject, _ values: [String: StoreValue]) throws {
        guard let id = object.objectID else { return }
        if try writer.updateObject(id, set: values, ifStill: [:]) {
            updated.append(object)
        } else {
            // The row was deleted after the comparison, so a trigger of this save deleted it.
            addConflict(object, nil, object.shape?.names ?? [])
        }
    }

    /// Deletes row by row. A row to which another one of the list still refers is tried again after that one.
    private mutating func delete(_ objects: [ManagedObject]) throws {
        var waiting = objects
        while !waiting.isEmpty {
            var refused: [ManagedObject] = []
            var refusal: StoreError?
            for object in waiting {
                guard let id = object.objectID else { continue }
                do throws(StoreError) {
                    _ = try writer.deleteObject(id, ifStill: [:])
                    deleted.append(object)
                } catch {
                    guard error.kind == .constraint else { throw error }
                    refused.append(object)
                    refusal = refusal ?? error
                }
            }
            if let refusal, refused.count == waiting.count { throw try validationError(refused) ?? refusal }
            waiting = refused.reversed()
        }
    }

    /// The relationships that forbid the deletes; nil: there is another reason.
    private func validationError(_ objects: [ManagedObject]) throws -> ObjectValidationError? {
        var failures: [ObjectValidationError.Failure] = []
        for object in objects.prefix(100) {
            guard let id = object.objectID else { continue }
            let entity = try context.shape(object.entity).entity
            for relationship in entity.incomingRelationships
            where relationship.deleteRule == .restrict || relationship.deleteRule == .noAction {
                let row = StoreFetchRequest(entity: entity.name, predicate: .objectIDs([id]))
                guard let key = try writer.fetch(row, attributes: relationship.destinationAttributes).first else {
                    continue
                }
                let refers = zip(relationship.sourceAttributes, key).map { StorePredicate.compare($0, .equal, $1) }
                let rowCount = try writer.count(StoreFetchRequest(entity: relationship.source, predicate: .and(refers)))
                guard rowCount > 0, let attribute = relationship.destinationAttributes.first else { continue }
                failures.append(
                    ObjectValidationError.Failure(
                        entity: entity.name, attribute: attribute, objectID: id,
                        reason: .stillReferenced(by: relationship, rowCount: rowCount)))
            }
        }
        return failures.isEmpty ? nil : ObjectValidationError(store: writer.name, failures: failures)
    }

    /// The objects in their order, but grouped by entity: entities that refer to others in the list come before them, or after them.
    private func ordered(_ objects: [ManagedObject], referringFirst: Bool) throws -> [ManagedObject] {
        var byEntity: [String: [ManagedObject]] = [:]
        var entities: [String] = []
        for object in objects {
            if byEntity[object.entity] == nil { entities.append(object.entity) }
            byEntity[object.entity, default: []].append(object)
        }
        guard entities.count > 1 else { return objects }
        var order: [String] = []
        var seen: Set<String> = []
        func visit(_ entity: String) throws {
            guard seen.insert(entity.folded).inserted else { return }
            for relationship in try context.shape(entity).entity.relationships {
                for other in entities where other.folded == relationship.destination.folded {
                    try visit(other)
                }
            }
            order.append(entity)
        }
        for entity in entities { try visit(entity) }
        if referringFirst { order.reverse() }
        return order.flatMap { byEntity[$0] ?? [] }
    }
}
