import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteWriter {
    /// Deletes rows by writing a copy of the store without them and copying it back over the store, in one transaction.
    ///
    /// SQLite's online backup takes the store's write lock before the remaining rows are read, and is an ordinary transaction of the WAL:
    /// readers continue, other connections see the new content, and a kill before the commit leaves the old content. Source:
    /// sqlite.org/c3ref/backup_finish.html.
    ///
    /// - Throws: ``StoreError``. Then the store is unchanged.
    func rebuild(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        try run("rebuilding the store") { db in
            try confirmRebuild(request, db)
            try confirmIdentity()
            let copy = try SurvivorCopy(of: self, request)
            defer {
                copy.close()
                copy.file.remove()
            }
            // The copy uses only the schema that it has read by now.
            if request.isPlanned { try catalog.confirm(db) }
            let began = ContinuousClock.now
            try copy.target.unsafeReentrantWrite { source in
                // The source has its schema by now. From an empty source, the first step would finish the backup.
                let backup = try OnlineBackup(from: source, to: db, store: name)
                defer { backup.finish() }
                // Both connections were opened by path, and another file may have taken it before the lock was held.
                try confirmIdentity(db, and: copy.reader)
                try copy.fill()
                didBeginPhase?("copying back")
                try showing("copying back", on: source, share: { backup.share }) { update in
                    try backup.copyAll {
                        update()
                        try checkTask()
                    }
                }
            }
            var result = BatchDeleteResult(deletedCount: copy.deletedCount)
            result.lockElapsed = ContinuousClock.now - began
            db.clearSchemaCache()
            try moveToFile(db)
            return result
        }
    }

    private func confirmRebuild(_ request: DeleteWork, _ db: Database) throws {
        let table = try tableScope(request.fetchRequest.entity, db).table
        guard let reason = try rebuildObstacle(request, table, db) ?? roomObstacle(db) else { return }
        throw failure(.unsupported, "a rebuild is not possible for \(request.fetchRequest.entity): \(reason)")
    }

    /// Moves the WAL into the file, which shrinks, if no other program uses it. Otherwise runs a checkpoint that waits for nobody.
    private func moveToFile(_ db: Database) throws {
        guard try !isInUseByOthers() else { return wal.moveToStore(db.sqliteConnection) }
        _ = try? emptyWAL(patience: patience, db)
    }
}

extension SQLiteFile {
    /// Why the disk lacks space for the copy and its pages in the WAL, or nil.
    func roomObstacle(_ db: Database) throws -> String? {
        let live = try Int64(pragma("page_count", db) - pragma("freelist_count", db)) * Int64(pragma("page_size", db))
        guard let free = StoreFile.freeBytes(of: StoreFile.folder(of: storeIdentifier)) else {
            return "the free disk space is unknown"
        }
        return free > 2 * live ? nil : "it may need \(2 * live) bytes of disk space, and \(free) are free"
    }
}

/// SQLite's online backup of one file over another, whose lock it holds from the beginning.
private final class OnlineBackup {
    private var handle: OpaquePointer?
    private let destination: Database
    private let store: String

    init(from source: Database, to destination: Database, store: String) throws {
        self.destination = destination
        self.store = store
        handle = sqlite3_backup_init(destination.sqliteConnection, "main", source.sqliteConnection, "main")
        guard handle != nil else { throw failure(sqlite3_errcode(destination.sqliteConnection)) }
        let code = sqlite3_backup_step(handle, 0)
        guard code == SQLITE_OK else {
            finish()
            throw failure(code)
        }
    }

    /// The copied pages, of all pages.
    var share: (done: Int64, of: Int64) {
        let count = Int64(sqlite3_backup_pagecount(handle))
        return (count - Int64(sqlite3_backup_remaining(handle)), count)
    }

    /// Copies the pages in slices. The last step commits.
    func copyAll(until check: () throws -> Void) throws {
        while true {
            switch sqlite3_backup_step(handle, Self.slicePageCount) {
            case SQLITE_OK: try check()
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// Ends the backup. An incomplete one is rolled back.
    func finish() {
        sqlite3_backup_finish(handle)
        handle = nil
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errstr(code)))
    }

    private static let slicePageCount: Int32 = 1_000
}
