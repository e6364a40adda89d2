@preconcurrency import Glibc
import GRDB
public import PriceStore

/// Predicts inserts: the rows are inserted into a copy of the store.
extension SQLiteReader {
    /// Adds a row to the rehearsal and predicts the outcome of its insert. From the first one on all queries are of a copy of the store
    /// with these rows, until the transaction fails in which it was made.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` if there is no room for the copy.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        do throws(StoreError) {
            try beginRehearsal { try roomForCopy($0) }
            return try run("rehearsing a row of \(entity)") { db in
                let table = try scope(entity, db).table.entity
                for key in table.relationships + table.incomingRelationships where table.model == nil {
                    if let reason = try mismatch(of: key, db) {
                        throw StoreError(.unsupported, store: name, message: reason)
                    }
                }
                return try save(values, onConflict, into: entity, db)
            }
        } catch {
            switch error.engineCode {
            case "SQLITE_FULL": throw noRoom("its disk is full")
            // A limit of the size of files, for one. If it is the store that cannot be read, the next query says so.
            case let code? where code.hasPrefix("SQLITE_IOERR"): throw noRoom("it cannot be written there (\(code))")
            default: throw error
            }
        }
    }

    /// Throws if the store's pages do not fit where SQLite keeps temporary files.
    private func roomForCopy(_ db: Database) throws {
        let bytes = try Int64(pragma("page_count", db)) * Int64(pragma("page_size", db))
        guard let free = StoreFile.freeBytes(of: Self.temporaryFolder), free < bytes else { return }
        throw noRoom("\(bytes) bytes are needed, and \(free) are free")
    }
}

extension SQLiteFileConnection {
    /// The error of a copy that has become too large.
    func noRoom(_ reason: String) -> StoreError {
        StoreError(
            .unsupported, store: name,
            message: "a dry run cannot count the pending rows: there is no room for a copy of the store in "
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
