/// A store that can be read. Reading never changes a byte of the store.
///
/// Readers and writers hold a connection and belong to one thread.
///
/// ```swift
/// let reader = try SQLiteReader(path: path)
/// let row = try reader.fetch(StoreFetchRequest(entity: "Price"), attributes: ["metal", "time", "dollars"])
/// ```
public protocol StoreReader: AnyObject {
    /// The path or address of the store, as messages name it, without a password.
    var name: String { get }

    /// Identifies the store. Every connection to it has the same identifier, however it was opened, and no other store has it. For a file
    /// it is the path without links.
    var storeIdentifier: String { get }

    /// The engine's name: `sqlite` or `postgresql`.
    var engine: String { get }

    /// The names of all entities, in the store's order: tables, views and virtual tables.
    func entityNames() throws(StoreError) -> [String]

    /// The entity of that name; nil: the store has none.
    func entity(named name: String) throws(StoreError) -> Entity?

    /// How many rows a request finds. Its limit applies, its order does not matter.
    func count(_ request: StoreFetchRequest) throws(StoreError) -> Int

    /// Figures of the rows that a request finds, with its limit and its order.
    ///
    /// - Parameters:
    ///   - figures: what is computed.
    ///   - request: the rows.
    ///   - groups: the attributes by which the rows are grouped; empty: all rows are one group.
    /// - Returns: a row for each group, in the order of the groups: the values of the attributes, then the figures.
    func figures(
        _ figures: [RowFigure], of request: StoreFetchRequest, groupedBy groups: [String]
    ) throws(StoreError) -> [[StoreValue]]

    /// The values of the named attributes of the rows that a request finds, in its order. All are held in memory.
    func fetch(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]]

    /// The rows that a request finds, in its order, with their IDs and the named attributes. All are held in memory.
    func fetchRows(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow]
}

/// A store into which rows can be inserted: a writer, or a rehearsal that only predicts the effects.
///
/// ```swift
/// let outcome = try writer.insert(entity: "item", values: ["id": 1, "name": "again"], onConflict: .ignore)
/// ```
public protocol StoreInserter: StoreReader {
    /// Inserts one row. Missing values use the defaults of the store. A row that breaks a constraint is ``InsertOutcome/rejected(_:)`` and
    /// not inserted.
    func insert(entity: String, values: [String: StoreValue], onConflict: ConflictPolicy) throws(StoreError)
        -> InsertOutcome

    /// Carries out `body` in one transaction, which is rolled back if it throws. Transactions nest.
    func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T
}

/// A store that can be changed.
///
/// ```swift
/// try writer.createEntity(
///     Entity(
///         name: "GoldPrice",
///         attributes: [
///             Attribute(name: "time", affinity: .real, isRequired: true),
///             Attribute(name: "dollars", affinity: .real),
///         ]))
/// try writer.createIndex(on: "GoldPrice", attributes: ["time"])
/// ```
public protocol StoreWriter: StoreInserter {
    /// Executes a batch delete in one transaction.
    @discardableResult
    func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult

    /// Creates an entity if it does not exist, with its key, defaults, relationships and their indexes. An existing entity gets the
    /// attributes that it lacks, and may have others.
    ///
    /// - Throws: ``StoreError`` if a part of the description cannot be created, or if an existing entity differs from it in its key, a
    ///   relationship, or the type, the default or the requirement of an attribute; nothing is then created. The error names the
    ///   difference and the statement that would make the described entity.
    func createEntity(_ entity: Entity) throws(StoreError)

    /// Creates an index of a table unless one of exactly these attributes, in this order, exists.
    ///
    /// - Parameters:
    ///   - entity: the entity, which must be a table.
    ///   - attributes: the attributes, in the order of the index.
    ///   - isUnique: whether no two rows may have the same values.
    func createIndex(on entity: String, attributes: [String], isUnique: Bool) throws(StoreError)

    /// Drops an entity with its rows, if it exists.
    ///
    /// - Throws: ``StoreError``: of kind `unsupported` for an entity of a Core Data model, whose schema cannot be changed.
    func dropEntity(named name: String) throws(StoreError)

    /// Gives unused space in the file back to the file system.
    func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult
}

extension StoreWriter {
    /// Creates an index that is not unique.
    public func createIndex(on entity: String, attributes: [String]) throws(StoreError) {
        try createIndex(on: entity, attributes: attributes, isUnique: false)
    }
}

