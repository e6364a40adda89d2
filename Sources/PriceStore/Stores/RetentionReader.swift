/// What a retention job needs of a store beyond ``StoreReader``: what its rules would find, how rows would be deleted, and what archives
/// hold.
package protocol RetentionReader: StoreReader {
    /// The library, or the server and its extensions, that read and change the store.
    func components() throws(StoreError) -> [EngineComponent]

    /// The defects of these components that can matter for this store.
    func knownDefects() throws(StoreError) -> [KnownDefect]

    /// What a rule would find and delete, counted exactly.
    func survey(_ request: SurveyRequest) throws(StoreError) -> Survey

    /// How the rows of a request would be deleted, as its survey has found them.
    ///
    /// - Throws: ``StoreError``: of kind `unknownName` if the request names a method that is not possible for the rows.
    func outline(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> DeletionOutline

    /// The candles that the rows of requests would become. Each request has a ``SurveyRequest/rollup``; they are carried out in this order.
    func candles(of requests: [SurveyRequest]) throws(StoreError) -> [CandleTally]

    /// Why the rows of an entity cannot become candles of a target, as a clause; nil: they can, or only the entities decide. A target of nil
    /// is to be created.
    func candleObstacle(_ rollup: Rollup, of entity: Entity, into target: Entity?) throws(StoreError) -> String?

    /// Why this user may not see all rows of an entity, as a clause; nil: it sees them.
    func hidingObstacle(of entity: String) throws(StoreError) -> String?

    /// By name, an error of kind `permission` for each of some entities whose rows this user may not read and delete.
    func lackingPrivileges(on entities: [String]) throws(StoreError) -> [String: StoreError]

    /// Whether a delete from an entity can delete rows of another one, or of the same one, by cascades, or set given attributes of them to
    /// NULL or a default.
    func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool

    /// Whether triggers of the store may insert, change or delete rows of a table after deletes from an entity, with all their effects. They
    /// may unless the engine can show that they do not. The table may be an entity.
    func triggersMayTouch(
        _ table: String, afterDeletesFrom entity: String, _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> Bool

    /// The given attributes of an entity that a delete from another one, or from the same one, can set to NULL or a default.
    func clearedAttributes(
        _ attributes: [String], of other: String, byDeletesFrom entity: String,
        _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> [String]

    /// The number of readable rows of an entity that match a filter and remain after several deletes, one after the other, with all related
    /// rows. Nothing is deleted. The count stops at the limit.
    func countSpared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int

    /// Throws an error of kind `inputOutput` if an entity's rows or indexes are damaged. It may read all of them. An engine whose server
    /// checks this itself does nothing.
    func verify(entity: String) throws(StoreError)

    /// Up to `limit` different values of an attribute from across the entity, for messages and for recognising formats.
    func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue]

    /// The size of the store's main file or database in bytes.
    func sizeBytes() throws(StoreError) -> Int64

    /// The space of an entity's rows and indexes in bytes; nil: the store does not know it.
    func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64?

    /// The space that the rows of a request and their entries in indexes take without gaps, in bytes; nil: the store does not know it.
    func compactBytes(of request: StoreFetchRequest) throws(StoreError) -> Int?

    /// How the store holds an entity's rows if they are not in one plain table, as a phrase: their parts, their servers, and what the store
    /// itself does with them; nil: there is nothing to report.
    func layout(ofEntity entity: String) throws(StoreError) -> String?

    /// The aggregates that the store keeps over an entity's rows by a date. A cutoff must be at the start of a bucket of each.
    func aggregates(ofEntity entity: String, by date: DateAttribute) throws(StoreError) -> [AggregateBuckets]

    /// Why the rows of a request cannot be archived before they are deleted, as a clause; nil: they can.
    func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String?

    /// Throws unless archives can be made at a place in the store, and nobody else can change them.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if there is no such place or something else is in it; of kind `permission` if
    ///   somebody else owns it, others can create objects in it, or this user cannot.
    func checkArchivePlace(_ name: String) throws(StoreError)

    /// The archives that the store itself holds at a place, oldest first.
    func archives(in place: String) throws(StoreError) -> [StoredArchive]

    /// What an archive holds for each table, compared with the store now.
    ///
    /// - Throws: ``StoreError`` as ``RetentionWriter/restoration(of:)``.
    func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable]

    /// A hold whose rows the store's own triggers may delete, or take out of the hold, when rows are deleted; nil: there is none.
    ///
    /// - Parameter target: the entity of candles that the delete writes; nil: none.
    func obstacle(
        to holds: [HeldRows], of delete: BatchDeleteRequest, writing target: String?
    ) throws(StoreError) -> HoldObstacle?

    /// A hold whose rows triggers may delete, or take out of the hold, when rows are inserted; `replacing`: new rows may replace old ones.
    func obstacle(
        to holds: [HeldRows], insertingInto entity: String, replacing: Bool
    ) throws(StoreError) -> HoldObstacle?

    /// Rows that a new row may not replace. Such a new row is rejected.
    var heldFromReplacing: [HeldRows] { get set }

    /// Rows that no cascade of a batch may delete. A batch that would delete one is rolled back and fails with ``StoreError`` of kind
    /// `constraint`.
    var rowsToKeep: RowsToKeep { get set }

    /// Whether a batch looks at ``rowsToKeep``. If not, cascades that lead to such rows are refused in the plan.
    var looksAtRowsToKeep: Bool { get }

    /// Called when a phase of a long delete begins, with a phrase: `copying the rows that stay`.
    var didBeginPhase: ((String) -> Void)? { get set }

    /// What must be done once to enable incremental reclaim, as a clause; nil: nothing, or the engine reclaims space itself.
    func reclaimAdvice() throws(StoreError) -> String?
}

/// What only some engines have or know.
extension RetentionReader {
    /// Nil: it is not known what triggers do.
    package func obstacle(
        to _: [HeldRows], insertingInto _: String, replacing _: Bool
    ) throws(StoreError) -> HoldObstacle? { nil }
    package func compactBytes(of request: StoreFetchRequest) throws(StoreError) -> Int? { nil }
    package func checkArchivePlace(_ name: String) throws(StoreError) { throw noArchives }
    package func archives(in place: String) throws(StoreError) -> [StoredArchive] { [] }
    package func hidingObstacle(of entity: String) throws(StoreError) -> String? { nil }
    package func lackingPrivileges(on entities: [String]) throws(StoreError) -> [String: StoreError] { [:] }
    package func reclaimAdvice() throws(StoreError) -> String? { nil }
    package func aggregates(
        ofEntity entity: String, by date: DateAttribute
    ) throws(StoreError) -> [AggregateBuckets] { [] }
    package func layout(ofEntity entity: String) throws(StoreError) -> String? { nil }
    package func verify(entity: String) throws(StoreError) {}

    fileprivate var noArchives: StoreError {
        StoreError(.unsupported, store: name, message: "the engine \(engine) has no archives")
    }
}

extension [HeldRows] {
    /// Why a new row does not replace a stored one.
    package var refusalToReplace: String {
        "the row with its key is under \(count == 1 ? "the hold" : "one of the holds") \(map(\.name).joined(separator: ", "))"
    }
}

/// A store in which the import of a job can be carried out or rehearsed.
package protocol RetentionInserter: RetentionReader, StoreInserter {
    /// Carries out `body`, which may insert rows. A reader then counts as if they were in the store, and changes nothing.
    func rehearse<T>(_ body: () throws -> T) throws -> T

    /// Inserts many rows at once, all with one policy, and returns how many are in the store now; the others were ignored. Nil: the store
    /// cannot, or a row breaks a constraint. Nothing is then inserted, and the rows must be inserted one by one.
    func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> Int?
}

extension RetentionInserter {
    package func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> Int? { nil }

    package func rehearse<T>(_ body: () throws -> T) throws -> T { try transaction(.normal, body) }
}

/// What a retention job does with a store beyond ``StoreWriter``: it deletes in parts, makes archives, and spares other programs.
package protocol RetentionWriter: RetentionInserter, StoreWriter {
    func createCandles(_ rollup: Rollup, of entity: Entity) throws(StoreError)

    /// The deletion of the rows that a request names, as its survey has found them.
    ///
    /// The transaction of each part checks again what ``BatchDeleteRequest/RelationshipRule/deny`` forbids. A part that would delete or
    /// change rows other than those of the request fails with kind `constraint`.
    func deletion(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> any Deletion

    /// Whether others use the store: another connection has it open, or has written since the last call.
    func isInUseByOthers() throws(StoreError) -> Bool

    /// How much of the last transaction's time did not depend on its rows: its commit, and on a server the way of its messages.
    var fixedElapsed: Duration { get }

    /// Limits the size of files beside the store that grow while it is changed. Call it between batches.
    ///
    /// - Returns: what prevents that, as a sentence for a warning; nil: nothing.
    /// - Throws: ``StoreError`` of kind `busy` if the files are so large that nothing more should be written.
    func boundSideFiles() throws(StoreError) -> String?

    /// Whether to stop: a signal has come, or the time budget is spent. A server asks during a statement, a file only between batches.
    var isStopped: () -> Bool { get set }

    /// What the next batch waits for, in a few words; nil: nothing. It is asked again until then.
    func waitReason() throws(StoreError) -> String?

    /// Makes sure that what was committed survives a crash of the server, before it is reported as deleted.
    func flush() throws(StoreError)

    /// Begins the archive of a run. From now on each deletion whose request has an ``SurveyRequest/archiveRule`` copies its rows to the
    /// archive first. A row is deleted only if its copy is on disk and equal.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if the archive cannot be made there.
    func beginArchive(_ request: ArchiveRequest) throws(StoreError)

    /// Checks the archive that was begun, writes it to disk and ends it. An archive without rows is removed.
    ///
    /// - Returns: the archive; nil: nothing was archived.
    func completeArchive() throws(StoreError) -> ArchiveResult?

    /// Removes an archive that the store itself holds, and nothing else.
    func removeArchive(of run: String, in place: String) throws(StoreError)

    /// The restoration of what a run deleted.
    ///
    /// - Throws: ``StoreError`` if the archive is missing, damaged, possibly wrong because it is incomplete, a different one, or of another
    ///   store; or if the store lacks one of its tables or columns.
    func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration
}

/// What only some engines need.
extension RetentionWriter {
    package func createCandles(_ rollup: Rollup, of entity: Entity) throws(StoreError) {
        if let table = rollup.table(for: entity) { try createEntity(table) }
    }
    package var isStopped: () -> Bool {
        get { { false } }
        set {}
    }
    /// Does nothing: what is lost with the machine's power is deleted again by the next run.
    package func flush() throws(StoreError) {}
    package func waitReason() throws(StoreError) -> String? { nil }
    package func boundSideFiles() throws(StoreError) -> String? { nil }
    package func removeArchive(of run: String, in place: String) throws(StoreError) { throw noArchives }
}
