@preconcurrency import Glibc
public import PriceStore

/// One session on a database: it opens the session again after a loss, runs statements, and manages transactions. A
/// database is opened as ``PostgresReader`` or ``PostgresWriter``.
public class PostgresConnection {
    /// What is asked of a session when it is opened.
    struct Options {
        var isReadOnly: Bool
        /// The zone of zone-less values, and the session's own.
        var zone = CalendarZone.utc
        /// How long a lock is waited for.
        var lockTimeout = Duration.seconds(5)
        /// How long the job waits for a lost server.
        var patience = Duration.seconds(20)
        /// How far a standby may fall behind before batches wait; nil: it does not matter.
        var maxReplicationLag: Duration?
        /// From which age on a transaction of others slows batches down.
        var oldTransaction = Duration.seconds(300)
    }

    let address: PostgresAddress
    let options: Options
    /// The URL without its password.
    public let name: String
    /// The server and the database, however they were named; object IDs carry it.
    public private(set) var storeIdentifier = ""
    private var link: ServerLink
    private(set) var transactionDepth = 0

    /// Called with each different statement before its first execution, with its query plan; not those that only read the
    /// server's catalog.
    public var trace: ((_ statement: String, _ plan: [String]) -> Void)?
    private var traced: Set<String> = []

    /// What the catalog knows; emptied when the schema changes.
    var catalog = PostgresCatalog()
    /// Thresholds of kept rows, found when first asked for.
    var keptRows: [Keeper.Key: (rows: KeptRows, state: String?)] = [:]
    /// The picks of rules that thin, found when first asked for.
    var thinnedRows: [Keeper.Key: (rows: ThinnedRows, state: String?)] = [:]
    /// The rows that rules keep, listed for the batches of the current deletion.
    var keptTables: [Keeper.Key: KeptTables] = [:]
    /// Whether the current batch looks listed rows up. Otherwise it finds kept rows itself.
    var looksUpKeptRows = false
    /// A readable row that is known to be left, by the `oid` of the table.
    var lastSeen: [Int: RowPlace] = [:]
    /// Tables that stand beside real ones for a rehearsal, by the real one's `oid`.
    var shadows: [Int: ShadowTable] = [:]
    package var heldFromReplacing: [HeldRows] = []
    package var rowsToKeep = RowsToKeep()
    package var looksAtRowsToKeep: Bool { false }
    package var didBeginPhase: ((String) -> Void)?
    /// Tables that batches have deleted from, in SQL, for a reclaim.
    var changedTables: Set<String> = []
    /// The slices that a delete goes through, by the table's `oid`.
    var slices: [Int: DateSlices] = [:]
    /// The parts of compressed chunks that a delete goes through first, by the table's `oid`.
    var segments: [Int: [SegmentPart]] = [:]
    /// By the `oid` of a hypertable: transactions whose changes of it the server has noted over remaining rows.
    private(set) var notedXIDs: [Int: [String]] = [:]
    private var batchXID: Int?
    /// How many chunks the next drop takes.
    var chunkPortion = 64
    /// Who keeps partitions or chunks from being dropped, so that their rows are deleted instead; nil: nobody.
    var dropTrouble: String?
    /// What surveys have found, for the deletions that follow.
    var surveys = SurveyMemory<Findings>()
    /// What copies rows to the archive of the run; nil: none was begun.
    var archiver: RowArchiver?
    /// How far standbys were seen to be behind.
    var standbyDelay = StandbyDelay()
    /// Whether a transaction of others was old when that was asked last.
    var heldBack: (asked: ContinuousClock.Instant, answer: Bool)?
    /// Whether this session holds the lock of a run and must take it again after a lost connection.
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
            var link = try ServerLink.open(parameters, timeout: .seconds(10))
            do throws(ServerFault) {
                try prepare(link, options)
            } catch  where error.isConnectionLost {
                // The server is there, but has cut off the session as it began.
                link = try ServerLink.open(parameters, timeout: .seconds(10))
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
        _ = try link.execute(script: setup(options))
        try avoidKnownDefects(link)
    }

