import GRDB
public import PriceStore

extension SQLiteFile {
    /// The size of the main file in bytes, as SQLite counts it.
    package func sizeBytes() throws(StoreError) -> Int64 {
        try run("reading the size") { try Int64(pragma("page_count", $0)) * Int64(pragma("page_size", $0)) }
    }

    /// What must be done once so that the file returns free space in slices, or nil if it already does, or does so at every commit.
    package func reclaimAdvice() throws(StoreError) -> String? {
        try run("reading the schema") { db in
            try isFull(db) || isIncremental(db)
                ? nil : "run once, with all other programs stopped: PRAGMA auto_vacuum = INCREMENTAL; VACUUM;"
        }
    }

    fileprivate func isFull(_ db: Database) throws -> Bool { try pragma("auto_vacuum", db) == 1 }

    fileprivate func isIncremental(_ db: Database) throws -> Bool { try pragma("auto_vacuum", db) == 2 }
}

extension SQLiteWriter {
    /// Returns free pages to the file system, as far as the request, the file and the disk allow.
    public func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult {
        try run("returning free space") { db in
            let before = try sizeBytes()
            var warning: String?
            switch request.mode {
            case .none: break
            case .auto: if try isIncremental(db) { warning = try reclaimSlices(request, db) }
            case .incremental:
                warning =
                    try isIncremental(db)
                    ? try reclaimSlices(request, db)
                    : try isFull(db)
                        ? nil
                        : "the file was not made for incremental reclaim: run 'PRAGMA auto_vacuum=INCREMENTAL; VACUUM;' on it once"
            case .vacuum: warning = try vacuum(sizeBytes: before, db)
            }
            return ReclaimResult(sizeBytesBefore: before, sizeBytesAfter: try sizeBytes(), warning: warning)
        }
    }

    /// Frees pages in slices. Each is a transaction, so other programs can write in between.
    private func reclaimSlices(_ request: ReclaimRequest, _ db: Database) throws -> String? {
        var free = try pragma("freelist_count", db)
        while free > 0 {
            guard request.mayContinue() else { return "stopped with \(free) free pages left" }
            // The statement frees one page per step and must be stepped to its end.
            let began = ContinuousClock.now
            try db.execute(sql: "PRAGMA main.incremental_vacuum(\(Self.slicePageCount))")
            request.didFree(ContinuousClock.now - began)
            let left = try pragma("freelist_count", db)
            guard left < free else { return "\(left) free pages could not be returned" }
            free = left
        }
        return nil
    }

    /// Rewrites the file if the disk has room for a copy of the live pages in the temporary folder and for as much again in the journal or
    /// WAL.
    private func vacuum(sizeBytes: Int64, _ db: Database) throws -> String? {
        guard try pragma("freelist_count", db) > 0 else { return nil }
        let needed = 2 * sizeBytes
        guard let free = StoreFile.freeBytes(of: StoreFile.folder(of: name)) else {
            return "the free disk space is unknown: no vacuum"
        }
        guard free > needed else {
            return "no vacuum: it may need \(needed) bytes of disk space, and \(free) are free"
        }
        try db.execute(sql: "VACUUM main")
        // In WAL mode the smaller file is in the WAL until a checkpoint moves it.
        if try hasWAL(db) { _ = try? emptyWAL(patience: patience, db) }
        return nil
    }

    /// About 400 KB at the usual page size, which holds the lock for some 12 ms.
    private static let slicePageCount = 100
}
