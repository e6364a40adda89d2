import GRDB
public import PriceObjects
public import PriceStore

/// A SQLite file that is read and changed.
public final class SQLiteWriter: SQLiteFile, ObjectStore, RetentionWriter {
    let wal = WriteAheadLog()
    let historyRecorder = HistoryRecorder()
    /// Copies the rows that are deleted to the archive of the run; nil: no archive was begun.
    var archiver: RowArchiver?
    /// Which file was opened; nil: it was not looked at yet.
    private var identity: StoreIdentity?

    /// Opens a file for reading and writing.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - create: whether a missing file is made, readable by its owner and group.
    ///   - busyTimeout: how long a locked store is waited for.
    ///   - modelPath: a `.mom` file or a `.momd` folder, for a Core Data store that lacks its own model.
    /// - Throws: ``StoreError`` if the file is not there, cannot be written, or is no SQLite database.
    public convenience init(
        path: String, create: Bool = false, busyTimeout: Duration = .seconds(5), modelPath: String? = nil
    ) throws(StoreError) {
        try self.init(path: path, create: create, busyTimeout: busyTimeout, modelPath: modelPath, owner: nil)
    }

    /// The same for a file that must be an owner's, else it is left as it is; a file that is absent or empty becomes the
    /// owner's.
    package init(
        path: String, create: Bool = false, busyTimeout: Duration = .seconds(5), modelPath: String? = nil,
        owner: FileOwner?
    ) throws(StoreError) {
        // The last connection that may write empties a WAL into the file when it is closed: first the file is only read.
        if let owner {
            do {
                _ = try SQLiteReader(path: path, busyTimeout: busyTimeout, owner: owner)
            } catch  where create && error.kind == .missing {
            } catch  where error.kind == .permission && StoreFile.hasJournal(path) {
                // What a crash left has to be rolled back before anything can be read.
            }
        }
        let checked = try StoreFile.check(path, readOnly: false, create: create)
        try super.init(path, Self.configuration(readOnly: false, busyTimeout), modelPath: modelPath)
        try confirm(checked)
        if create { StoreFile.makePrivate(path) }
        PrivateFile.removeLeftOver(beside: storeIdentifier)
        try preferFewSyncs()
        try noteIdentity()
        if let owner { try claim(for: owner) }
    }

    /// Takes the file that is open for the store from here on.
    private func noteIdentity() throws(StoreError) {
        identity = try run("looking at the store's file") { db in
            do {
                // Under a read lock no program is writing the header, which a rollback would undo.
                return try snapshot(db) {
                    _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
                    return try StoreIdentity(path: name, db)
                }
            } catch let error as StoreError where error.kind == .busy {
                return try StoreIdentity(path: name, db, readsHeader: false)
            }
        }
    }

    /// Throws, with kind `replaced`, unless the file at the path is the one that was opened.
    func confirmIdentity() throws(StoreError) {
        try run("looking at the store's file") { db in
            try snapshot(db) {
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
                try identity?.check(path: name, db)
            }
        }
    }

    /// The same under a lock that the connection holds, and for a second connection to the file.
    func confirmIdentity(_ db: Database, and other: SQLiteFileConnection) throws(StoreError) {
        do { try identity?.check(path: name, db) } catch {
            throw StoreError(error, store: name, doing: "looking at the file")
        }
        try other.confirm(identity?.number)
    }

    /// Makes sure that the file is the one that was opened, and writes the history with what `body` changes.
    override func carryOut<T>(_ body: () throws -> T, _ db: Database) throws -> T {
        try identity?.check(path: name, db)
        try recordTransaction(db)
        defer { historyRecorder.end() }
        let value = try body()
        try finishCoreDataHistory()
        return value
    }

    /// Throws what opening the file would throw if it is not there, cannot be written or is no SQLite database. The file
    /// is opened and closed, so nothing in this process may have it open.
    package static func requireDatabase(path: String) throws(StoreError) {
        try StoreFile.check(path, readOnly: false, create: false)
    }
}
