/// A store that can be read. Nothing that is done through it changes a byte of the store.
///
/// Readers and writers hold a connection and belong to one thread.
public protocol StoreReader: AnyObject {
    /// The path or address of the store, as messages name it; never with a password.
    var name: String { get }

    /// Identifies the store: the same for every connection to it, however it was opened, and different for any other
    /// store. For a file it is the path without links.
    var storeIdentifier: String { get }

    /// The engine's name: `sqlite` or `postgresql`.
    var engine: String { get }

    /// The names of all entities, in the store's order; tables, views and virtual tables.
    func entityNames() throws(StoreError) -> [String]

    /// The entity of that name, or nil if the store has none.
    func entity(named name: String) throws(StoreError) -> Entity?

    /// How many rows a request finds; its limit is obeyed, its order does not matter.
    func count(_ request: StoreFetchRequest) throws(StoreError) -> Int

    /// The values of the named attributes of the rows that a request finds, in its order. All are held in memory.
    func fetch(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]]

    /// The rows that a request finds, in its order, with their identities and the named attributes. All are held in
    /// memory.
    func fetchRows(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow]

    /// What a rule would find and delete, counted exactly.
    func survey(_ request: SurveyRequest) throws(StoreError) -> Survey

    /// How the rows of a request would be deleted now.
    ///
    /// - Throws: ``StoreError``: of kind `unknownName` if the request asks for a technique that is not possible for them.
    func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline

    /// Whether a delete of rows of an entity can delete rows of another one, by cascades, or the same rows; or can set some
    /// attributes of them to NULL or a default.
    ///
    /// - Parameters:
    ///   - entity: whose rows a request names.
    ///   - relationships: what the request does with rows that refer to them.
    ///   - other: any entity, or the same.
    ///   - attributes: names of attributes of that entity.
    func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool

    /// How many readable rows of an entity that match a filter remain after several deletes, one after the other, with
    /// all related rows. Nothing is deleted.
    ///
    /// - Parameters:
    ///   - entity: whose rows are counted.
    ///   - date: what makes a row readable.
    ///   - filter: the rows to count.
    ///   - deletes: in their order.
    ///   - limit: the count stops here; nil: no limit.
    func countSpared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int

    /// Throws if an entity's rows or indexes are damaged, of kind `inputOutput`. It may read all of them. A store whose
    /// server looks after that need do nothing.
    func verify(entity: String) throws(StoreError)

    /// Up to `limit` different values of an attribute, from across the entity; for messages and for recognising formats.
    func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue]

    /// The size of the store's main file or database in bytes.
    func sizeBytes() throws(StoreError) -> Int64

    /// The space of an entity's rows and indexes in bytes; nil if the store does not know.
    func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64?

    /// How the store holds an entity's rows where they are not in one plain table, as a phrase: its parts, its servers, and
    /// what the store does with them by itself; nil: there is nothing to tell.
    func layout(ofEntity entity: String) throws(StoreError) -> String?

    /// Why the rows of a request cannot be archived before they are deleted, as a clause; nil: they can.
    func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String?

    /// Throws unless archives can be made at a place in the store itself, and nobody else can change them.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if there is no such place or something else is in it, of kind
    ///   `permission` if it is someone else's, others can create in it, or this user cannot.
    func checkArchivePlace(_ name: String) throws(StoreError)

    /// The archives that the store itself holds at a place, the oldest first.
    func archives(in place: String) throws(StoreError) -> [StoredArchive]

    /// What an archive holds for each table, compared with the store as it is.
    ///
    /// - Throws: ``StoreError`` as ``StoreWriter/restoration(of:)``.
    func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable]

    /// What must be done once to enable incremental reclaim, as a clause; nil: nothing, or the engine reclaims space
    /// itself.
    func reclaimAdvice() throws(StoreError) -> String?
}

