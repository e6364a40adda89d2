import PriceStore

/// The record, in the store itself, of files whose rows are saved and that are not in `done/` yet.
///
/// A file's rows and its entry here are one transaction; the entry goes when the file has moved. So a run that died
/// in between left an entry, and the next run moves the file without saving its rows again.
struct TakenFiles {
    static let entityName = "retention_taken"

    /// A file whose rows are in the store.
    struct Entry: Hashable {
        var path: String
        var sizeBytes: Int64
        var sha256: String
    }

    private static let entity = Entity(
        name: entityName,
        attributes: [
            Attribute(name: "path", affinity: .text, declaredType: "TEXT", isRequired: true),
            Attribute(name: "size", affinity: .integer, declaredType: "INTEGER", isRequired: true),
            Attribute(name: "sha256", affinity: .text, declaredType: "TEXT", isRequired: true),
            Attribute(name: "taken_at", affinity: .text, declaredType: "TEXT", isRequired: true),
        ],
        primaryKey: ["path"])

    /// What a store knows; empty if it has no such record.
    static func entries(in reader: any StoreReader) throws(StoreError) -> [Entry] {
        guard try reader.entity(named: entityName) != nil else { return [] }
        let rows = try reader.fetch(FetchRequest(entity: entityName), attributes: ["path", "size", "sha256"])
        return rows.compactMap { row in
            guard row.count == 3, case .text(let path) = row[0], case .integer(let size) = row[1],
                case .text(let sha256) = row[2]
            else { return nil }
            return Entry(path: path, sizeBytes: size, sha256: sha256)
        }
    }

    /// Adds an entry, in the transaction that saves the file's rows.
    static func add(_ entry: Entry, at now: Instant, to writer: any StoreWriter) throws {
        try writer.createEntity(entity)
        let context = StoreContext(writer)
        context.insert(
            entity: entityName,
            values: [
                "path": .text(entry.path), "size": .integer(entry.sizeBytes), "sha256": .text(entry.sha256),
                "taken_at": .text(now.rfc3339),
            ])
        // An entry of the same path is of a file that was there before and is gone.
        if context.hasChanges { try context.save(onConflict: .replace) }
    }

    /// Removes the entry of a file that is in `done/`, and the whole record with the last one.
    static func remove(path: String, from writer: any StoreWriter) throws {
        let request = FetchRequest(entity: entityName, predicate: .compare("path", .equal, .text(path)))
        // Surely on disk: an entry that came back after a power failure would pass off a new file for the taken one.
        try writer.transaction(.full) {
            _ = try StoreContext(writer).execute(BatchDeleteRequest(fetchRequest: request))
            try dropIfEmpty(from: writer)
        }
    }

    /// Removes the record if it names no file; a run can have died just before it would have.
    static func dropIfEmpty(from writer: any StoreWriter) throws {
        guard try writer.entity(named: entityName) != nil,
            try writer.count(FetchRequest(entity: entityName)) == 0
        else { return }
        try writer.dropEntity(named: entityName)
    }
}
