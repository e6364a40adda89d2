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
    ///
    /// - Throws: ``StoreError``: of kind `unsupported` for an entity of a Core Data model, as the other changes of the schema.
    func dropEntity(named name: String) throws(StoreError)

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
