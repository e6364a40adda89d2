/// What a connection knows of its temporary tables and triggers, and of the current transaction. A rollback takes it back.
struct Temporaries {
    var keptRows: [KeptRows.Key: KeptRows] = [:]
    var thinnedRows: [KeptRows.Key: ThinnedRows] = [:]
    /// Tables that a rehearsal shadows, by lower-cased name.
    var shadows: [String: ShadowTable] = [:]
    var removedRows: RemovedRows?
    /// The rows that must stay, for each kind of delete that was asked for.
    var sparingRows: [SparingRows.Key: SparingRows] = [:]
    /// The state of the store in which a survey looked for them last.
    var sparingMark: ChangeMark?
    /// The table of the rows that the current batch deletes, of each entity, by lower-cased name.
    var chosenRows: [String: String] = [:]
    /// The table of all rows that a pass is to delete in the order of their dates.
    var dateList: String?
    /// Tables of keys that the current statements refer to; see ``SQLiteFileConnection/keyCondition(_:_:_:)``.
    var keyLists: [String] = []
    /// Temporary tables with the keys of rows that lost a reference, by lower-cased entity: by the key at hand, and by all batches of one
    /// request.
    var clearedRows: [String: (touched: String, all: String)] = [:]
    /// What triggers delete in the batches of one request.
    var counter: TriggerCounter?
    /// What batches of one request on the objects of a Core Data store share.
    var objects: BatchObjects?
    /// What continues the history of a Core Data store in the current transaction.
    var recorder: CoreDataHistory.Recorder?
    /// Whether the store keeps its history; nil: unknown.
    var history: HistoryState?

    fileprivate var nameCount = 0

    /// Forgets what a transaction that is undone had made.
    mutating func rollBack(to earlier: Temporaries) {
        let (atWork, nameCount) = (counter, nameCount)
        self = earlier
        self.nameCount = nameCount
        // Triggers that the transaction made are gone; what others counted in it did not happen.
        if atWork === counter { counter?.forget() } else { counter = nil }
        // Their tables may be gone, and are made again when they are needed.
        removedRows = nil
        sparingRows = [:]
        objects?.unusedFiles = []
        objects = nil
    }
}

extension SQLiteFileConnection {
    /// A name for a temporary object that was never used before on this connection.
    func temporaryName(_ kind: String) -> String {
        temporaries.nameCount += 1
        return "retention_\(kind)_\(temporaries.nameCount)"
    }
}
