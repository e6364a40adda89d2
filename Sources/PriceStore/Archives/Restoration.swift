/// An archive to restore from.
public struct RestorationRequest: Hashable, Sendable {
    /// The path of the archive's file, or the name of its schema.
    public var archive: String
    /// The run that made it.
    public var run: String
    /// Only what these rules deleted; empty: all rules.
    public var rules: [String]

    /// Makes a request.
    public init(archive: String, run: String, rules: [String] = []) {
        self.archive = archive
        self.run = run
        self.rules = rules
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
    /// Rows whose key another row of the store uses. They are skipped.
    public var conflictCount = 0
    /// References that were cleared and can be restored, because they are still NULL.
    public var referenceCount = 0

    /// Makes an empty count for a table.
    public init(table: String) { self.table = table }

    /// Rows that would be inserted.
    public var restorableCount: Int { archivedCount - presentCount - conflictCount }
}

/// A row of an archive that was not restored.
public struct SkippedRow: Hashable, Sendable {
    /// The table's name in the store.
    public var table: String
    /// The row's key.
    public var key: [StoreValue]
    /// Why, as a phrase: `another row uses its key`.
    public var reason: String

    /// Makes a skipped row; engines do.
    public init(table: String, key: [StoreValue], reason: String) {
        self.table = table
        self.key = key
        self.reason = reason
    }
}

/// What a part of a restoration did.
public struct RestorationPart: Hashable, Sendable {
    /// Rows that were inserted.
    public var restoredCount = 0
    /// Rows that were in the store already.
    public var presentCount = 0
    /// References that were restored.
    public var referenceCount = 0
    /// Rows that were not inserted, the first 100 of the part; ``skippedCount`` counts all.
    public var skipped: [SkippedRow] = []
    /// All rows that were not inserted.
    public var skippedCount = 0
    /// Whether another part follows.
    public var hasMore = true

    /// Makes an empty part; engines fill it.
    public init() {}
}

/// Inserts the rows of an archive into the store that they were deleted from, the last deleted first.
public protocol Restoration: AnyObject {
    /// What the archive holds for each table, compared with the store. Nothing is changed.
    func survey() throws(StoreError) -> [RestorableTable]

    /// Restores the next rows in one transaction.
    ///
    /// - Parameter rows: about how many; rows that were deleted together may have to be restored together.
    /// - Throws: ``StoreError``; then this part is rolled back, and all earlier parts stay committed.
    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart
}
