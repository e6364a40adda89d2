import Foundation
import GRDB
import PriceStore
import StoreConformance

@testable import SQLiteStore

/// A SQLite file in a folder of its own that goes when the test ends.
final class TemporaryStore {
    let folder: URL
    let path: String

    /// Makes the file and runs the statements on it.
    ///
    /// - Parameter inMemory: whether the folder may lie in memory, for tests that make thousands of files.
    init(_ statements: String..., inMemory: Bool = false) throws {
        let memory = "/dev/shm"
        let base =
            inMemory && FileManager.default.isWritableFile(atPath: memory)
            ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
        folder = base.appending(path: "retention-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "store.sqlite").path
        try change { db in for statement in statements { try db.execute(sql: statement) } }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Works on the file with a connection of its own.
    func change<T>(_ body: (Database) throws -> T) throws -> T {
        // As the sqlite3 shell reads a store's SQL.
        var configuration = Configuration()
        configuration.acceptsDoubleQuotedStringLiterals = true
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }

    /// What another program does.
    func change(_ statements: String) throws { try change { try $0.execute(sql: statements) } }

    /// The rows of a query as text, columns separated by `|`.
    func rows(_ query: String) throws -> [String] { try change { try Self.rows(query, $0) } }

    static func rows(_ query: String, _ db: Database) throws -> [String] {
        try Row.fetchAll(db, sql: query).map { row in
            row.databaseValues.map { $0.isNull ? "NULL" : "\($0.storage.value ?? "NULL")" }.joined(separator: "|")
        }
    }

    /// A copy in a folder of its own, on the same disk. No connection may be open.
    func copy() throws -> TemporaryStore {
        let copy = try TemporaryStore(inMemory: path.hasPrefix("/dev/shm"))
        try FileManager.default.removeItem(atPath: copy.path)
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        return copy
    }

    func writer() throws -> SQLiteWriter { try SQLiteWriter(path: path) }
    func reader() throws -> SQLiteReader { try SQLiteReader(path: path) }

    /// Makes a symbolic link to the file and returns its path.
    func link() throws -> String {
        let place = folder.appending(path: "link.sqlite")
        try FileManager.default.createSymbolicLink(at: place, withDestinationURL: URL(fileURLWithPath: path))
        return place.path
    }

    /// The bytes of the file.
    func bytes() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }
}

extension SQLiteWriter {
    /// Carries out a delete batch by batch to its end, and returns what each batch did.
    @discardableResult
    func executeAll(_ work: DeleteWork) throws(StoreError) -> [BatchDeleteResult] {
        var work = work
        var results: [BatchDeleteResult] = []
        repeat {
            let result = try execute(work)
            results.append(result)
            work.continuation = result.continuation
        } while work.continuation != nil
        return results
    }

    /// Carries out a survey's delete by a method, batch by batch.
    @discardableResult
    func deleteAll(
        _ request: SurveyRequest, method: DeleteMethod, batchRows: Int = 7
    ) throws(StoreError) -> [BatchDeleteResult] {
        try executeAll(
            DeleteWork(
                fetchRequest: StoreFetchRequest(
                    entity: request.entity, predicate: request.expired,
                    sortDescriptors: [StoreSortDescriptor(request.date.name)],
                    fetchLimit: method.isInBatches ? batchRows : nil,
                    includesSubentities: request.includesSubentities),
                resultType: .count, method: method, relationships: request.relationships))
    }
}

extension SurveyRequest {
    /// The rows of an entity whose `at` is a number of seconds before another one.
    static func rows(
        of entity: String, before seconds: Int64 = 1000, _ rule: BatchDeleteRequest.RelationshipRule = .asDeclared
    ) -> SurveyRequest {
        SurveyRequest(
            entity: entity, date: DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1)),
            cutoff: Instant(unixSeconds: seconds), relationships: rule)
    }
}

extension [BatchDeleteResult] {
    /// The sums of all batches.
    var total: BatchDeleteResult {
        BatchDeleteResult(
            deletedCount: map(\.deletedCount).reduce(0, +), cascadedCount: map(\.cascadedCount).reduce(0, +),
            nullifiedCount: map(\.nullifiedCount).reduce(0, +))
    }
}

extension SQLiteFile {
    /// What a survey finds, with what only the engine knows of it.
    func findings(_ request: SurveyRequest) throws -> Findings {
        try findings(of: request, after: survey(request))
    }
}

extension StoreValue {
    /// A value as GRDB reads it.
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .blob([UInt8](value))
        }
    }
}