extension StoreReader {
    /// The engine has no archives.
    public func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        "the engine \(engine) has no archives"
    }

    /// The store itself holds no archives.
    public func checkArchivePlace(_ name: String) throws(StoreError) { throw noArchives }

    /// None: the store itself holds no archives.
    public func archives(in place: String) throws(StoreError) -> [StoredArchive] { [] }

    /// The engine has no archives.
    public func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable] { throw noArchives }

    fileprivate var noArchives: StoreError {
        StoreError(.unsupported, store: name, message: "the engine \(engine) has no archives")
    }

    /// Nil: the engine looks after its files itself.
    public func reclaimAdvice() throws(StoreError) -> String? { nil }

    /// Whether the entities are the same, for a store where relationships delete no rows.
    public func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool { try self.entity(named: entity)?.name == self.entity(named: other)?.name }

    /// Counts the rows that no delete names, for a store where relationships delete no rows.
    public func countSpared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        try count(.spared(entity, date: date, filter: filter, by: deletes, limit: limit))
    }

    /// Nil: rows are in plain tables.
    public func layout(ofEntity entity: String) throws(StoreError) -> String? { nil }

    /// Nil: a store need not know how much space an entity uses.
    public func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? { nil }

    /// Nothing: a server looks after its files itself.
    public func verify(entity: String) throws(StoreError) {}
}

/// A store into which rows can be inserted: a writer, or a rehearsal that only predicts the effects.
public protocol StoreInserter: StoreReader {
    /// Inserts one row. Missing values use the defaults of the store. A row that breaks a constraint is
    /// ``InsertOutcome/rejected(_:)`` and is not inserted.
    func insert(entity: String, values: [String: StoreValue], onConflict: ConflictPolicy) throws(StoreError)
        -> InsertOutcome

    /// Adds many rows at once, all of one policy; nil: the store cannot, or one of them breaks a constraint. Nothing was
    /// added then, and the rows must be added one by one.
    func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> RowsInserted?

    /// Carries out `body` in one transaction: all of it, or nothing if it throws. Transactions nest.
    func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T
}

/// A store that can be changed.
public protocol StoreWriter: StoreInserter {
    /// The deletion of the rows that a request names, as they were surveyed or, without a survey, as they are now.
    /// Obstacles of ``BatchDeleteRequest/RelationshipRule/deny`` are not checked again: rows that arrive later follow
    /// the schema.
    func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion

    /// Executes a batch delete in one transaction.
    @discardableResult
    func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult

    /// Sets attributes of the rows that a request finds, and says how many there were.
    ///
    /// - Throws: ``StoreError``: of kind `unsupported` if the request has a limit or an offset.
    func update(_ request: StoreFetchRequest, set values: [String: StoreValue]) throws(StoreError) -> Int

    /// Creates an entity if it does not exist, with its key, defaults, relationships and their indexes. An existing one gets
    /// the attributes that it lacks; these are required only if they have a default.
    ///
    /// - Throws: ``StoreError`` if a part of the description cannot be created; then nothing is.
    func createEntity(_ entity: Entity) throws(StoreError)

    /// Creates an index if there is none of exactly these attributes.
    ///
    /// - Parameters:
    ///   - entity: the entity, which must be a table.
    ///   - attributes: in their order.
    ///   - isUnique: whether no two rows may have the same values.
    func createIndex(on entity: String, attributes: [String], isUnique: Bool) throws(StoreError)

    /// Drops an entity with its rows, if it exists.
    func dropEntity(named name: String) throws(StoreError)

    /// Whether others use the store: another connection has it open, or has written since the last call.
    func isInUseByOthers() throws(StoreError) -> Bool

    /// Limits the size of files beside the store that grow while it is changed. Call it between batches.
    ///
    /// - Returns: what prevents that, as a sentence for a warning; nil: nothing does.
    /// - Throws: ``StoreError`` of kind `busy` if they are so large that nothing more should be written.
    func boundSideFiles() throws(StoreError) -> String?

    /// How long the next batch should wait, beyond the pause for other connections; nil: not at all.
    func wantedPause() throws(StoreError) -> WantedPause?

    /// Begins the archive of a run. From now on each deletion whose request has an ``SurveyRequest/archiveRule`` copies
    /// its rows to the archive before it deletes them: a row is deleted only if its copy is on disk and equal.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if the archive cannot be made there.
    func beginArchive(_ request: ArchiveRequest) throws(StoreError)

    /// Checks the archive that was begun, brings it to disk and ends it. An archive without rows is removed.
    ///
    /// - Returns: the archive; nil: there is none, because nothing was archived.
    func completeArchive() throws(StoreError) -> ArchiveResult?

    /// Removes an archive that the store itself holds, and nothing that is no part of it.
    func removeArchive(of run: String, in place: String) throws(StoreError)

