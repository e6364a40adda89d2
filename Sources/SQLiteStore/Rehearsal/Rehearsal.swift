@preconcurrency import Glibc
import GRDB
public import PriceStore

/// Predicts inserts: the rows are inserted into a copy of the store.
extension SQLiteReader {
    /// Carries out `body` on a private copy of the store, into which rows can be inserted. What follows is of the copy, too, unless `body`
    /// fails.
    ///
    /// - Throws: ``StoreError`` of kind `unpredictable` if there is no room for the copy, and what `body` throws.
    package func rehearse<T>(_ body: () throws -> T) throws -> T {
        do {
            try beginRehearsal { try roomForCopy($0) }
            return try body()
        } catch {
            endRehearsal()
            guard let failure = error as? StoreError, failure.store == name else { throw error }
            switch failure.engineCode {
            case "SQLITE_FULL": throw noRoom("its disk is full")
            // A limit of the size of files, for one. If it is the store that cannot be read, the next query says so.
            case let code? where code.hasPrefix("SQLITE_IOERR"): throw noRoom("it cannot be written there (\(code))")
            default: throw failure
            }
        }
    }

    /// Inserts a row into the copy of a rehearsal, as a writer inserts it into the store.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` outside of a rehearsal, because a reader changes nothing.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        guard original != nil else {
            throw failure(.unsupported, "the store is open for reading, and takes no rows")
        }
        return try run("saving a row of \(entity)") { db in
            let table = try scope(entity, db).table.entity
            for key in table.relationships + table.incomingRelationships where table.model == nil {
                if let reason = try mismatch(of: key, db) {
                    throw failure(.unsupported, reason)
                }
            }
            return try save(values, onConflict, into: entity, db)
        }
    }

    /// Throws if the store's pages do not fit where SQLite keeps temporary files.
    private func roomForCopy(_ db: Database) throws {
        let bytes = try Int64(pragma("page_count", db)) * Int64(pragma("page_size", db))
        guard let free = StoreFile.freeBytes(of: Self.temporaryFolder), free < bytes else { return }
        throw noRoom("\(bytes) bytes are needed, and \(free) are free")
    }
}

extension SQLiteFile {
    /// The error of a copy that has become too large.
    fileprivate func noRoom(_ reason: String) -> StoreError {
        failure(
            .unpredictable,
            "a dry run cannot count the pending rows: there is no room for a copy of the store in "
                + "\(Self.temporaryFolder): \(reason)",
            hint: "free some space there, or name a folder with more in SQLITE_TMPDIR; a run needs no copy")
    }

    /// The folder in which SQLite makes temporary files. Source: sqlite.org/tempfiles.html.
    fileprivate static var temporaryFolder: String {
        let named = ["SQLITE_TMPDIR", "TMPDIR"].compactMap { (name: String) in getenv(name).map { String(cString: $0) }
        }
        return (named + ["/var/tmp", "/usr/tmp", "/tmp"]).first { access($0, W_OK | X_OK) == 0 } ?? "."
    }
}
