/// A store that can be read. Nothing that is done through it changes a byte of the store.
///
/// Readers and writers hold a connection and belong to one thread.
public protocol StoreReader: AnyObject {
    /// The path or address of the store, as messages name it; never with a password.
    var name: String { get }

    /// Which store this is, whatever way it was named: the same for every connection to it, different for any other.
    /// For a file it is the path without links.
    var storeIdentifier: String { get }

    /// The engine's name: `sqlite` or `postgresql`.
    var engine: String { get }

    /// The names of all entities, in the store's order; tables, views and virtual tables.
    func entityNames() throws(StoreError) -> [String]

    /// The entity of that name, or nil if the store has none.
    func entity(named name: String) throws(StoreError) -> Entity?

    /// How many rows a request finds; its limit is obeyed, its order does not matter.
    func count(_ request: FetchRequest) throws(StoreError) -> Int

    /// The values of the named attributes of the rows that a request finds, in its order. All are held in memory.
    func fetch(_ request: FetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]]

    /// The rows that a request finds, in its order, with their identities and the named attributes. All are held in
    /// memory.
    func fetchRows(_ request: FetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow]

    /// What a rule would find and delete, counted exactly.
    func survey(_ request: SurveyRequest) throws(StoreError) -> Survey

    /// How the rows of a request would be deleted now.
    ///
    /// - Throws: ``StoreError``: of kind `unknownName` if the request asks for a technique that is not possible for them.
    func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline

    /// How many readable rows of an entity that match a filter stay if several deletes are carried out one after the
    /// other, with all that goes with their rows. Nothing is deleted.
    ///
    /// - Parameters:
    ///   - entity: whose rows are counted.
    ///   - date: what makes a row readable.
    ///   - filter: the rows to count.
    ///   - deletes: in their order.
    ///   - limit: more are not counted; nil: all are.
    func countSpared(
        _ entity: String, date: DateAttribute, filter: Predicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int

    /// Throws if an entity's rows or indexes are damaged, of kind `inputOutput`. It may read all of them. A store whose
    /// server looks after that need do nothing.
    func verify(entity: String) throws(StoreError)

    /// Up to `limit` different values of an attribute, from across the entity; for messages and for recognising formats.
    func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue]

    /// The size of the store's main file or database in bytes.
    func sizeBytes() throws(StoreError) -> Int64

    /// The room that an entity's rows and indexes take in bytes; nil: the store cannot tell.
    func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64?

    /// What has to be done once so that the room of deleted rows can be given back to the file system bit by bit, as a
    /// clause; nil: nothing, or the engine looks after that itself.
    func reclaimAdvice() throws(StoreError) -> String?
}

extension StoreReader {
    /// Nil: the engine looks after its files itself.
    public func reclaimAdvice() throws(StoreError) -> String? { nil }

    /// Counts the rows that none of the deletes names itself, for a store where nothing goes with them.
    public func countSpared(
        _ entity: String, date: DateAttribute, filter: Predicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        try count(.spared(entity, date: date, filter: filter, by: deletes, limit: limit))
    }

    /// Nil: a store need not know how much room an entity takes.
    public func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? { nil }

    /// Nothing: a server looks after its files itself.
    public func verify(entity: String) throws(StoreError) {}
}

/// A store that new rows can be given to: a writer, or a rehearsal that only foretells what a writer would do.
public protocol StoreInserter: StoreReader {
    /// Adds one row; values that are not named take the store's default. A row that breaks a constraint is
    /// ``InsertOutcome/rejected(_:)`` and leaves nothing behind.
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
    /// The deletion of the rows that a request names, as they were surveyed or, if nobody has, as they are now. What
    /// ``BatchDeleteRequest/RelationshipRule/deny`` forbids is not looked for again: rows that arrive follow the schema.
    func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion

    /// Carries out a batch delete in one transaction of its own.
    func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult

    /// Sets attributes of the rows that a request finds, and says how many there were.
    func update(_ request: FetchRequest, set values: [String: StoreValue]) throws(StoreError) -> Int

    /// Makes an entity if there is none of its name; attributes that an existing one lacks are added.
    func createEntity(_ entity: Entity) throws(StoreError)

    /// Removes an entity and its rows; nothing happens if there is none.
    func dropEntity(named name: String) throws(StoreError)

    /// Whether others are at work on the store: another connection has it open, or one has written since this was last
    /// asked.
    func hasCompany() throws(StoreError) -> Bool

    /// Keeps the files beside the store small that grow while it is changed. To be called between batches.
    ///
    /// - Returns: what keeps them from it and who, a sentence to warn with; nil: nothing does.
    /// - Throws: ``StoreError`` of kind `busy` once they have grown so far that nothing more should be written.
    func boundSideFiles() throws(StoreError) -> String?

    /// How long the next batch should wait, beyond what others at work need; nil: it need not.
    func wantedPause() throws(StoreError) -> WantedPause?

    /// Gives unused room in the file back to the file system.
    func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult
}

extension StoreWriter {
    /// Nothing: a store without such files.
    public func boundSideFiles() throws(StoreError) -> String? { nil }
}

/// What to do with a new row whose primary or unique key is already there.
public enum ConflictPolicy: String, Hashable, Sendable, CaseIterable {
    /// Reject the new row.
    case fail
    /// Leave the old row as it is.
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

/// How room is given back.
public enum ReclaimMode: String, Hashable, Sendable, CaseIterable {
    /// Not at all.
    case none
    /// The file's own free pages, in slices, where it was made for that.
    case incremental
    /// By writing the whole file anew.
    case vacuum
    /// ``incremental`` where the file was made for it, else nothing.
    case auto
}

/// How to give room back, and when to stop.
public struct ReclaimRequest {
    /// How room is given back.
    public var mode: ReclaimMode
    /// Asked between slices: whether to go on.
    public var mayContinue: () -> Bool
    /// Told after each slice how long it took, so that others can be let in.
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

/// A row as a store hands it out: its identity and the values that were asked for.
public struct StoredRow: Hashable, Sendable {
    /// Which row it is.
    public let objectID: ObjectID
    /// The values of the attributes that were asked for, in that order.
    public let values: [StoreValue]

    /// Makes a row; engines do.
    public init(objectID: ObjectID, values: [StoreValue]) {
        self.objectID = objectID
        self.values = values
    }
}
