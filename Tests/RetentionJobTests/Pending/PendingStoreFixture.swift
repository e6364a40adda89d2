import Foundation
import Logging
import PriceObjects
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

/// A real SQLite store with one empty entity, and a folder of pending files beside it.
final class PendingStoreFixture {
    static let now = Instant(unixSeconds: 1_795_219_200)

    let folder: PendingFixture
    var storePath: String { folder.path("prices.sqlite") }
    var source: PendingSource
    var dateFormat = DateEncoding.unixSeconds

    init() throws {
        folder = try PendingFixture()
        source = PendingSource(
            files: "pending/*", baseFolder: folder.root, entity: "Price", marks: Marks(whole: Mark(line: 1, column: 1)))
        try writer(create: true).createEntity(Self.entity(key: ["updateTime"]))
    }

    /// An entity of prices.
    static func entity(_ name: String = "Price", key: [String] = []) -> Entity {
        Entity(
            name: name,
            attributes: [
                Attribute(
                    name: "updateTime", affinity: .integer, declaredType: "INTEGER", isRequired: !key.isEmpty),
                Attribute(name: "price", affinity: .real, declaredType: "REAL"),
                Attribute(name: "symbol", affinity: .text, declaredType: "TEXT"),
            ], primaryKey: key)
    }

    func writer(create: Bool = false) throws -> SQLiteWriter {
        try SQLiteWriter(path: storePath, create: create, journal: .rollback)
    }

    func policy() -> Policy {
        let mark = Mark(line: 1, column: 1)
        var rule = Rule(
            name: "gold", entity: "Price", dateAttribute: "updateTime", maxAge: MaxAge(written: "30d"),
            marks: Marks(whole: mark))
        rule.dateFormat = dateFormat
        var policy = Policy(
            file: PolicySource(path: "retention.yaml", sha256: "", lines: []),
            store: .init(.file(storePath), written: "prices.sqlite", mark: mark), rules: [rule])
        policy.pending = [source]
        return policy
    }

    @discardableResult
    func save(
        into inserter: (any RetentionInserter)? = nil, policy: Policy? = nil, now: Instant = PendingStoreFixture.now,
        mayContinue: @escaping () -> Bool = { true }, note: @escaping (String) -> Void = { _ in }
    ) throws -> RunReport.Pending {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func save(into inserter: any RetentionInserter) throws -> RunReport.Pending {
            try PendingFolder(policy ?? self.policy()).save(
                into: inserter, now: now, logger: quiet, mayContinue: mayContinue, note: note)
        }
        guard let inserter else { return try save(into: writer()) }
        return inserter is any RetentionWriter
            ? try save(into: inserter) : try inserter.rehearse { try save(into: inserter) }
    }

    /// The dates in the store, in order.
    func dates() throws -> [Int64] {
        try writer().fetch(
            StoreFetchRequest(entity: "Price", sortDescriptors: [StoreSortDescriptor("updateTime")]),
            attributes: ["updateTime"]
        ).compactMap { if case .integer(let date) = $0[0] { date } else { nil } }
    }

    func hasTakenRecord() throws -> Bool { try writer().entity(named: TakenFiles.entityName) != nil }

    /// Deletes the rows of the record, as an operator does.
    func forgetTakenFiles() throws {
        let rows = BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: TakenFiles.entityName))
        _ = try StoreContext(try writer()).execute(rows)
    }

    /// The files below `pending/`.
    func pendingFiles() -> [String] {
        folder.files().filter { $0.hasPrefix("pending/") }.map { String($0.dropFirst(8)) }
    }

    /// A run that dies at the commit of a batch, before or after it.
    func die(atCommit fatal: Int, before: Bool = true) throws {
        var commits = 0
        let hooked = HookedWriter(try writer()) { change throws(StoreError) in
            if change == .commit { commits += 1 }
            guard before ? commits < fatal : change != .begin || commits < fatal else {
                throw StoreError(.inputOutput, store: "test", message: "dies")
            }
        }
        #expect(throws: StoreError.self) { try save(into: hooked) }
    }
    /// A run that commits the rows of the first file and cannot move it.
    func dieBeforeTheMove() throws {
        try folder.write("pending/done", "no folder")
        #expect(throws: StoreError.self) { try save() }
        try FileManager.default.removeItem(atPath: folder.path("pending/done"))
    }
}
