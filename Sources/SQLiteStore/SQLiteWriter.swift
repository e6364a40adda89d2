import GRDB
public import PriceObjects
public import PriceStore

/// A SQLite file opened for reading and writing.
///
/// ```swift
/// let writer = try SQLiteWriter(path: path, create: true)
/// try writer.createEntity(
///     Entity(
///         name: "Price",
///         attributes: [
///             Attribute(name: "metal", affinity: .text, isRequired: true),
///             Attribute(name: "time", affinity: .integer, isRequired: true),
///             Attribute(name: "dollars", affinity: .real),
///         ]))
/// ```
public final class SQLiteWriter: SQLiteFile, ObjectStore, RetentionWriter {
    let wal = WriteAheadLog()
    let historyRecorder = HistoryRecorder()
    /// Copies deleted rows to the archive of the run; nil if no archive was begun.
    var archiver: RowArchiver?
    /// The file that was opened, or nil before it was looked at.
    private var identity: StoreIdentity?

    /// Opens a file for reading and writing.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - create: whether to create a missing file, readable by its owner and group.
    ///   - busyTimeout: how long to wait for a locked store.
    ///   - modelPath: a `.mom` file or a `.momd` folder, for a Core Data store without its own model.
    /// - Throws: ``StoreError`` if the file is missing, cannot be written or is not a SQLite database.
    public convenience init(
        path: String, create: Bool = false, busyTimeout: Duration = .seconds(5), modelPath: String? = nil
    ) throws(StoreError) {
        try self.init(path: path, create: create, busyTimeout: busyTimeout, modelPath: modelPath, owner: nil)
    }

    /// Opens a file that must belong to an owner; another file stays as it is. A missing or empty file becomes the owner's.
    package init(
        path: String, create: Bool = false, busyTimeout: Duration = .seconds(5), modelPath: String? = nil,
        owner: FileOwner?
    ) throws(StoreError) {
        // Closing the last connection that can write checkpoints the WAL, so the file is first opened for reading only.
        if let owner {
            do {
                _ = try SQLiteReader(path: path, busyTimeout: busyTimeout, owner: owner)
            } catch  where create && error.kind == .missing {
            } catch  where error.kind == .permission && StoreFile.hasJournal(path) {
                // A journal that a crash left must be rolled back before anything can be read.
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

    /// Notes which file is open as the store from here on.
    private func noteIdentity() throws(StoreError) {
        identity = try run("looking at the store's file") { db in
            do {
                // Under a read lock no program is writing a header that a rollback would undo.
                return try snapshot(db) {
                    _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
                    return try StoreIdentity(path: name, db)
                }
            } catch let error as StoreError where error.kind == .busy {
                return try StoreIdentity(path: name, db, readsHeader: false)
            }
        }
    }

    /// Throws an error of kind `replaced` unless the file at the path is the one that was opened.
    func confirmIdentity() throws(StoreError) {
        try run("looking at the store's file") { db in
            try snapshot(db) {
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
                try identity?.check(path: name, db)
            }
        }
    }

    /// The same, under a lock that the connection holds, and for a second connection to the file.
    func confirmIdentity(_ db: Database, and other: SQLiteFileConnection) throws(StoreError) {
        do { try identity?.check(path: name, db) } catch {
            throw StoreError(error, store: name, doing: "looking at the file")
        }
        try other.confirm(identity?.number)
    }

    /// Confirms that the file is the one that was opened, and records what `body` changes in the history.
    override func carryOut<T>(_ body: () throws -> T, _ db: Database) throws -> T {
        try identity?.check(path: name, db)
        try recordTransaction(db)
        defer { historyRecorder.end() }
        let value = try body()
        try finishCoreDataHistory()
        return value
    }

    /// Throws what opening the file throws if it is missing, cannot be written or is not a SQLite database. The file is opened and closed,
    /// so no part of this process may have it open.
    package static func requireDatabase(path: String) throws(StoreError) {
        try StoreFile.check(path, readOnly: false, create: false)
    }
}
