import PriceStore

/// The work of a save inside its transaction, and its result. It changes no object, because the transaction may fail.
struct SaveWork {
    private let context: StoreContext
    private let writer: any ObjectStore
    private var conflicts: [MergeConflict] = []
    /// Objects to insert, to update with values, or to delete.
    private var inserts: [ManagedObject]
    private var updates: [(ManagedObject, read: ReadRow, values: [String: StoreValue])] = []
    private var deletes: [ManagedObject] = []
    /// Objects whose row another connection deleted and that are inserted again.
    private var insertsAgain: [(ManagedObject, read: ReadRow)] = []

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
        try compare(context.updated.objects.map { ($0, try context.values(of: $0)) })
        // Of a row that was never read there is nothing to compare.
        let marked = context.deleted.objects
        deletes += marked.filter { $0.read == nil }
        try compare(marked.compactMap { object in object.read.map { (object, $0) } })
        try throwConflicts()
        for object in try ordered(inserts, referringFirst: false) {
            inserted.append((object, try writer.insertObject(entity: object.entity, values: object.changedValues)))
        }
        for (object, read) in insertsAgain { try insertAgain(object, read) }
        for (object, read, values) in updates { try update(object, read, values) }
        try throwConflicts()
        try delete(try ordered(deletes, referringFirst: true))
    }

    private func throwConflicts() throws {
        if !conflicts.isEmpty { throw MergeConflictError(store: writer.name, conflicts: conflicts) }
    }

    /// Compares objects with their rows and decides what to do with them. The transaction already holds the write lock, so what is read
    /// here stays the same until it ends.
    private mutating func compare(_ objects: [(ManagedObject, read: ReadRow)]) throws {
        let byEntity = Dictionary(grouping: objects, by: \.0.entity)
        for (entity, objects) in byEntity.sorted(by: { $0.key < $1.key }) {
            let shape = try context.shape(entity)
            let rows = try context.rows(objects.map(\.read.id), of: shape.entity.name, shape.names)
            for (object, read) in objects {
                let row = rows[read.id]
                if row == read.values {
                    if object.state == .markedDeleted { deletes.append(object) } else { addUpdate(object, read) }
                } else if object.state == .markedDeleted {
                    decideDelete(object, read, row, shape.names)
                } else {
                    decideUpdate(object, read, row, shape.names)
                }
            }
        }
    }

    private mutating func addUpdate(_ object: ManagedObject, _ read: ReadRow) {
        updates.append((object, read, object.changedValues))
    }

    /// Decides about the delete of a row that differs from what the object read.
    private mutating func decideDelete(
        _ object: ManagedObject, _ read: ReadRow, _ row: [StoreValue]?, _ names: [String]
    ) {
        guard row != nil else {
            // Both deleted the row.
            deleted.append(object)
            return
        }
        switch context.mergePolicy {
        case .error: addConflict(object, read, row, names)
        case .storeWins: kept.append(object)
        case .objectWins: deletes.append(object)
        }
    }

    /// Decides about the update of a row that differs from what the object read.
    private mutating func decideUpdate(
        _ object: ManagedObject, _ read: ReadRow, _ row: [StoreValue]?, _ names: [String]
    ) {
        switch (context.mergePolicy, row) {
        case (.error, _): addConflict(object, read, row, names)
        case (.storeWins, nil): deleted.append(object)
        case (.objectWins, nil): insertsAgain.append((object, read))
        case (.objectWins, _): addUpdate(object, read)
        case (.storeWins, let row?):
            var values = object.changedValues
            for (place, name) in names.enumerated() where row[place] != read.values[place] { values[name] = nil }
            if values.isEmpty { kept.append(object) } else { updates.append((object, read, values)) }
        }
    }

    private mutating func addConflict(
        _ object: ManagedObject, _ read: ReadRow, _ row: [StoreValue]?, _ names: [String]
    ) {
        func dictionary(_ values: [StoreValue]) -> [String: StoreValue] {
            Dictionary(firstOf: zip(names, values))
        }
        conflicts.append(
            MergeConflict(
                objectID: read.id, isDelete: object.state == .markedDeleted, changedValues: object.changedValues,
                readValues: dictionary(read.values), storeValues: row.map(dictionary)))
    }

    private mutating func insertAgain(_ object: ManagedObject, _ read: ReadRow) throws {
        var values: [String: StoreValue] = [:]
        for (attribute, value) in zip(read.shape.entity.attributes, read.values) where !attribute.isGenerated {
            values[attribute.name] = object.changedValues[attribute.name] ?? value
        }
        inserted.append((object, try writer.insertObject(entity: object.entity, values: values)))
    }

    private mutating func update(_ object: ManagedObject, _ read: ReadRow, _ values: [String: StoreValue]) throws {
        if try writer.updateObject(read.id, set: values, ifStill: [:]) {
            updated.append(object)
        } else {
            // The row was deleted after the comparison, so a trigger of this save deleted it.
            addConflict(object, read, nil, read.shape.names)
        }
    }

    /// Deletes row by row. A row to which another one of the list still refers is tried again after that one.
    private mutating func delete(_ objects: [ManagedObject]) throws {
        var waiting = objects.rows
        while !waiting.isEmpty {
            var refused: [(ManagedObject, id: ObjectID)] = []
            var refusal: StoreError?
            for (object, id) in waiting {
                do throws(StoreError) {
                    _ = try writer.deleteObject(id, ifStill: [:])
                    deleted.append(object)
                } catch {
                    guard error.kind == .constraint else { throw error }
                    refused.append((object, id))
                    refusal = refusal ?? error
                }
            }
            if let refusal, refused.count == waiting.count { throw try validationError(refused) ?? refusal }
            waiting = refused.reversed()
        }
    }

    /// The relationships that forbid the deletes; nil: there is another reason.
    private func validationError(_ objects: [(ManagedObject, id: ObjectID)]) throws -> ObjectValidationError? {
        var failures: [ObjectValidationError.Failure] = []
        for (object, id) in objects.prefix(100) {
            let entity = try context.shape(object.entity).entity
            for relationship in entity.incomingRelationships
            where relationship.deleteRule == .restrict || relationship.deleteRule == .noAction {
                let row = StoreFetchRequest(entity: entity.name, predicate: .objectIDs([id]))
                for key in try writer.fetch(row, attributes: relationship.destinationAttributes) {
                    let refers = zip(relationship.sourceAttributes, key).map { StorePredicate.compare($0, .equal, $1) }
                    let rowCount = try writer.count(
                        StoreFetchRequest(entity: relationship.source, predicate: .and(refers)))
                    guard rowCount > 0 else { continue }
                    failures.append(
                        ObjectValidationError.Failure(
                            entity: entity.name, attribute: relationship.destinationAttributes[0], objectID: id,
                            reason: .stillReferenced(by: relationship, rowCount: rowCount)))
                }
            }
        }
        return failures.isEmpty ? nil : ObjectValidationError(store: writer.name, failures: failures)
    }

    /// The objects in their order, but grouped by entity: entities that refer to others in the list come before them, or after them.
    private func ordered(_ objects: [ManagedObject], referringFirst: Bool) throws -> [ManagedObject] {
        var known: Set<String> = []
        let entities = objects.map(\.entity).filter { known.insert($0).inserted }
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
        return order.flatMap { entity in objects.filter { $0.entity == entity } }
    }
}

extension [ManagedObject] {
    /// Those that are rows of the store, with their IDs.
    var rows: [(ManagedObject, id: ObjectID)] { compactMap { object in object.objectID.map { (object, $0) } } }
}