    /// The settings that our statements and readings rest on.
    private static func setup(_ options: Options) -> String {
        var settings = [
            "TimeZone = \(options.zone.identifier.quotedLiteral)", "DateStyle = 'ISO, MDY'",
            "IntervalStyle = 'postgres'", "extra_float_digits = 1",
            "bytea_output = 'hex'", "array_nulls = on",
            "client_min_messages = 'error'", "standard_conforming_strings = on", "statement_timeout = 0",
            "lock_timeout = \(max(1, options.lockTimeout.milliseconds))", "idle_in_transaction_session_timeout = 0",
            // Compiling a statement costs more than it saves on all of ours.
            "jit = off",
            // A window of a table begins where the last one ended.
            "synchronize_seqscans = off",
        ]
        if options.isReadOnly {
            settings.append("default_transaction_read_only = on")
        } else {
            // A lost batch is deleted again by the next run; what must not be lost asks for it.
            settings.append("synchronous_commit = off")
        }
        // With another value, which a role may have, foreign keys and triggers do nothing. Who may not change it is refused.
        let role = "'session_replication_role'"
        return settings.map { "SET \($0); " }.joined()
            + "SELECT set_config(\(role), 'origin', false) WHERE current_setting(\(role)) <> 'origin'"
    }

    // MARK: Statements