/// What to do with a new row whose primary or unique key already exists.
///
/// ```swift
/// let insert = BatchInsertRequest(
///     entity: "item", objects: [["id": 1, "name": "new"], ["name": "other"]], onConflict: .replace)
/// ```
public enum ConflictPolicy: String, Hashable, Sendable, CaseIterable {
    /// Reject the new row.
    case fail
    /// Keep the old row.
    case ignore
    /// Overwrite the named attributes of the old row.
    case replace
}

/// The result of inserting a row.
///
/// ```swift
/// switch outcome {
/// case .saved, .ignored: break
/// case .rejected(let reason): print(reason)
/// }
/// ```
public enum InsertOutcome: Hashable, Sendable {
    /// The row is in the store, as a new row or over an old one.
    case saved
    /// The key already exists and the policy is to ignore the row.
    case ignored
    /// The row breaks a constraint; the text says which, without values.
    case rejected(String)
}

/// Whether a transaction is on disk when it returns.
///
/// ```swift
/// try writer.transaction(.full) {
///     _ = try writer.insert(entity: "item", values: ["name": "c"], onConflict: .fail)
/// }
/// ```
public enum Durability: Hashable, Sendable {
    /// As the store is configured.
    case normal
    /// On disk, even after a power failure at that instant.
    case full
}

/// How free space is reclaimed.
///
/// ```swift
/// let result = try writer.reclaim(ReclaimRequest(mode: .auto))
/// ```
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
///
/// ```swift
/// let result = try writer.reclaim(ReclaimRequest(mode: .auto))
/// ```
public struct ReclaimRequest {
    /// How free space is reclaimed.
    public var mode: ReclaimMode
    /// Called between slices; returns whether to continue.
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

/// The result of a reclaim.
///
/// ```swift
/// let freed = result.sizeBytesBefore - result.sizeBytesAfter
/// ```
public struct ReclaimResult: Hashable, Sendable {
    /// The size of the store before, in bytes.
    public var sizeBytesBefore: Int64
    /// The size of the store after, in bytes.
    public var sizeBytesAfter: Int64
    /// Why the reclaim did nothing or only a part; nil: it did all.
    public var warning: String?

    /// Makes a result; engines do.
    public init(sizeBytesBefore: Int64, sizeBytesAfter: Int64, warning: String? = nil) {
        self.sizeBytesBefore = sizeBytesBefore
        self.sizeBytesAfter = sizeBytesAfter
        self.warning = warning
    }
}

/// A figure of several rows.
///
/// ```swift
/// let all = StoreFetchRequest(entity: "price")
/// for row in try context.figures([.count, .max("price")], of: all, groupedBy: ["metal"]) {
///     print(row[0], row[1], row[2])
/// }
/// ```
public enum RowFigure: Hashable, Sendable {
    /// The number of rows.
    case count
    /// The least value of an attribute; NULL if no row has one.
    case min(String)
    /// The greatest value of an attribute; NULL if no row has one.
    case max(String)
    /// The sum of an attribute's numbers; NULL if no row has one.
    case sum(String)

    package var attribute: String? {
        switch self {
        case .count: nil
        case .min(let name), .max(let name), .sum(let name): name
        }
    }

    /// What precedes and what follows the query of the rows, in which the values of the groups and then those of the figures are columns.
    package static func query(_ figures: [RowFigure], groupCount: Int) -> (start: String, end: String) {
        var names = (0..<groupCount).map { "c\($0)" }
        let groups = names.joined(separator: ", ")
        let columns = figures.map { figure in
            guard figure.attribute != nil else { return "count(*)" }
            names.append("c\(names.count)")
            return "\(figure)".prefix(3) + "(\(names[names.count - 1]))"
        }
        let selected = (groupCount > 0 ? [groups] : []) + columns
        return (
            "WITH found (\((names.isEmpty ? ["c"] : names).joined(separator: ", "))) AS (",
            ") SELECT \(selected.joined(separator: ", ")) FROM found"
                + (groupCount > 0 ? " GROUP BY \(groups) ORDER BY \(groups)" : "")
        )
    }
}

/// A row as a store returns it: its ID and the requested values.
///
/// ```swift
/// for row in try writer.fetchRows(StoreFetchRequest(entity: "item"), attributes: ["name"]) {
///     print(row.objectID, row.values)
/// }
/// ```
public struct StoredRow: Hashable, Sendable {
    /// The row's ID.
    public let objectID: ObjectID
    /// The values of the requested attributes, in that order.
    public let values: [StoreValue]

    /// Makes a row; engines do.
    public init(objectID: ObjectID, values: [StoreValue]) {
        self.objectID = objectID
        self.values = values
    }
}
