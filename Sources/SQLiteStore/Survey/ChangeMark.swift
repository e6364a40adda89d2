import GRDB
import PriceStore

/// How often a store has changed. Equal marks prove that nothing has changed in between.
struct ChangeMark: Hashable {
    /// Another number after others have changed the store.
    var byOthers: Int
    /// Rows that this connection has added, changed or deleted so far, but for the temporary ones of surveys.
    var ownRowCount: Int
    /// Rows that deletions of this connection had deleted.
    var deletedCount: Int

    /// Whether nothing has happened since an earlier mark but deletions.
    func hasOnlyDeleted(since earlier: ChangeMark) -> Bool {
        byOthers == earlier.byOthers && ownRowCount - earlier.ownRowCount == deletedCount - earlier.deletedCount
    }
}

/// What a connection itself has changed.
struct OwnChanges {
    /// Rows of temporary tables that work which changes nothing else has written.
    fileprivate var temporaryRowCount = 0
    /// All rows that had been changed when such work began; nil: none is going on.
    fileprivate var countBefore: Int?
    /// Rows that deletions have deleted.
    var deletedCount = 0
}

extension SQLiteFileConnection {
    /// How often others have committed, and how many rows this connection has changed, triggers and foreign keys included.
    func changeMark() throws(StoreError) -> ChangeMark {
        try run("looking for changes of the store") { try changeMark($0) }
    }

    func changeMark(_ db: Database) throws -> ChangeMark {
        ChangeMark(
            byOthers: try pragma("data_version", db),
            ownRowCount: (changes.countBefore ?? db.totalChangesCount) - changes.temporaryRowCount,
            deletedCount: changes.deletedCount)
    }

    /// Carries out work that changes temporary tables and nothing else, so that it does not count as a change.
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
