@preconcurrency import Glibc
public import PriceStore

/// A session on a PostgreSQL database. It runs statements, manages transactions, and reconnects after a loss. ``PostgresReader`` and
/// ``PostgresWriter`` open one.
public class PostgresDatabase {
    /// Whether this build can open a database: it was built with libpq.
    public static var isAvailable: Bool { ServerLink.libraryVersion != nil }

    /// The options of a session.
    struct Options {
        var isReadOnly: Bool
        /// The time zone of the session and of values without a zone.
        var zone = CalendarZone.utc
        /// How long to wait for a lock.
        var lockTimeout = Duration.seconds(5)
        /// How long to wait for a lost server.
        var patience = Duration.seconds(20)
        /// How far a standby may fall behind before batches wait; nil for no limit.
        var maxReplicationLag: Duration?
    }

    let address: PostgresAddress
    let options: Options
    /// `postgresql`.
    public var engine: String { "postgresql" }
    /// The URL without its password.
    public let name: String
    /// The server and the database, however their URL is written. Object IDs contain it.
    public private(set) var storeIdentifier = ""
    private(set) var link: ServerLink
    package var isStopped: () -> Bool = { false }
    private(set) var transactionDepth = 0
    package private(set) var fixedElapsed = Duration.zero

    /// Called with each distinct statement and its query plan before its first execution, except for statements that read only the server's
    /// catalog.
    public var trace: ((_ statement: String, _ plan: [String]) -> Void)?
    var traced: Set<String> = []

    /// What is known of the schema. A change of the schema empties it.
    var catalog = PostgresCatalog()
    /// The kept rows that were found, as ``KeptRows`` or ``ThinnedRows``, and the state of the database in which they were.
    var foundRows: [Keeper.Key: (rows: Any, state: String?)] = [:]
    /// The rows that rules keep, listed for the batches of the current deletion.
    var keptTables: [Keeper.Key: KeptTables] = [:]
    /// Whether the current batch looks kept rows up in lists. Otherwise it finds them itself.
    var looksUpKeptRows = false
    /// A readable row that was left after the last batch, by the `oid` of the table: its real table, and its `ctid`, which rows of chunks
    /// may not have.
    var lastSeen: [Int: (table: Int, place: String?)] = [:]
    /// The tables of a rehearsal, by the `oid` of the real table.
    var shadows: [Int: ShadowTable] = [:]
    package var heldFromReplacing: [HeldRows] = []
    package var rowsToKeep = RowsToKeep()
    package var looksAtRowsToKeep: Bool { false }
    package var didBeginPhase: ((String) -> Void)?
    /// The tables from which batches have deleted, in SQL, for a reclaim.
    var changedTables: Set<String> = []
    /// The slices of a delete, by the table's `oid`.
    var slices: [Int: DateSlices] = [:]
    /// The distributed tables whose rows have changed since their slices were counted, by `oid`.
    var changedSlices: Set<Int> = []
    /// How long batches have waited for others, in attempts that were rolled back.
    var waited = Duration.zero
    /// The parts of compressed chunks that a delete processes first, by the table's `oid`.
    var segments: [Int: [SegmentPart]] = [:]
    var chunkPortion = 64
    /// Who blocks the drop of partitions or chunks, so that their rows are deleted instead; nil if nobody does.
    var dropTrouble: String?
    /// Copies rows to the archive of the run; nil if there is none.
    var archiver: RowArchiver?
    /// The delay of standbys that was seen.
    var standbyDelay = StandbyDelay()
    /// Whether this session holds the lock of a run, and takes it again after a lost connection.
    var holdsRunLock = false

    init(_ address: PostgresAddress, _ options: Options) throws(StoreError) {
        self.address = address
        self.options = options
        name = address.displayName
        link = try Self.open(address, options, name: name)
        let place = link.place
        storeIdentifier = "postgresql://\(place.host):\(place.port)/\(place.database)"
    }

