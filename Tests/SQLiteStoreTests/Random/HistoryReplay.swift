import PriceObjects
import PriceStore
import SQLiteStore

/// The keys of a store's rows before something happened, to which its history is applied afterwards.
struct HistoryReplay {
    private let writer: SQLiteWriter
    private var rows: Set<ObjectID>
    private static let own = ["retention_history", "retention_transaction", "retention_change"]

    /// Notes the rows, and has the store keep its history from here on.
    init(_ writer: SQLiteWriter) throws {
        self.writer = writer
        rows = try Self.rows(writer)
        try writer.keepHistory()
    }

    /// What the history says that cannot be, and where it leads elsewhere than the store did.
    mutating func differences() throws -> [String] {
        var found: [String] = []
        for change in try writer.history(after: nil, limit: .max).flatMap(\.changes) {
            let isRight =
                switch change.kind {
                case .insert: rows.insert(change.objectID).inserted
                case .update: rows.contains(change.objectID)
                case .delete: rows.remove(change.objectID) != nil
                }
            if !isRight { found.append("the history has an odd \(change.kind) of \(change.objectID)") }
        }
        for id in rows.symmetricDifference(try Self.rows(writer)) {
            found.append("\(id) is \(rows.contains(id) ? "there" : "gone") by the history alone")
        }
        return found
    }

    private static func rows(_ writer: SQLiteWriter) throws -> Set<ObjectID> {
        var rows: Set<ObjectID> = []
        for name in try writer.entityNames() where !Self.own.contains(name) {
            guard try writer.entity(named: name)?.kind == .table else { continue }
            do {
                rows.formUnion(try writer.fetchObjectIDs(StoreFetchRequest(entity: name)))
            } catch {
                // A table whose columns hide the rowid: its rows have no key, and are in no history.
                guard error.kind == .unsupported else { throw error }
            }
        }
        return rows
    }
}
