import Foundation
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
    /// Whether the file is removed with the writer.
    private var isTemporary = false

    /// Where SQLite writes a transaction before it is complete.
    public enum Journal: Sendable {
        /// Beside the file: readers and the writer do not wait for each other.
        case wal
        /// Into the file, and what was there beside it: readers and the writer wait for each other.
        case rollback
    }

    /// Opens a file for reading and writing.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - create: whether to create a missing file, readable by its owner and group.
    ///   - journal: the journal of a file that is created. An existing one keeps its own.
    ///   - busyTimeout: how long to wait for a locked store.
    ///   - modelPath: a `.mom` file or a `.momd` folder, for a Core Data store without its own model.
    /// - Throws: ``StoreError`` if the file is missing, cannot be written or is not a SQLite database.
    public convenience init(
        path: String, create: Bool = false, journal: Journal = .wal, busyTimeout: Duration = .seconds(5),
        modelPath: String? = nil
    ) throws(StoreError) {
        try self.init(
            path: path, create: create, journal: journal, busyTimeout: busyTimeout, modelPath: modelPath, owner: nil)
    }

    /// Makes an empty store in memory, which ends with the writer. Several contexts can share the writer, on one thread.
    public static func inMemory() throws(StoreError) -> SQLiteWriter { try SQLiteWriter() }

    /// Makes an empty store in a temporary file, which is removed with the writer. Others open it by its ``SQLiteFile/name``, also
    /// on other threads.
    public static func temporary(journal: Journal = .wal) throws(StoreError) -> SQLiteWriter {
        let file = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString).sqlite")
        let writer = try SQLiteWriter(path: file.path, create: true, journal: journal)
        writer.isTemporary = true
        return writer
    }

    /// Opens an empty store in memory.
    private init() throws(StoreError) {
        try super.init(Self.inMemoryPath, Self.configuration(readOnly: false, .seconds(5)), modelPath: nil)
    }

    deinit {
        guard isTemporary else { return }
        close()
        for end in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: name + end) }
    }

    /// Opens a file that must belong to an owner; another file stays as it is. A missing or empty file becomes the owner's.
    package init(
        path: String, create: Bool = false, journal: Journal = .rollback, busyTimeout: Duration = .seconds(5),
        modelPath: String? = nil, owner: FileOwner?
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
        if create, journal == .wal { try beginWAL() }
        try preferFewSyncs()
        try noteIdentity()
        if let owner { try claim(for: owner) }
    }

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
    func confirmIdentity(_ db: Database, and other: SQLiteFile) throws(StoreError) {
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
        try StoreFile.requireDatabase(path)
    }
}
