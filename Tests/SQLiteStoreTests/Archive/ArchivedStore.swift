import Foundation
import GRDB
import PriceStore

@testable import SQLiteStore

/// A store whose deletes are archived in a folder beside it, and what is in its tables.
struct ArchivedStore {
    static let run = "01KAAAAAAAAAAAAAAAAAAAAAAA"
    let store: TemporaryStore
    let folder: URL

    init(_ store: TemporaryStore) throws {
        self.store = store
        folder = store.folder.appending(path: "archive ?#%é")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    init(_ sql: String) throws { self = try ArchivedStore(TemporaryStore(sql)) }

    var path: String { folder.appending(path: Self.run + ".sqlite").path(percentEncoded: false) }

    /// Deletes the rows of requests with an archive; the rules are named `r0`, `r1`, ….
    @discardableResult
    func delete(_ requests: [SurveyRequest], batchRows: Int? = nil, on writer: SQLiteWriter? = nil) throws
        -> ArchiveResult?
    {
        let writer = try writer ?? store.writer()
        let rules = requests.enumerated().map {
            ArchiveRequest.Rule(name: "r\($0)", entity: $1.entity, cutoff: $1.cutoff)
        }
        try writer.beginArchive(ArchiveRequest(place: folder.path(percentEncoded: false), run: Self.run, rules: rules))
        let requests = requests.enumerated().map { index, request in
            var request = request
            request.archiveRule = "r\(index)"
            return request
        }
        // As a run does it: all rules are surveyed before the first delete.
        for request in requests { _ = try writer.survey(request) }
        for request in requests {
            let deletion = try writer.deletion(of: request)
            while try deletion.deleteNext(DeletionBounds(rows: deletion.outline.isInBatches ? batchRows : nil)).hasMore
            {}
        }
        return try writer.completeArchive()
    }

    /// Deletes rows of a table that are older than day 20 by its column `at`, a number of days.
    @discardableResult
    func delete(_ entities: String..., batchRows: Int? = nil) throws -> ArchiveResult? {
        try delete(entities.map(Self.request), batchRows: batchRows)
    }

    static func request(_ entity: String) -> SurveyRequest {
        SurveyRequest(
            entity: entity, date: DateAttribute(name: "at", encoding: .unixSeconds, earliest: .distantPast),
            cutoff: Instant(unixSeconds: 20))
    }

    func request(_ rules: [String] = []) -> RestorationRequest {
        RestorationRequest(archive: path, run: Self.run, rules: rules)
    }

    /// What a restoration did, all in all.
    struct Outcome: Equatable {
        var tables: [String: RestoredTable] = [:]
        var skipped: [SkippedRow] = []

        var total: RestoredTable { tables.values.reduce(into: RestoredTable()) { $0.add($1) } }
    }

    /// Restores to the end, or some parts only.
    @discardableResult
    func undo(rules: [String] = [], rows: Int = 1000, parts: Int = .max, on writer: SQLiteWriter? = nil) throws
        -> Outcome
    {
        let restoration = try (writer ?? store.writer()).restoration(of: request(rules))
        var outcome = Outcome()
        for _ in 0..<parts {
            let part = try restoration.restoreNext(rows: rows)
            for (table, counts) in part.tables { outcome.tables[table, default: RestoredTable()].add(counts) }
            outcome.skipped += part.skipped
            guard part.hasMore else { break }
        }
        return outcome
    }

    /// All rows of all ordinary tables with the types of their values, and their rowids where they have one.
    func contents(without left: Set<String> = []) throws -> [String: [String]] {
        try store.change { db in
            var contents: [String: [String]] = [:]
            let names = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite_%'"
            )
            for name in names where !left.contains(name) {
                guard let shape = try StoredShape(of: name, db) else { continue }
                let values = shape.columns.map { column in
                    "typeof(\(column.name.quotedIdentifier)) || ' ' || quote(\(column.name.quotedIdentifier))"
                }
                contents[name] = try String.fetchAll(
                    db,
                    sql: "SELECT \(values.joined(separator: " || ', ' || ")) FROM \(name.quotedIdentifier) ORDER BY 1")
            }
            return contents
        }
    }
}
