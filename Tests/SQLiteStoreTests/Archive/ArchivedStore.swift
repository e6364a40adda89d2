import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// A store whose deletes are archived in a folder beside it, and what is in its tables.
struct ArchivedStore: ArchivedFixture {
    static let archivesByPart = false
    let store: TemporaryStore
    let folder: URL

    init(_ store: TemporaryStore) throws {
        self.store = store
        folder = store.folder.appending(path: "archive ?#%é")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    init(_ sql: String) throws { self = try ArchivedStore(TemporaryStore(sql)) }

    var place: String { folder.path(percentEncoded: false) }
    var archive: String { folder.appending(path: Self.run + ".sqlite").path(percentEncoded: false) }
    var run: String { Self.run }
    func writer() throws -> SQLiteWriter { try store.writer() }
    func reader() throws -> SQLiteReader { try store.reader() }

    /// The rows of a query on the archive, as ``TemporaryStore/rows(_:)`` has them.
    func archived(_ query: String) throws -> [String] {
        let queue = try DatabaseQueue(path: archive)
        defer { try? queue.close() }
        return try queue.read { try TemporaryStore.rows(query, $0) }
    }

    /// A deletion of the oldest rows of a table, and the writer with its archive.
    func begin(_ entity: String) throws -> (writer: SQLiteWriter, deletion: any Deletion) {
        let writer = try writer()
        var request = Self.request(entity)
        request.deleting.archiveRule = "r0"
        try writer.beginArchive(
            ArchiveRequest(
                place: place, run: run, rules: [.init(name: "r0", entity: entity, cutoff: request.cutoff)]))
        return (writer, try writer.deletion(of: request))
    }

    /// The rows that are older than day 20, a number of days.
    static func request(_ entity: String) -> SurveyRequest {
        SurveyRequest(
            entity: entity, date: DateAttribute(name: "at", encoding: .unixSeconds, earliest: .distantPast),
            cutoff: Instant(unixSeconds: 20))
    }

    /// All rows of all ordinary tables with the types of their values, and their rowids where they have one.
    func contents(without left: Set<String>) throws -> [String: [String]] {
        let reader = try store.reader()
        return try reader.run("reading all rows") { db in
            var contents: [String: [String]] = [:]
            let names = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite_%'"
            )
            for name in names where !left.contains(name) {
                guard let shape = try StoredShape(of: name, reader, db) else { continue }
                let values = shape.columns.map { column in
                    "typeof(\(column.name.standardIdentifier)) || ' ' || quote(\(column.name.standardIdentifier))"
                }
                contents[name] = try String.fetchAll(
                    db,
                    sql: "SELECT \(values.joined(separator: " || ', ' || ")) FROM \(name.standardIdentifier) ORDER BY 1"
                )
            }
            return contents
        }
    }
}

extension ArchivedStore {
    /// The undo, twice: the second one changes nothing and skips the same.
    func undoTwice(rows: Int = 1000, triggers: TriggerChoice? = nil) throws -> RestorationOutcome {
        let outcome = try undo(rows: rows, triggers: triggers)
        let after = try contents()
        let again = try undo(rows: rows, triggers: triggers)
        #expect(try contents() == after)
        #expect(again.total.restoredCount + again.total.referenceCount == 0)
        #expect(again.skipped == outcome.skipped)
        return outcome
    }
}
