import GRDB
import PriceStore

/// How often a store has changed. Equal marks prove that nothing changed in between.
struct ChangeMark: Hashable {
    /// A number that differs after other connections have changed the store.
    var byOthers: Int
    /// The rows that this connection has inserted, updated or deleted, except temporary ones of surveys.
    var ownRowCount: Int
    /// The rows that deletions of this connection have deleted.
    var deletedCount: Int

    /// Whether nothing but deletions has happened since an earlier mark.
    func hasOnlyDeleted(since earlier: ChangeMark) -> Bool {
        byOthers == earlier.byOthers && ownRowCount - earlier.ownRowCount == deletedCount - earlier.deletedCount
    }
}

/// What a connection has changed itself.
struct OwnChanges {
    /// Rows of temporary tables, written by work that changes nothing else.
    fileprivate var temporaryRowCount = 0
    /// The number of changed rows when such work began, or nil if none is in progress.
    fileprivate var countBefore: Int?
    /// The rows that deletions have deleted.
    var deletedCount = 0
}

extension SQLiteFile {
    /// The current mark: commits of other connections and rows changed by this one, including triggers and foreign keys.
    func changeMark() throws(StoreError) -> ChangeMark {
        try run("looking for changes of the store") { try changeMark($0) }
    }

    func changeMark(_ db: Database) throws -> ChangeMark {
        ChangeMark(
            byOthers: try pragma("data_version", db),
            ownRowCount: (changes.countBefore ?? db.totalChangesCount) - changes.temporaryRowCount,
            deletedCount: changes.deletedCount)
    }

    /// Runs work that changes only temporary tables, so that it does not count as a change.
    func countingTemporaryRows<T>(_ db: Database, _ body: () throws -> T) rethrows -> T {
        guard changes.countBefore == nil else { return try body() }
        let before = db.totalChangesCount
        changes.countBefore = before
        defer {
            changes.temporaryRowCount += db.totalChangesCount - before
            changes.countBefore = nil
        }
        return try body()
    }
}