    private static func open(
        _ address: PostgresAddress, _ options: Options, name: String
    ) throws(StoreError) -> ServerLink {
        let parameters = try address.parameters()
        do throws(ServerFault) {
            var link = try ServerLink.open(parameters)
            do throws(ServerFault) {
                try prepare(link, options)
            } catch  where error.isConnectionLost {
                // The server is running, but cut the session off at its start.
                link = try ServerLink.open(parameters)
                try prepare(link, options)
            }
            return link
        } catch {
            var fault = error
            fault.message = address.withoutSecrets(fault.message)
            throw StoreError(fault, store: name, doing: "the database cannot be opened")
        }
    }

    private static func prepare(_ link: ServerLink, _ options: Options) throws(ServerFault) {
        let began = try link.execute(script: setup(options)).rows.first?.texts ?? []
        link.began = began.first ?? nil
        let schemas = ServerArray.elements(began.last.flatMap(\.self) ?? "{}").compactMap(\.self)
        let earlier = schemas.prefix { $0 != "pg_catalog" }.first { !$0.hasPrefix("pg_temp_") }
        if let earlier {
            throw ServerFault(
                message: "the search_path names the schema \(earlier) before pg_catalog, so that its operators and "
                    + "functions take the place of PostgreSQL's own",
                isPathWrong: true)
        }
        try avoidKnownDefects(link)
    }

    /// The settings on which statements and results depend, and a query for the start of the session and the schemas of its search path.
    /// Until these are known, names of functions and operators are written with their schema.
    private static func setup(_ options: Options) -> String {
        var settings = [
            "TimeZone = \(options.zone.identifier.quotedLiteral)", "DateStyle = 'ISO, MDY'",
            "IntervalStyle = 'postgres'", "extra_float_digits = 1",
            "bytea_output = 'hex'", "array_nulls = on",
            "client_min_messages = 'error'", "standard_conforming_strings = on", "statement_timeout = 0",
            "lock_timeout = \(max(1, options.lockTimeout.milliseconds))", "idle_in_transaction_session_timeout = 0",
            // Compiling costs more than it saves in these statements.
            "jit = off",
            // A window of a table must begin where the last one ended.
            "synchronize_seqscans = off",
        ]
        if options.isReadOnly {
            settings.append("default_transaction_read_only = on")
        } else {
            // The next run deletes a lost batch again. Whatever must not be lost requests a synchronous commit.
            settings.append("synchronous_commit = off")
        }
        // A role may have another value, with which foreign keys and triggers do nothing. A user who may not change it is refused.
        let role = "'session_replication_role'"
        // After a kill of this process the server notices that nobody waits for the statement.
        let interval = "'client_connection_check_interval'"
        return settings.map { "SET \($0); " }.joined()
            + "SELECT pg_catalog.set_config(\(role), 'origin', false) "
            + "WHERE pg_catalog.current_setting(\(role)) OPERATOR(pg_catalog.<>) 'origin'; "
            + "SELECT pg_catalog.set_config(\(interval), '1s', false) "
            + "WHERE pg_catalog.version() OPERATOR(pg_catalog.~~) '%linux%'; "
            + "SELECT backend_start, pg_catalog.current_schemas(true) FROM pg_catalog.pg_stat_activity "
            + "WHERE pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
    }

    // MARK: Work

    /// Runs work, and gives its errors a name. After a lost connection it reconnects within the session's patience and repeats the work,
    /// unless the work is part of a transaction or must not be repeated.
    func run<T>(_ what: String, isRepeatable: Bool = true, _ body: () throws -> T) throws(StoreError) -> T {
        let end = ContinuousClock.now + options.patience
        while true {
            do {
                return try body()
            } catch {
                let storeError = StoreError(error, store: name, doing: what)
                guard storeError.kind == .unreachable, isRepeatable, transactionDepth == 0, ContinuousClock.now < end
                else {
                    throw storeError
                }
                try reconnect(after: storeError)
            }
        }
    }

