import PriceObjects
import PriceStore

/// The record, in the store itself, of files whose rows are saved completely or in part.
///
/// One transaction saves each batch of a file's rows and the entry that says how much is saved. If a run dies before the file moves to
/// `done/`, the entry has the path of the file, and the next run continues after the saved rows. The entry is deleted after the file has
/// moved. While the file of an entry is not at its path, no file of its source is imported, because it may have another name: see
/// ``PendingStep/settleRecord()``.
struct TakenFiles {
    static let entityName = "retention_taken"

    /// A file whose rows are in the store, up to some offset.
    struct Entry: Hashable {
        var path: String
        var entity: String
        /// The size and the hash of the whole file.
        var sizeBytes: Int64
        var sha256: String
        var takenAt: Instant
        /// The file offset after the last record that is saved or among the bad lines.
        var savedBytes: Int64 = 0
        /// The size of the bad lines' text up to that offset.
        var rejectedBytes: Int64 = 0

        var isComplete: Bool { savedBytes == sizeBytes }
        var parts: (folder: String, name: String) {
            let slash = path.lastIndex(of: "/") ?? path.startIndex
            return (String(path[..<slash]), String(path[slash...].dropFirst()))
        }
    }

    private static let entity = Entity(
        name: entityName,
        attributes: ["path", "entity", "size", "sha256", "saved", "rejected", "taken_at"].map {
            let isNumber = ["size", "saved", "rejected"].contains($0)
            return Attribute(
                name: $0, affinity: isNumber ? .integer : .text, declaredType: isNumber ? "INTEGER" : "TEXT",
                isRequired: true)
        },
        primaryKey: ["path"])

    /// The entries in a store; empty: it has no such record.
    static func entries(in reader: any RetentionReader) throws -> [Entry] {
        guard try reader.entity(named: entityName) != nil else { return [] }
        let names = ["path", "size", "sha256", "taken_at", "saved", "rejected", "entity"]
        return try reader.fetch(StoreFetchRequest(entity: entityName), attributes: names).map { row in
            guard let path = row[0].string, let size = row[1].number, let sha256 = row[2].string,
                let takenAt = row[3].string.flatMap({ Instant(iso8601: $0) }), let saved = row[4].number,
                let rejected = row[5].number, let entity = row[6].string, (0...max(0, size)).contains(saved),
                rejected >= 0
            else {
                throw StoreError(
                    .inputOutput, store: reader.name,
                    message:
                        "the table \(entityName), which records the imported pending files, was changed by another program",
                    hint: "see which rows of the pending files are saved, then remove the table")
            }
            return Entry(
                path: path, entity: entity, sizeBytes: size, sha256: sha256, takenAt: takenAt, savedBytes: saved,
                rejectedBytes: rejected)
        }
    }

    /// Adds or changes an entry, in the transaction that saves rows of the file.
    static func put(_ entry: Entry, to writer: any RetentionWriter) throws {
        if try writer.entity(named: entityName) == nil { try writer.createEntity(entity) }
        let context = StoreContext(writer)
        context.insert(
            entity: entityName,
            values: [
                "path": .text(entry.path), "entity": .text(entry.entity), "size": .integer(entry.sizeBytes),
                "sha256": .text(entry.sha256),
                "saved": .integer(entry.savedBytes), "rejected": .integer(entry.rejectedBytes),
                "taken_at": .text(entry.takenAt.rfc3339),
            ])
        // An entry of the same path belongs to the previous batch, or to an earlier file that no longer exists.
        if context.hasChanges { try context.save(onConflict: .replace) }
    }

    /// Removes the entry of a file, and the whole record with its last entry.
    static func remove(path: String, from writer: any RetentionWriter) throws {
        // On disk before it returns: if the entry came back after a power failure, a new file would count as already imported.
        try writer.transaction(.full) {
            let request = StoreFetchRequest(entity: entityName, predicate: .compare("path", .equal, .text(path)))
            _ = try writer.execute(BatchDeleteRequest(fetchRequest: request))
            try dropIfEmpty(from: writer)
        }
    }

    /// Removes the record if it is empty; a run may have died just before doing so.
    static func dropIfEmpty(from writer: any RetentionWriter) throws {
        guard try writer.entity(named: entityName) != nil,
            try writer.count(StoreFetchRequest(entity: entityName)) == 0
        else { return }
        try writer.dropEntity(named: entityName)
    }
}