    /// The restoration of what a run deleted.
    ///
    /// - Throws: ``StoreError`` if the archive is missing, damaged, incomplete and perhaps wrong, not the one that is meant, or of another
    ///   store; or if the store lacks a table or column of it.
    func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration

    /// Gives unused room in the file back to the file system.
    func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult
}

extension StoreWriter {
    /// Creates an index that is not unique.
    public func createIndex(on entity: String, attributes: [String]) throws(StoreError) {
        try createIndex(on: entity, attributes: attributes, isUnique: false)
    }

    /// Throws if a request has a limit or an offset, which an update does not know.
    package func requireNoLimit(_ request: StoreFetchRequest) throws(StoreError) {
        guard request.fetchLimit != nil || request.fetchOffset > 0 else { return }
        throw StoreError(
            .unsupported, store: name, message: "an update of \(request.entity) has no limit and no offset")
    }

    /// Nothing: a store without such files.
    public func boundSideFiles() throws(StoreError) -> String? { nil }

    /// The engine has no archives.
    public func beginArchive(_ request: ArchiveRequest) throws(StoreError) { throw noArchives }

    /// Nil: nothing was archived.
    public func completeArchive() throws(StoreError) -> ArchiveResult? { nil }

    /// The store itself holds no archives.
    public func removeArchive(of run: String, in place: String) throws(StoreError) { throw noArchives }

    /// The engine has no archives.
    public func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration { throw noArchives }
}

/// What to do with a new row whose primary or unique key is already there.
public enum ConflictPolicy: String, Hashable, Sendable, CaseIterable {
    /// Reject the new row.
    case fail
    /// Keep the old row.
    case ignore
    /// Overwrite the named attributes of the old row.
    case replace
}

/// What became of a new row.
public enum InsertOutcome: Hashable, Sendable {
    /// It is in the store, as a new row or over an old one.
    case saved
    /// Its key was there already and the policy is to ignore it.
    case ignored
    /// It breaks a constraint; the text says which, without values.
    case rejected(String)
}

/// How surely a transaction is on disk when it returns.
public enum Durability: Hashable, Sendable {
    /// As the store is configured.
    case normal
    /// On disk, even if power fails at that instant.
    case full
}

/// How free space is reclaimed.
public enum ReclaimMode: String, Hashable, Sendable, CaseIterable {
    /// Not at all.
    case none
    /// Frees the free pages of the file, in slices, if the file has incremental auto-vacuum.
    case incremental
    /// Rewrites the whole file.
    case vacuum
    /// ``incremental`` if the file has incremental auto-vacuum, otherwise nothing.
    case auto
}

/// How to reclaim space, and when to stop.
public struct ReclaimRequest {
    /// How free space is reclaimed.
    public var mode: ReclaimMode
    /// Called between slices: whether to continue.
    public var mayContinue: () -> Bool
    /// Called after each slice with its duration, so that the caller can pause.
    public var didFree: (Duration) -> Void

    /// Makes a request.
    public init(
        mode: ReclaimMode, mayContinue: @escaping () -> Bool = { true },
        didFree: @escaping (Duration) -> Void = { _ in }
    ) {
        self.mode = mode
        self.mayContinue = mayContinue
        self.didFree = didFree
    }
}

/// What became of a reclaim.
public struct ReclaimResult: Hashable, Sendable {
    /// The size of the store before, in bytes.
    public var sizeBytesBefore: Int64
    /// The size of the store after, in bytes.
    public var sizeBytesAfter: Int64
    /// Why nothing, or not all, was done; nil: all was done.
    public var warning: String?

    /// Makes a result; engines do.
    public init(sizeBytesBefore: Int64, sizeBytesAfter: Int64, warning: String? = nil) {
        self.sizeBytesBefore = sizeBytesBefore
        self.sizeBytesAfter = sizeBytesAfter
        self.warning = warning
    }
}

/// A row as a store returns it: its identity and the requested values.
public struct StoredRow: Hashable, Sendable {
    /// Which row it is.
    public let objectID: ObjectID
    /// The values of the requested attributes, in that order.
    public let values: [StoreValue]

    /// Makes a row; engines do.
    public init(objectID: ObjectID, values: [StoreValue]) {
        self.objectID = objectID
        self.values = values
    }
}