    func reconnect(after error: StoreError) throws(StoreError) {
        if link.isOpen {
            // A server behind this one is lost. The session still exists and holds its lock, for which a second session would wait.
            usleep(500_000)
            return
        }
        var former = session
        let takesLock = holdsRunLock
        let end = ContinuousClock.now + options.patience
        var pause = Duration.milliseconds(100)
        while true {
            do throws(StoreError) {
                link = try Self.open(address, options, name: name)
                if takesLock { try lockRun(insteadOf: former) }
                break
            } catch {
                // A session that is cut off while it takes the lock may hold it.
                (former, holdsRunLock) = (session, takesLock)
                let mayPass = error.kind == .unreachable || error.kind == .busy && !link.isOpen
                guard mayPass, ContinuousClock.now + pause < end else { throw error }
            }
            usleep(UInt32(pause.milliseconds) * 1000)
            pause = min(pause * 2, .seconds(1))
        }
        transactionDepth = 0
        catalog = PostgresCatalog(after: catalog)
        keptTables = [:]
        recoverPrepared()
        guard shadows.isEmpty else { throw error }
    }

    /// Releases the rows that a lost session has locked on the workers of a Citus cluster. A user without the privilege waits.
    private func recoverPrepared() {
        guard !options.isReadOnly, (try? schema(ofExtension: "citus")) ?? nil != nil else { return }
        _ = try? link.execute(CitusSQL.recoverPrepared, [])
    }

    /// The process ID of the server process for the session, and its start in the server's words; nil before its first statement. Together
    /// they name the session, also after its end.
    var session: (process: Int, began: String?) { (link.serverProcess, link.began) }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { transactionDepth > 0 }

    /// Runs `body` in a transaction; a nested transaction is a savepoint. A reader's transaction is read-only and sees one state of the
    /// database throughout.
    public func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T {
        if transactionDepth > 0 {
            let savepoint = "retention_\(transactionDepth)"
            return try enclosed(
                begin: "SAVEPOINT \(savepoint)", end: "RELEASE SAVEPOINT \(savepoint)",
                undo: "ROLLBACK TO SAVEPOINT \(savepoint); RELEASE SAVEPOINT \(savepoint)"
            ) { _ in try body() }
        }
        let begin =
            options.isReadOnly
            ? "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
            : durability == .full ? "BEGIN; SET LOCAL synchronous_commit = on" : "BEGIN"
        return try enclosed(begin: begin, end: "COMMIT", undo: "ROLLBACK") { _ in try body() }
    }

    /// Runs a batch in one transaction, with a statement timeout of minutes. It retries after a deadlock, a serialization failure or an
    /// unavailable lock.
    ///
    /// - Parameters:
    ///   - usesOnePlan: whether repeated statements are planned once, whatever their values.
    ///   - locks: a statement that runs before the transaction sees a state of the database; empty for none.
    ///   - waitsBriefly: whether an attempt waits for only 50 ms for a lock, and is repeated after growing pauses for the time of
    ///     ``Options/lockTimeout``. What the attempt has locked before, others wait for.
    func batch<T>(
        _ what: String, isolation: String = "READ COMMITTED", usesOnePlan: Bool = false, locks: String = "",
        waitsBriefly: Bool = false,
        _ body: () throws -> T
    ) throws(StoreError) -> T {
        guard transactionDepth == 0 else { return try run(what) { try transaction(.normal, body) } }
        var failures = 0
        let (lockEnd, lossEnd) = (ContinuousClock.now + options.lockTimeout, ContinuousClock.now + options.patience)
        let wait =
            (waitsBriefly ? "SET LOCAL lock_timeout = \(Self.briefWait); " : "") + locks
        while true {
            let began = ContinuousClock.now
            // A commit without an answer may have succeeded.
            var committing: (xid: Int?, value: T)?
            do {
                return try enclosed(
                    begin: "BEGIN ISOLATION LEVEL \(isolation); SET LOCAL statement_timeout = '10min'; "
                        + wait + "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL plan_cache_mode = "
                        + (usesOnePlan ? "force_generic_plan" : "auto") + "; SELECT pg_current_xact_id()",
                    end: "COMMIT", undo: "ROLLBACK", isStopped: stopFromNow()
                ) { begun in
                    let xid = try begun.rows.first?.int("pg_current_xact_id")
                    let value = try body()
                    committing = (xid, value)
                    return value
                }
            } catch {
                let storeError = StoreError(error, store: name, doing: what)
                waited += ContinuousClock.now - began
                failures += 1
                if isStopped(), storeError.isLockUnavailable {
                    throw StoreError(.cancelled, store: name, message: "\(what): stopped before its end")
                }
                if storeError.kind == .unreachable {
                    try reconnect(after: storeError)
                    if let committing, let xid = committing.xid, try isCommitted(xid) {
                        return committing.value
                    }
                    guard ContinuousClock.now < lossEnd else { throw storeError }
                } else if storeError.isWorthRepeating, failures < 5 || waitsBriefly && ContinuousClock.now < lockEnd {
                    recoverPrepared()
                    usleep(UInt32(20_000 << min(failures, 5)))
                } else {
                    throw storeError
                }
            }
        }
    }

