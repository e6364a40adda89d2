import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteWriter {
    /// Deletes rows by rewriting the store without them and copying the result back over it, in one transaction.
    ///
    /// SQLite's online backup takes the store's write lock before the survivors are read, and is an ordinary transaction
    /// of the WAL: readers go on, other connections see the new content, and a kill before the commit leaves the old one.
    /// Source: sqlite.org/c3ref/backup_finish.html.
    ///
    /// - Throws: ``StoreError``; the store is as it was then.
    func rebuild(_ request: DeleteWork) throws(StoreError) -> BatchDeleteResult {
        try run("rebuilding the store") { db in
            try prepareRebuild(request, db)
            try confirmIdentity()
            let copy = try SurvivorCopy(of: self, request)
            defer {
                copy.close()
                copy.file.remove()
            }
            // The copy is made only of the schema that it has read by now.
            if request.isPlanned { try catalog.confirm(db) }
            let limit = LockLimit(request.maxLock)
            // While the backup goes on, this connection must not be asked. What is committed after the first line the copy's
            // own connection sees; what was before the second, this one.
            let version = try copy.storeVersion()
            let wasAsSurveyed = try isAsSurveyed(request)
            try copy.access { source in
                // The source has its schema by now: from an empty one, the first step would finish the backup.
                let backup = try OnlineBackup(from: source, to: db, store: name)
                defer { backup.finish() }
                limit.begin()
                // Both connections were opened by the path: another file may have taken it before the lock was held.
                try copy.confirm { try confirmIdentity(db, and: $0) }
                try copy.fill(within: limit, isAsSurveyed: wasAsSurveyed && copy.storeVersion() == version)
                try backup.copyAll(within: limit)
            }
            limit.end()
            db.clearSchemaCache()
            try moveToFile(db)
            var result = BatchDeleteResult(deletedCount: copy.deletedCount)
            result.lockElapsed = limit.elapsed
            return result
        }
    }

    /// Whether nothing was written to the store since the survey that the request was made by.
    func isAsSurveyed(_ request: DeleteWork) throws(StoreError) -> Bool {
        guard let surveyed = request.surveyed else { return false }
        return try surveyed == changeMark()
    }

    /// Throws if a copy without the rows is not possible, and finds the rows that its request keeps.
    func prepareRebuild(_ request: DeleteWork, _ db: Database) throws {
        let fetch = request.fetchRequest
        guard request.resultType != .objectIDs, fetch.fetchOffset == 0, !db.isInsideTransaction else {
            throw StoreError(
                .unsupported, store: name,
                message:
                    "the technique \(request.technique.rawValue) reports no object IDs, has no offset and uses its own transaction"
            )
        }
        let scope = try tableScope(fetch.entity, db)
        if let reason = try techniqueObstacles(scope.table, request.relationships, db)[request.technique] {
            throw StoreError(
                .unsupported, store: name,
                message: "the technique \(request.technique.rawValue) is not possible for \(fetch.entity): \(reason)")
        }
        if let reason = try roomObstacle(db) {
            throw StoreError(.methodUnfit, store: name, message: "no rebuild: \(reason)")
        }
        // The copy's own connection must not find them again: earlier rules may have deleted some.
        for keepLast in fetch.predicate.keptRows {
            if case .groups = try keptRows(keepLast, entity: scope, db).rest {
                throw StoreError(
                    .methodUnfit, store: name,
                    message: "a copy cannot apply keep_last per group")
            }
        }
        if fetch.predicate.isThinning {
            throw StoreError(.methodUnfit, store: name, message: "a copy cannot apply thin")
        }
    }

    /// Moves what is in the WAL to the file, which shrinks with it; waits for nobody.
    private func moveToFile(_ db: Database) throws {
        guard try !isInUseByOthers() else { return wal.moveToStore(db.sqliteConnection) }
        _ = try? emptyWAL(patience: patience, db)
    }
}

extension SQLiteFileConnection {
    /// Why there is no disk space for a copy and for the copy's pages in the WAL, or nil.
    func roomObstacle(_ db: Database) throws -> String? {
        let live = try Int64(pragma("page_count", db) - pragma("freelist_count", db)) * Int64(pragma("page_size", db))
        guard let free = StoreFile.freeBytes(of: StoreFile.folder(of: storeIdentifier)) else {
            return "the free disk space is unknown"
        }
        return free > 2 * live ? nil : "it may need \(2 * live) bytes of disk space, and \(free) are free"
    }
}

/// SQLite's online backup of one file over another, which holds the lock of the latter from the beginning.
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

    /// Copies page by page; the last step commits.
    func copyAll(within limit: LockLimit) throws {
        while true {
            switch sqlite3_backup_step(handle, Self.slicePageCount) {
            case SQLITE_OK: try limit.check(store)
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// Ends the backup; one that is not complete is undone.
    func finish() {
        sqlite3_backup_finish(handle)
        handle = nil
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errstr(code)))
    }

    private static let slicePageCount: Int32 = 1_000
}
