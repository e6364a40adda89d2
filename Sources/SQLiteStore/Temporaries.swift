import GRDB
import PriceStore

/// What a connection knows of its temporary tables and triggers and of the current transaction. A rollback restores it.
struct Temporaries {
    var keptRows: [KeptRows.Key: KeptRows] = [:]
    var thinnedRows: [KeptRows.Key: ThinnedRows] = [:]
    var removedRows: RemovedRows?
    /// The rows that must stay, for each kind of delete requested.
    var sparingRows: [SparingRows.Key: SparingRows] = [:]
    /// The state of the store when a survey last looked for these rows.
    var sparingMark: ChangeMark?
    /// The rows that the current batch deletes along with others, or one by one. The next batch empties the tables and uses them again.
    private(set) var batchRows = RemovedRows(isIndexed: false)
    /// The table of all rows that a pass deletes in date order.
    var dateList: String?
    /// The tables of keys that the current statements refer to; see ``SQLiteFile/keyCondition(_:_:_:)``.
    var keyLists: [String] = []
    /// Temporary tables with the keys of rows that lost a reference, by lower-cased table: through the current relationship, and in all
    /// batches of one request.
    var clearedRows: [String: (touched: String, all: String)] = [:]
    /// What triggers delete in the batches of one request.
    var counter: (request: BatchDeleteRequest, triggers: TriggerCounter)?
    /// The recorder of a Core Data store's history in the current transaction.
    var recorder: CoreDataHistory.Recorder?
    /// Whether the store keeps a history, for which the connection then has triggers, at a version of the schema; nil if unknown.
    var history: (schemaVersion: Int, isKept: Bool)?

    fileprivate var nameCount = 0

    /// Forgets what a transaction created that is rolled back.
    mutating func rollBack(to earlier: Temporaries) {
        let (atWork, nameCount) = (counter, nameCount)
        self = earlier
        self.nameCount = nameCount
        // The triggers that the transaction created are gone. What other triggers counted in it did not happen.
        if atWork?.triggers === counter?.triggers { counter?.triggers.forget() } else { counter = nil }
        // Their tables may be gone. They are created again when needed.
        removedRows = nil
        sparingRows = [:]
        batchRows = RemovedRows(isIndexed: false)
    }
}

extension Database {
    /// Drops the temporary triggers whose names begin so, also those that a rollback has restored.
    func dropTriggers(_ prefix: String) throws {
        let names = try String.fetchAll(
            cachedStatement(
                sql: "SELECT name FROM temp.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?"),
            arguments: [prefix.count, prefix])
        for name in names { try execute(sql: "DROP TRIGGER temp.\(name.quotedIdentifier)") }
    }
}

extension SQLiteFile {
    /// A name that no temporary object of this connection has had before.
    func temporaryName(_ kind: String) -> String {
        temporaries.nameCount += 1
        return "retention_\(kind)_\(temporaries.nameCount)"
    }
}
