import Foundation
import GRDB
import GRDBSQLite
public import PriceObjects
public import PriceStore

/// One connection to a SQLite file, and what readers and writers have in common. Open a file as ``SQLiteReader`` or ``SQLiteWriter``.
///
/// ```swift
/// try writer.transaction(.normal) {
///     _ = try writer.insertObject(entity: "price", values: [:])
///     _ = try writer.execute(BatchInsertRequest(entity: "price", objects: [[:], [:]]))
/// }
/// ```
public class SQLiteFile: StoreHistory, StoreQueries {
    /// The path as given.
    public let name: String
    /// The file's path with links resolved. Object IDs carry it.
    public let storeIdentifier: String
    let isReadOnly: Bool
    private var queue: DatabaseQueue
    private let configuration: Configuration
    private let modelPath: String?
    private var transactionDepth = 0
    private var runDepth = 0

    /// Called once for each distinct statement, before its first execution, with its query plan.
    package var trace: ((_ statement: String, _ plan: [String]) -> Void)?
    private var traced: Set<String> = []

    /// What the catalog has read of the schema; emptied when the schema changes.
    var catalog: SQLiteCatalog
    var temporaries = Temporaries()
    private(set) var functions = ConnectionFunctions()
    /// What reaches the store itself, while ``queue`` reaches a copy with rehearsed rows.
    private(set) var original: (queue: DatabaseQueue, functions: ConnectionFunctions)?
    package var heldFromReplacing: [HeldRows] = []
    package var rowsToKeep = RowsToKeep()
    package var looksAtRowsToKeep: Bool { true }
    package var didBeginPhase: ((String) -> Void)?
    var otherUsers = OtherUsers()
    /// The text of the last INSERT of one row, for the next one.
    var lastInsert: (target: String, columns: [String], onConflict: ConflictPolicy, text: String)?
    /// What this connection has changed, as far as ``ChangeMark`` needs it.
    var changes = OwnChanges()

