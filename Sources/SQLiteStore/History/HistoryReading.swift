public import PriceObjects
import GRDB
public import PriceStore

/// Reading the history.
extension SQLiteFile {
    private static let changesInMemory = 10_000

    /// A number that is another one after other connections have changed the store.
    public func dataVersion() throws(StoreError) -> Int {
        try run("looking for changes of the store") { try pragma("data_version", $0) }
    }

    /// The position after the last transaction of the history, or nil if the store keeps none.
    public func currentHistoryToken() throws(StoreError) -> HistoryToken? {
        try run("reading the history") { db in
            try snapshot(db) {
                guard try HistoryTables.exist(db) else { return nil }
                return HistoryToken(
                    historyIdentifier: try historyIdentifier(db), transactionNumber: try HistoryTables.lastNumber(db))
            }
        }
    }

    /// The transactions of the history after a position, up to `limit` or until they have 10,000 changes.
    public func history(after token: HistoryToken?, limit: Int) throws(StoreError) -> [HistoryTransaction] {
        try run("reading the history") { db in
            try snapshot(db) {
                let identifier = try historyIdentifier(db)
                let start = try token.map { try historyPlace($0, db) }
                let last = try HistoryTables.lastNumber(db)
                let heads = try rows(
                    """
                    SELECT number, at, author FROM main.\(HistoryTables.transactions) WHERE number > \(bound: start ?? 0) \
                    ORDER BY number LIMIT \(bound: max(0, limit))
                    """, db)
                if let start, limit > 0, heads.isEmpty, start < last { throw missingHistory() }
                var found: [HistoryTransaction] = []
                var changeCount = 0
                var names: [String: String] = [:]
                for head in heads where changeCount < Self.changesInMemory {
                    guard case .integer(let number) = head[0], case .integer(let at) = head[1],
                        case .text(let author) = head[2]
                    else { throw damagedHistory() }
                    let before = found.last?.token.transactionNumber ?? start ?? number - 1
                    guard number == before + 1 else {
                        // The part before the gap is correct; the next call reports the gap.
                        if found.isEmpty { throw missingHistory() }
                        break
                    }
                    let changes = try historyChanges(number, names: &names, db)
                    changeCount += changes.count
                    found.append(
                        HistoryTransaction(
                            token: HistoryToken(historyIdentifier: identifier, transactionNumber: number),
                            instant: Instant(microseconds: at), author: author, changes: changes))
                }
                return found
            }
        }
    }

    /// The identifier of the store's history. Throws if it keeps none.
    func historyIdentifier(_ db: Database) throws -> String {
        guard try HistoryTables.exist(db) else {
            throw failure(.unsupported, "the store keeps no history", hint: "call keepHistory() once")
        }
        let identifier = try String.fetchOne(db, sql: "SELECT identifier FROM main.\(HistoryTables.identity)")
        guard let identifier else { throw damagedHistory() }
        return identifier
    }

    /// The number of the transaction before a token's position. Throws if the store does not know it.
    func historyPlace(_ token: HistoryToken, _ db: Database) throws -> Int64 {
        guard token.historyIdentifier == (try historyIdentifier(db)) else {
            throw failure(
                .unsupported, "the history token belongs to another store", hint: "use only tokens of this store")
        }
        guard (0...(try HistoryTables.lastNumber(db))).contains(token.transactionNumber) else {
            throw failure(
                .historyMissing, "the token is newer than the history: the store was replaced by an older copy",
                hint: "reset the contexts and begin with a new token")
        }
        return token.transactionNumber
    }

    /// The changes of a transaction. Entity names are shared, because copies would take most of the memory.
    private func historyChanges(
        _ number: Int64, names: inout [String: String], _ db: Database
    ) throws -> [HistoryChange] {
        let query: SQLFragment =
            "SELECT entity, kind, key FROM main.\(HistoryTables.changes) WHERE number = \(bound: number) ORDER BY place"
        var changes: [HistoryChange] = []
        for row in try rows(query, db) {
            guard case .text(let entity) = row[0], case .text(let word) = row[1],
                let kind = HistoryChange.Kind(rawValue: word), let key = HistoryKey.decode(row[2])
            else { throw damagedHistory() }
            let shared = names[entity] ?? entity
            names[shared] = shared
            changes.append(
                HistoryChange(
                    objectID: ObjectID(entity: shared, key: key, storeIdentifier: storeIdentifier), kind: kind))
        }
        return changes
    }

    private func missingHistory() -> StoreError {
        failure(
            .historyMissing, "part of the history after the token was deleted",
            hint: "reset the contexts, fetch again and start with a new token")
    }

    private func damagedHistory() -> StoreError {
        failure(
            .inputOutput, "the history tables contain entries that this program did not write",
            hint: "drop \(HistoryTables.names.list) and call keepHistory() again")
    }
}
