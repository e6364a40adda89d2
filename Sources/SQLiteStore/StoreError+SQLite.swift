import GRDB
import GRDBSQLite
import PriceStore

/// Throws unless a function of SQLite's C interface returned the expected code.
func requireResult(_ code: Int32, is expected: Int32 = SQLITE_OK) throws(DatabaseError) {
    guard code == expected else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
}

extension DatabaseError {
    var reason: String { message ?? "no reason given" }
}

extension StoreError {
    /// Gives a SQLite error its kind, code and hint. A ``StoreError`` is unchanged.
    init(_ error: any Error, store: String, doing what: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self.init(.defect, store: store, message: "\(what): \(error)")
            return
        }
        // A wait for a lock ends when its task is cancelled.
        if error.resultCode == .SQLITE_BUSY, Task.isCancelled {
            self = .cancelled(store)
            return
        }
        // If the file was moved between the check of its name and the write, SQLite reports a read-only database.
        if error.extendedResultCode == .SQLITE_READONLY_DBMOVED {
            self = StoreIdentity.moved(store)
            return
        }
        let primary = error.resultCode
        let said = error.message.map { ": \($0)" } ?? ""
        self.init(
            Self.kind(of: error, store: store), store: store, message: what + said,
            engineCode: error.extendedResultCode == .SQLITE_CORRUPT_VTAB
                ? "SQLITE_CORRUPT_VTAB" : Self.name(of: primary),
            hint: Self.hint(of: error, store: store))
    }

    private static func kind(of error: DatabaseError, store: String) -> Kind {
        // The module of a virtual table reports this; the file is sound.
        if error.extendedResultCode == .SQLITE_CORRUPT_VTAB { return .unsupported }
        return switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_SCHEMA: .busy
        case .SQLITE_INTERRUPT: .cancelled
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: .permission
        // SQLite reports only this when it cannot create a journal, also on a disk that is full.
        case .SQLITE_CANTOPEN: StoreFile.isForbidden(store) ? .permission : .inputOutput
        case .SQLITE_CONSTRAINT: .constraint
        case .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_TOOBIG: .unsupported
        case .SQLITE_IOERR, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FULL, .SQLITE_PROTOCOL, .SQLITE_NOMEM,
            .SQLITE_NOLFS:
            .inputOutput
        default: .defect
        }
    }

    private static func hint(of error: DatabaseError, store: String) -> String? {
        if error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            return
                "a program stopped during a change and left \(store)-journal. A reader cannot roll the change back; open the "
                + "store for writing, with retention run, its application, or "
                + "sqlite3 \(store) 'SELECT count(*) FROM sqlite_master'"
        }
        if error.extendedResultCode == .SQLITE_CORRUPT_VTAB {
            return "a virtual table is out of step with the rows that it indexes; rebuild it from its rows"
        }
        return switch error.resultCode {
        case .SQLITE_ERROR where error.message == "too many SQL variables":
            "the request has more values than SQLite takes in a statement; make several requests"
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            "another program has locked the store; try again later, or raise the busy timeout"
        case .SQLITE_CANTOPEN where !StoreFile.isForbidden(store):
            "a file beside the store could not be created or opened: the disk may be full"
        case .SQLITE_CANTOPEN, .SQLITE_READONLY:
            StoreFile.folderIsWritable(store)
                ? nil
                : "a WAL store needs its -wal and -shm files: give this user write permission on its folder, "
                    + "or let the program that owns the store keep it open"
        case .SQLITE_FULL: "the disk is full; what was committed before stays committed"
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            "restore the file from a backup, or use the sqlite3 shell's .recover; nothing is deleted until then"
        default: nil
        }
    }

    private static func name(of code: ResultCode) -> String {
        switch code {
        case .SQLITE_ERROR: "SQLITE_ERROR"
        case .SQLITE_BUSY: "SQLITE_BUSY"
        case .SQLITE_LOCKED: "SQLITE_LOCKED"
        case .SQLITE_READONLY: "SQLITE_READONLY"
        case .SQLITE_IOERR: "SQLITE_IOERR"
        case .SQLITE_CORRUPT: "SQLITE_CORRUPT"
        case .SQLITE_FULL: "SQLITE_FULL"
        case .SQLITE_CANTOPEN: "SQLITE_CANTOPEN"
        case .SQLITE_CONSTRAINT: "SQLITE_CONSTRAINT"
        case .SQLITE_NOTADB: "SQLITE_NOTADB"
        case .SQLITE_PERM: "SQLITE_PERM"
        case .SQLITE_SCHEMA: "SQLITE_SCHEMA"
        case .SQLITE_INTERRUPT: "SQLITE_INTERRUPT"
        case .SQLITE_NOMEM: "SQLITE_NOMEM"
        default: "SQLite result code \(code.rawValue)"
        }
    }
}