    /// Carries out a statement.
    ///
    /// - Parameter isRepeated: whether it is repeated with other values, and one plan is enough for all. To plan a range of an
    ///   index the server looks for its first entry, and has to step over all that were deleted there a moment ago.
    @discardableResult
    func execute(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> ServerResult {
        let (text, values) = fragment.statement
        if let trace, !Self.isAboutCatalog(text), traced.insert(text).inserted { trace(text, plan(text, values)) }
        return try isRepeated ? link.execute(repeated: text, values) : link.execute(text, values)
    }

    /// Carries out a statement without values.
    @discardableResult
    func execute(_ text: String) throws -> ServerResult { try execute(SQLFragment(text)) }

    /// Carries out several statements without values, in one message.
    func execute(script statements: [String]) throws {
        if let trace {
            for text in statements where traced.insert(text).inserted { trace(text, []) }
        }
        _ = try link.execute(script: statements.joined(separator: "; "))
    }

    /// The rows of a query.
    func rows(_ fragment: SQLFragment) throws -> [ServerRow] { try execute(fragment).rows }

    /// The first row of a query; nil: it finds none.
    func row(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> ServerRow? {
        try execute(fragment, isRepeated: isRepeated).rows.first
    }

    /// Reads the rows of a query, 10,000 at a time, inside a transaction.
    func forEachPortion(of query: SQLFragment, _ body: (ServerResult) throws -> Void) throws {
        try execute("DECLARE retention_rows NO SCROLL CURSOR FOR " + query)
        while true {
            let found = try execute("FETCH 10000 FROM retention_rows")
            try body(found)
            guard found.rows.count == 10_000 else { break }
        }
        try execute("CLOSE retention_rows")
    }

    /// The values of a query's only column; NULL is left out.
    func texts(_ fragment: SQLFragment) throws -> [String] {
        let result = try execute(fragment)
        guard result.columns.count == 1 else { throw ColumnFault(description: "a statement has not one column") }
        return result.rows.compactMap { $0.texts[0] }
    }

    /// The values of a query's only column as whole numbers.
    func numbers(_ fragment: SQLFragment) throws -> [Int] {
        try texts(fragment).map { text in
            guard let number = Int(text) else { throw ColumnFault(description: "a statement gave no whole number") }
            return number
        }
    }

    /// The numbers of some expressions, in their order.
    func numbers(ofEach expressions: [String]) throws -> [Int] {
        guard !expressions.isEmpty else { return [] }
        return try numbers(SQLFragment("SELECT unnest(ARRAY[\(expressions.joined(separator: ", "))])"))
    }

    /// A query's only value as a number; 0: it is NULL.
    func count(_ fragment: SQLFragment) throws -> Int { try numbers(fragment).first ?? 0 }

    /// Whether a query finds a row.
    func exists(_ fragment: SQLFragment, isRepeated: Bool = false) throws -> Bool {
        try !execute(fragment, isRepeated: isRepeated).rows.isEmpty
    }

    /// Sends lines of COPY's text form.
    func copy(_ statement: String, _ lines: () -> String?) throws { try link.copy(statement, lines) }

    /// Whether a statement only reads what the server knows of itself.
    private static func isAboutCatalog(_ text: String) -> Bool {
        !text.contains("pg_temp.") && (text.contains(" FROM pg_") || text.contains("\nFROM pg_"))
    }

    private func plan(_ text: String, _ values: [String?]) -> [String] {
        guard ["SELECT", "DELETE", "UPDATE", "INSERT", "WITH"].contains(where: text.hasPrefix),
            let rows = try? link.execute("EXPLAIN " + text, values).rows
        else { return [] }
        return rows.compactMap { $0.texts[0] }
    }

    // MARK: Work

    /// Runs a piece of work and names its errors. A lost connection is opened again and the work repeated, for as long as
    /// there is patience, unless it is part of a transaction or must not be repeated.
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

    /// Opens the session again, for as long as there is patience.
    func reconnect(after error: StoreError) throws(StoreError) {
        if link.isOpen {
            // A server behind this one is lost. The session is still there, with its lock: a second one would wait for it.
            usleep(500_000)
            return
        }
        var former = serverProcess
        let takesLock = holdsRunLock
        let end = ContinuousClock.now + options.patience
        var pause = Duration.milliseconds(100)
        while true {
            do throws(StoreError) {
                link = try Self.open(address, options, name: name)
                if takesLock { try lockRun(insteadOf: former) }
                break
            } catch {
                // A session that is cut off while it takes the lock may have taken it.
                (former, holdsRunLock) = (serverProcess, takesLock)
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

    /// On Citus, releases the rows that a lost session has locked on the workers. A user who may not do that waits.
    private func recoverPrepared() {
        guard !options.isReadOnly, (try? schema(ofExtension: "citus")) ?? nil != nil else { return }
        _ = try? link.execute(CitusSQL.recoverPrepared, [])
    }

    /// The server's process that serves the session.
    var serverProcess: Int { link.serverProcess }

    /// Whether the session is still there.
    var isOpen: Bool { link.isOpen }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { transactionDepth > 0 }

    /// Carries out `body` in one transaction; nested ones are savepoints. A reader's transaction is one state of the
    /// database throughout, and read-only.
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

    /// Carries out a batch in one transaction, whose statements take no more than minutes. What it leaves undone by a
    /// deadlock, a serialization failure or a lock that is not available is tried again.
    ///
    /// - Parameters:
    ///   - usesOnePlan: whether repeated statements are planned once, whatever their values are.
    ///   - locks: a statement that is carried out before the transaction sees a state of the database; empty: none.
    ///   - isExclusive: whether it locks out others. A session that waits for such a lock blocks all later ones, so each
    ///     attempt waits for 50 ms only and is repeated with growing pauses.
    func batch<T>(
        _ what: String, isolation: String = "READ COMMITTED", usesOnePlan: Bool = false, locks: String = "",
        isExclusive: Bool = false,
        _ body: () throws -> T
    ) throws(StoreError) -> T {
        guard transactionDepth == 0 else { return try run(what) { try transaction(.normal, body) } }
        var failures = 0
        let (lockEnd, lossEnd) = (ContinuousClock.now + options.lockTimeout, ContinuousClock.now + options.patience)
        let wait =
            (isExclusive ? "SET LOCAL lock_timeout = \(Self.exclusiveWait); " : "") + locks
        while true {
            // A commit whose answer was lost may have happened.
            var committing: (xid: Int?, value: T)?
            do {
                return try enclosed(
                    begin: "BEGIN ISOLATION LEVEL \(isolation); SET LOCAL statement_timeout = '10min'; "
                        + wait + "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL plan_cache_mode = "
                        + (usesOnePlan ? "force_generic_plan" : "auto") + "; SELECT pg_current_xact_id()",
                    end: "COMMIT", undo: "ROLLBACK"
                ) { begun in
                    let xid = try begun.rows.first?.int("pg_current_xact_id")
                    batchXID = xid
                    let value = try body()
                    committing = (xid, value)
                    return value
                }
            } catch {
                let storeError = StoreError(error, store: name, doing: what)
                failures += 1
                if storeError.kind == .unreachable {
                    try reconnect(after: storeError)
                    if let committing, let xid = committing.xid, try isCommitted(xid) {
                        return committing.value
                    }
                    guard ContinuousClock.now < lossEnd else { throw storeError }
                } else if storeError.isWorthRepeating, failures < 5 || isExclusive && ContinuousClock.now < lockEnd {
                    recoverPrepared()
                    usleep(UInt32(20_000 << min(failures, 5)))
                } else {
                    throw storeError
                }
            }
        }
    }

    /// Keeps the `xid` of the current batch: what the server records for it is not a change of another session.
    func noteChanges(of table: Int) {
        // What the server shows of a row are the lower 32 bits.
        guard let xid = batchXID.map({ "\($0 & 0xFFFF_FFFF)" }), notedXIDs[table]?.last != xid else { return }
        notedXIDs[table, default: []].append(xid)
    }

    /// How long an exclusive lock is waited for at a time, in milliseconds.
    private static let exclusiveWait = 50

    private func isCommitted(_ xid: Int) throws(StoreError) -> Bool {
        do {
            return try texts("SELECT pg_xact_status(" + .bound("\(xid)", "xid8") + ")") == ["committed"]
        } catch let fault as ServerFault where fault.code == "22023" {
            // An `xid` still to come: a standby took over that never heard of the batch.
            return false
        } catch {
            throw StoreError(error, store: name, doing: "checking whether a batch was committed")
        }
    }

    /// Carries out several queries on one state of the database.
    func snapshot<T>(_ body: () throws -> T) throws -> T {
        // A statement that fails would spoil the transaction around it.
        if transactionDepth > 0 { return try transaction(.normal, body) }
        return try enclosed(
            begin: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", end: "COMMIT", undo: "ROLLBACK"
        ) { _ in try body() }
    }

    /// - Parameter body: is given what the last statement of `begin` returned.
    private func enclosed<T>(
        begin: String, end: String, undo: String, _ body: (ServerResult) throws -> T
    ) throws -> T {
        let begun: ServerResult
        do {
            begun = try link.execute(script: begin)
        } catch {
            if transactionDepth == 0, link.isOpen, link.isInTransaction { _ = try? link.execute(script: undo) }
            throw StoreError(error, store: name, doing: "a transaction cannot begin")
        }
        transactionDepth += 1
        defer { transactionDepth = max(0, transactionDepth - 1) }
        let (known, kept, thinned, listed) = (catalog, keptRows, thinnedRows, keptTables)
        do {
            let value = try body(begun)
            if Task.isCancelled { throw StoreError.cancelled(name) }
            _ = try link.execute(script: end)
            return value
        } catch {
            if link.isOpen, link.isInTransaction { _ = try? link.execute(script: undo) }
            (catalog, keptRows, thinnedRows, keptTables) = (known, kept, thinned, listed)
            guard error is ServerFault else { throw error }
            throw StoreError(error, store: name, doing: "the transaction is rolled back")
        }
    }
}
