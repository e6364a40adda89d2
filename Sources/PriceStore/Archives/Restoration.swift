/// An archive to restore from.
public struct RestorationRequest: Hashable, Sendable {
    /// The path of the archive's file, or the name of its schema.
    public var archive: String
    /// The run that made it.
    public var run: String
    /// Only what these rules deleted; empty: all rules.
    public var rules: [String]
    /// Whether the archive must be complete. One that is not may hold rows that were never deleted: the store has them.
    public var mustBeComplete: Bool
    /// The store's identifier when the archive was made, if the store was moved since; nil: it was not.
    public var formerStore: String?

    /// Makes a request.
    public init(
        archive: String, run: String, rules: [String] = [], mustBeComplete: Bool = true, formerStore: String? = nil
    ) {
        self.formerStore = formerStore
        self.archive = archive
        self.run = run
        self.rules = rules
        self.mustBeComplete = mustBeComplete
    }
}

/// What an archive holds for one table of the store, compared with the store as it is.
public struct RestorableTable: Hashable, Sendable {
    /// The table's name in the store.
    public var table: String
    /// Rows in the archive.
    public var archivedCount = 0
    /// Rows that are in the store already, equal in every value.
    public var presentCount = 0
    /// Rows whose key the store uses for a row with other values. They are skipped.
    public var conflictCount = 0
    /// Rows with references that were cleared and can be restored, because nobody has changed them since.
    public var referenceCount = 0
    /// Rows with references that were cleared and cannot be restored, because they are not in the store.
    public var skippedReferenceCount = 0

    /// Makes an empty count for a table.
    public init(table: String) { self.table = table }

    /// Rows that would be inserted.
    public var restorableCount: Int { archivedCount - presentCount - conflictCount }
}

/// A row of an archive that was not restored, or whose reference was not.
public struct SkippedRow: Hashable, Sendable {
    /// The table's name in the store.
    public var table: String
    /// The row's key.
    public var key: [StoreValue]
    /// Why, as a clause: `another row uses its key`.
    public var reason: String

    /// Makes a skipped row; engines do.
    public init(table: String, key: [StoreValue], reason: String) {
        self.table = table
        self.key = key
        self.reason = reason
    }
}

/// What a part of a restoration did to one table.
public struct RestoredTable: Hashable, Sendable {
    /// Rows that were inserted.
    public var restoredCount = 0
    /// Rows that were in the store already.
    public var presentCount = 0
    /// Rows that were not inserted.
    public var skippedCount = 0
    /// Rows with references that were restored.
    public var referenceCount = 0
    /// Rows with references that were cleared and not restored.
    public var skippedReferenceCount = 0

    /// Makes an empty count.
    public init() {}

    /// Adds what another part did.
    public mutating func add(_ other: RestoredTable) {
        restoredCount += other.restoredCount
        presentCount += other.presentCount
        skippedCount += other.skippedCount
        referenceCount += other.referenceCount
        skippedReferenceCount += other.skippedReferenceCount
    }
}

/// What a part of a restoration did.
public struct RestorationPart: Hashable, Sendable {
    /// The tables of the part, by their names in the store.
    public var tables: [String: RestoredTable] = [:]
    /// Rows that were not inserted, and rows whose references were not restored, at most the first 100 of the part.
    public var skipped: [SkippedRow] = []
    /// Whether another part follows.
    public var hasMore = true

    /// Makes an empty part; engines fill it.
    public init() {}

    /// Rows that the part was about.
    public var rowCount: Int {
        tables.values.reduce(0) { $0 + $1.restoredCount + $1.presentCount + $1.skippedCount + $1.referenceCount }
    }
}

/// Inserts the rows of an archive into the store that they were deleted from, the last deleted first.
public protocol Restoration: AnyObject {
    /// The rules whose rows are restored.
    var rules: [String] { get }

    /// The tables of the store that get rows or references back; of their counts only the archived rows are known.
    var tables: [RestorableTable] { get }

    /// Whether restored rows can differ from the archived ones: the store has triggers, or columns of other types.
    var mayDiffer: Bool { get }

    /// Restores the next rows in one transaction.
    ///
    /// - Parameter rows: how many; rows that refer to each other in a circle are restored together, so it can be more.
    /// - Throws: ``StoreError``; then this part is rolled back, and all earlier parts stay committed.
    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart
}