    static func configuration(readOnly: Bool, _ busyTimeout: Duration) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.label = "retention"
        // Triggers, views and constraints of the store are read as its own programs read them; see QuotedName.swift.
        configuration.acceptsDoubleQuotedStringLiterals = true
        // A reader changes nothing, and compiles what a writer would execute.
        configuration.foreignKeysEnabled = true
        let milliseconds =
            busyTimeout.components.seconds * 1000 + busyTimeout.components.attoseconds / 1_000_000_000_000_000
        configuration.busyMode = .timeout(Double(milliseconds) / 1000)
        configuration.prepareDatabase { db in
            endWithTask(db)
            wait(upTo: Int32(clamping: milliseconds), db)
            // GRDB's authorizer notes each column that a statement reads, for observers, which there are none of.
            sqlite3_set_authorizer(db.sqliteConnection, nil, nil)
        }
        return configuration
    }

    /// Opens a file that was checked to be a database.
    init(_ path: String, _ configuration: Configuration, modelPath: String?) throws(StoreError) {
        name = path
        self.configuration = configuration
        self.modelPath = modelPath
        catalog = SQLiteCatalog(store: path, modelPath: modelPath)
        isReadOnly = configuration.readonly
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
        } catch {
            throw StoreError(error, store: path, doing: "the store cannot be opened")
        }
        storeIdentifier =
            path == SQLiteFile.inMemoryPath ? "\(path) \(UUID().uuidString)" : StoreFile.identifier(of: path)
    }

    /// SQLite's path of a store in memory, which each connection has for itself.
    static let inMemoryPath = ":memory:"

    /// Makes statements end when the task that runs them is cancelled. No second thread is needed, so a cancellation between two statements
    /// is not lost.
    static func endWithTask(_ db: Database) {
        sqlite3_progress_handler(db.sqliteConnection, 4000, { _ in Task.isCancelled ? 1 : 0 }, nil)
    }

    package private(set) var fixedElapsed = Duration.zero
    /// How long commits of this process have taken, in stores and archives.
    private static let committing = LockedValue(Duration.zero)

    /// Runs a commit, and adds its time.
    static func timingCommit(_ commit: () throws -> Void) rethrows {
        let began = ContinuousClock.now
        try commit()
        committing.withLock { $0 += ContinuousClock.now - began }
    }

    /// How long statements of this process have waited for locks, in milliseconds.
    static let waited = LockedValue(0)

    /// Makes statements wait for a lock up to that many milliseconds, in SQLite's own steps, but not after their task is cancelled.
    static func wait(upTo patience: Int32, _ db: Database) {
        sqlite3_busy_handler(
            db.sqliteConnection,
            { patience, attempt in
                let pauses = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50]
                let count = Int(attempt)
                let waited = pauses.prefix(count).reduce(0, +) + max(0, count - pauses.count) * 100
                let pause = min(count < pauses.count ? pauses[count] : 100, Int(bitPattern: patience) - waited)
                guard pause > 0, !Task.isCancelled else { return 0 }
                SQLiteFile.waited.withLock { $0 += pause }
                sqlite3_sleep(Int32(pause))
                return 1
            }, UnsafeMutableRawPointer(bitPattern: Int(patience)))
    }

    /// How long statements wait for a lock, in milliseconds.
    var patience: Int32 {
        guard case .timeout(let seconds) = configuration.busyMode else { return 0 }
        return Int32(clamping: Int(seconds * 1000))
    }

    /// An error of the store.
    func failure(
        _ kind: StoreError.Kind, _ message: String, engineCode: String? = nil, hint: String? = nil
    ) -> StoreError {
        StoreError(kind, store: name, message: message, engineCode: engineCode, hint: hint)
    }

    func checkTask() throws(StoreError) {
        if Task.isCancelled { throw .cancelled(name) }
    }

    /// Throws unless the open file is the one that was checked before.
    func confirm(_ checked: StoreFile.Number?) throws(StoreError) {
        if let checked { try run("opening the store") { try StoreFile.confirm(checked, at: name, $0) } }
    }

    /// Opens another connection to the same file, or to a copy of a store in memory.
    ///
    /// - Parameter forProbes: whether it only reads, without foreign keys.
    func sibling(forProbes: Bool = false) throws(StoreError) -> SQLiteFile {
        var configuration = configuration
        if forProbes { (configuration.readonly, configuration.foreignKeysEnabled) = (true, false) }
        let isInMemory = name == SQLiteFile.inMemoryPath
        if isInMemory { configuration.readonly = false }
        let sibling = try SQLiteFile(name, configuration, modelPath: modelPath)
        if isInMemory {
            try run("copying the store") { db in try sibling.queue.unsafeReentrantWrite { try db.backup(to: $0) } }
        }
        return sibling
    }

    /// Closes the file and discards everything that belongs to the connection.
    func close() { try? queue.close() }

    /// Has all further work done on a copy of the store. SQLite keeps what does not fit into memory in a file without a name, which is gone
    /// with the process. The store is read while it is copied, and not afterwards.
    ///
    /// - Parameter check: called with the store before anything is copied.
    func beginRehearsal(_ check: (Database) throws -> Void) throws(StoreError) {
        let copy = try run("copying the store for a rehearsal") { db in
            var configuration = configuration
            configuration.readonly = false
            let copy = try DatabaseQueue(path: "", configuration: configuration)
            try snapshot(db) {
                try check(db)
                try copy.unsafeReentrantWrite {
                    try db.backup(to: $0, pagesPerStep: 1000) { _ in try self.checkTask() }
                }
            }
            return copy
        }
        original = (queue, functions)
        use(copy, ConnectionFunctions())
    }

    /// Has all further work done on the store itself again.
    func endRehearsal() {
        guard let original else { return }
        self.original = nil
        use(original.queue, original.functions)
    }

    private func use(_ queue: DatabaseQueue, _ functions: ConnectionFunctions) {
        (self.queue, self.functions) = (queue, functions)
        changes = OwnChanges()
        temporaries = Temporaries()
        catalog = SQLiteCatalog(store: name, modelPath: modelPath)
    }

    /// Runs `body` on the connection. Errors name the work.
    func run<T>(_ what: String, _ body: (Database) throws -> T) throws(StoreError) -> T {
        do {
            return try queue.unsafeReentrantWrite { db in
                // Work after a commit is not cancelled: the error would claim that everything was rolled back.
                if runDepth == 0 || db.isInsideTransaction { try checkTask() }
                runDepth += 1
                defer { runDepth -= 1 }
                let known = temporaries.keyLists.count
                defer { dropKeyLists(beyond: known, db) }
                do { return try body(db) } catch { throw storeError(error, doing: what, db) }
            }
        } catch {
            throw StoreError(error, store: name, doing: what)
        }
    }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { queue.unsafeReentrantWrite(\.isInsideTransaction) }

    /// Runs `body` in one transaction; nested ones are savepoints. A reader's transaction is a snapshot.
    public func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T {
        try queue.unsafeReentrantWrite { db in
            if db.isInsideTransaction {
                transactionDepth += 1
                defer { transactionDepth -= 1 }
                let name = "retention_\(transactionDepth)"
                return try forgettingTables {
                    try enclosed(
                        db, begin: "SAVEPOINT \(name)", end: "RELEASE \(name)",
                        undo: "ROLLBACK TO \(name); RELEASE \(name)", body)
                }
            }
            let synchronous = try setDurability(durability, db)
            defer { if let synchronous { try? db.execute(sql: "PRAGMA main.synchronous = \(synchronous)") } }
            return try forgettingTables {
                try enclosed(
                    db, begin: isReadOnly ? "BEGIN DEFERRED" : "BEGIN IMMEDIATE", end: "COMMIT", undo: "ROLLBACK"
                ) { try carryOut(body, db) }
            }
        }
    }

    /// Runs a transaction that may create tables. If it fails they are gone, so what is known of them is discarded.
    private func forgettingTables<T>(_ transaction: () throws -> T) rethrows -> T {
        let known = catalog
        do {
            return try transaction()
        } catch {
            catalog = known
            throw error
        }
    }

    /// Runs the body of a transaction that has begun.
    func carryOut<T>(_ body: () throws -> T, _ db: Database) throws -> T {
        // A deferred transaction begins with its first read.
        _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
        return try body()
    }

    /// Runs several queries on one state of the store.
    func snapshot<T>(_ db: Database, _ body: () throws -> T) throws -> T {
        if db.isInsideTransaction { return try body() }
        return try enclosed(db, begin: "BEGIN DEFERRED", end: "COMMIT", undo: "ROLLBACK", body)
    }

    private func enclosed<T>(
        _ db: Database, begin: String, end: String, undo: String, _ body: () throws -> T
    ) throws -> T {
        let committed = Self.committing.withLock { $0 }
        do {
            try db.execute(sql: begin)
        } catch {
            throw StoreError(error, store: name, doing: "a transaction cannot begin")
        }
        let known = temporaries
        do {
            let value = try body()
            // A statement may end before it notices a cancellation.
            try checkTask()
            try Self.timingCommit { try db.execute(sql: end) }
            if !db.isInsideTransaction { fixedElapsed = Self.committing.withLock { $0 } - committed }
            return value
        } catch {
            // SQLite may have rolled back by itself (disk full, I/O error). Then nothing is left to roll back.
            if db.isInsideTransaction { try? db.execute(sql: undo) }
            // The temporary tables that the transaction created are gone.
            temporaries.rollBack(to: known)
            guard error is DatabaseError else { throw error }
            throw storeError(error, doing: "the transaction is rolled back", db)
        }
    }

    /// Sets `synchronous` for a transaction. Returns the former value, or nil if it was not changed.
    ///
    /// `FULL` is not enough in rollback-journal mode: removing the journal is the commit, and only `EXTRA` syncs the folder after it. A
    /// journal that reappeared would undo a commit that the caller relies on. Source: sqlite.org/pragma.html#pragma_synchronous.
    private func setDurability(_ durability: Durability, _ db: Database) throws -> Int? {
        guard durability == .full, !isReadOnly else { return nil }
        let before = try Int.fetchOne(db, sql: "PRAGMA main.synchronous") ?? 2
        guard before < 3 else { return nil }
        try db.execute(sql: "PRAGMA main.synchronous = EXTRA")
        return before
    }

    /// A cached statement with its arguments bound.
    func statement(_ fragment: SQLFragment, _ db: Database) throws -> Statement {
        if let trace, traced.insert(fragment.text).inserted { trace(fragment.text, try plan(fragment, db)) }
        let statement = try db.cachedStatement(sql: fragment.text)
        let handle = statement.sqliteStatement
        // GRDB ends if this says that the last step failed.
        sqlite3_reset(handle)
        // GRDB cuts a text at its first NUL, and takes ten times as long to bind.
        statement.setUncheckedArguments([])
        guard sqlite3_bind_parameter_count(handle) == Int32(fragment.arguments.count) else {
            throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "wrong number of arguments", sql: fragment.text)
        }
        for (index, argument) in fragment.arguments.enumerated() {
            let code = argument.bind(handle, Int32(index + 1))
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
        return statement
    }

    /// A cached statement. The caller binds its arguments.
    func unboundStatement(_ text: String, _ db: Database) throws -> Statement {
        if let trace, traced.insert(text).inserted { trace(text, []) }
        return try db.cachedStatement(sql: text)
    }

    func execute(_ fragment: SQLFragment, _ db: Database) throws {
        try statement(fragment, db).execute()
    }

    func row(_ fragment: SQLFragment, _ db: Database) throws -> [StoreValue]? {
        try rows(fragment, db, limit: 1).first
    }

    func exists(_ query: SQLFragment, _ db: Database) throws -> Bool { try row("\(query) LIMIT 1", db) != nil }

    /// The rows of a query, at most `limit`.
    func rows(_ fragment: SQLFragment, _ db: Database, limit: Int = .max) throws -> [[StoreValue]] {
        let statement = try statement(fragment, db)
        let cursor = try Row.fetchCursor(statement)
        let columns = 0..<Int32(statement.columnCount)
        var rows: [[StoreValue]] = []
        while rows.count < limit, try cursor.next() != nil {
            rows.append(columns.map { StoreValue(statement.sqliteStatement, column: $0) })
        }
        // A cursor that was not read to its end would keep the read lock.
        sqlite3_reset(statement.sqliteStatement)
        return rows
    }

    /// The first column of the first row as a count, or 0 without a row.
    func count(_ fragment: SQLFragment, _ db: Database) throws -> Int {
        guard case .integer(let value)? = try row(fragment, db)?.first else { return 0 }
        return Int(value)
    }

    private func plan(_ fragment: SQLFragment, _ db: Database) throws -> [String] {
        try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + fragment.text, arguments: fragment.statementArguments)
            .map { $0["detail"] as String }
    }

    /// The number that a pragma of the store returns.
    func pragma(_ name: String, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA main.\(name)") ?? 0
    }

    /// `sqlite`.
    public var engine: String { "sqlite" }

    /// The names of all tables, views and virtual tables.
    public func entityNames() throws(StoreError) -> [String] {
        try run("reading the schema") { try catalog.names($0) }
    }

    /// The table, view or virtual table with that name, ignoring case.
    public func entity(named name: String) throws(StoreError) -> Entity? {
        try run("reading the schema") { try catalog.table(name, $0)?.entity }
    }
}