    /// The wait for a lock in an attempt that waits briefly, in milliseconds.
    static let briefWait = 50

    private func isCommitted(_ xid: Int) throws(StoreError) -> Bool {
        do {
            return try texts("SELECT pg_xact_status(" + .bound("\(xid)", "xid8") + ")") == ["committed"]
        } catch let fault as ServerFault where fault.code == "22023" {
            // The `xid` is still in the future: a standby took over that has not received the batch.
            return false
        } catch {
            throw StoreError(error, store: name, doing: "checking whether a batch was committed")
        }
    }

    /// Runs several queries on one state of the database.
    ///
    /// - Parameter table: a table that is locked against TRUNCATE and DROP before that state is taken, in SQL; nil: none is. A table that is
    ///   emptied and filled again later would count as empty.
    func snapshot<T>(of table: String? = nil, _ body: () throws -> T) throws -> T {
        // A failed statement would abort the enclosing transaction.
        if transactionDepth > 0 { return try transaction(.normal, body) }
        let lock = table.map { "; LOCK TABLE \($0) IN ACCESS SHARE MODE" } ?? ""
        return try enclosed(
            begin: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY" + lock, end: "COMMIT", undo: "ROLLBACK",
            isStopped: stopFromNow()
        ) { _ in try body() }
    }

    /// ``isStopped`` for what begins now: what a signal has already stopped is followed by counts and a report.
    private func stopFromNow() -> () -> Bool { isStopped() ? { false } : isStopped }

    /// - Parameters:
    ///   - isStopped: whether `begin` and the statements of `body` should end.
    ///   - body: gets the result of the last statement of `begin`.
    private func enclosed<T>(
        begin: String, end: String, undo: String, isStopped: @escaping () -> Bool = { false },
        _ body: (ServerResult) throws -> T
    ) throws -> T {
        let begun: ServerResult
        let former = link.isStopped
        link.isStopped = { former() || isStopped() }
        defer { link.isStopped = former }
        let (began, isOuter) = (ContinuousClock.now, transactionDepth == 0)
        do {
            begun = try link.execute(script: begin)
        } catch {
            if transactionDepth == 0, link.isOpen, link.isInTransaction { _ = try? link.execute(script: undo) }
            throw StoreError(error, store: name, doing: "a transaction cannot begin")
        }
        let (way, sent) = (ContinuousClock.now - began, link.messageCount)
        transactionDepth += 1
        defer { transactionDepth = max(0, transactionDepth - 1) }
        let (known, found, listed) = (catalog, foundRows, keptTables)
        do {
            let value = try body(begun)
            if Task.isCancelled { throw StoreError.cancelled(name) }
            link.isStopped = former
            let ending = ContinuousClock.now
            _ = try link.execute(script: end)
            // Each message travels as long as the first one, whatever it deletes.
            if isOuter { fixedElapsed = ContinuousClock.now - ending + way * (link.messageCount - sent) }
            return value
        } catch {
            link.isStopped = former
            if link.isOpen, link.isInTransaction { _ = try? link.execute(script: undo) }
            (catalog, foundRows, keptTables) = (known, found, listed)
            guard error is ServerFault else { throw error }
            throw StoreError(error, store: name, doing: "the transaction is rolled back")
        }
    }
}
