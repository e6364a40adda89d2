import GRDB
import PriceStore

/// Counts what is deleted or changed with the rows that a delete names, by temporary triggers. They are put in place once for all
/// batches of the delete.
///
/// Temporary triggers belong to this connection alone and are not part of the store's schema.
final class DeleteCounters {
    /// The delete, without what differs between batches.
    private let request: BatchDeleteRequest
    private let relationships: RelationshipCounter?
    private let triggers: TriggerCounter?

    /// The counters of the delete that a batch belongs to. The first batch puts them in place.
    static func of(_ work: DeleteWork, _ connection: SQLiteFileConnection, _ db: Database) throws -> DeleteCounters {
        let whole = work.request.withoutPlace
        if work.continuation != nil, let known = connection.temporaries.counters, known.request == whole {
            return known
        }
        connection.temporaries.counters = nil
        let counters = try DeleteCounters(whole, connection, db)
        connection.temporaries.counters = counters
        return counters
    }

    private init(_ request: BatchDeleteRequest, _ connection: SQLiteFileConnection, _ db: Database) throws {
        self.request = request
        try Self.removeTriggers(db)
        var fetch = request.fetchRequest
        triggers = try TriggerCounter.make(fetch, request.relationships, connection, db)
        // Rows that are chosen before the delete cannot be found by a predicate in a trigger.
        if try connection.choosesRows(request, db) { fetch.predicate = .or([]) }
        relationships = try RelationshipCounter.make(fetch, request.relationships, connection, db)
    }

    /// Adds what was counted since the batch before to the result of a batch.
    ///
    /// - Parameter choosesRows: whether the batch has chosen its rows and counted them itself.
    func complete(_ result: inout BatchDeleteResult, choosesRows: Bool) {
        if let counts = relationships?.take() {
            result.cascadedCount = counts.cascaded
            result.nullifiedCount = counts.nullified
            if let direct = counts.direct {
                if choosesRows {
                    // The counter knows no predicate here: it took the chosen rows for cascaded ones too.
                    result.cascadedCount -= result.deletedCount
                } else {
                    result.deletedCount = direct
                }
            }
        }
        result.deletedByTriggers = triggers?.take(ownCount: result.deletedCount) ?? [:]
    }

    /// Forgets what was counted since the last batch.
    func forget() {
        _ = relationships?.take()
        _ = triggers?.take(ownCount: 0)
    }

    /// Ends the counting of a delete that is complete.
    func remove(_ connection: SQLiteFileConnection, _ db: Database) throws {
        connection.temporaries.counters = nil
        if relationships != nil || triggers != nil { try Self.removeTriggers(db) }
    }

    /// Removes the triggers and their tables, also those that a rollback has brought back.
    private static func removeTriggers(_ db: Database) throws {
        let entries = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT type, name FROM temp.sqlite_schema WHERE type IN ('trigger', 'table') AND (
                        name LIKE 'retention\\_cascade\\_%' ESCAPE '\\' OR name LIKE 'retention\\_nullif%' ESCAPE '\\'
                        OR name LIKE 'retention\\_gone\\_%' ESCAPE '\\')
                    ORDER BY type DESC
                    """))
        for entry in entries {
            let (type, name): (String, String) = (entry[0], entry[1])
            try db.execute(sql: "DROP \(type) temp.\(name.quotedIdentifier)")
        }
    }
}
