@preconcurrency import Glibc
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports
import SQLiteStore

/// Opens stores. Only this file and `Servers.swift` name an engine.
struct StoreOpening {
    let policy: Policy
    /// The ledger that is open for many stores; nil: it is opened for this one.
    let ledger: OpenLedger?
    /// Called with each distinct statement and its query plan; nil: no trace.
    private let trace: ((_ statement: String, _ plan: [String]) -> Void)?

    /// Makes an opener for a policy's store and ledger.
    init(
        _ policy: Policy, ledger: OpenLedger? = nil,
        trace: ((_ statement: String, _ plan: [String]) -> Void)? = nil
    ) {
        (self.policy, self.ledger) = (policy, ledger)
        self.trace = trace
    }

    /// The libraries of the engines in this process, with their versions.
    static let libraries = Servers.libraries + [EngineComponent.sqlite.description]

    /// Opens a store for reading without a policy.
    static func reader(ofStoreNamed name: String, model: String? = nil) throws -> any RetentionReader {
        if StoreKind(name).isServer { return try Servers.reader(ofStoreNamed: name) }
        guard !name.contains("://") else {
            throw CommandFailure(
                exitCode: 78, message: "there is no engine for \(name.prefix { $0 != "?" })",
                hint: "name the path of a SQLite file, or a postgresql:// URL")
        }
        guard access(name, F_OK) == 0 || errno != ENOENT else { throw MissingStore(path: name, name: name).error }
        return try SQLiteReader(path: name, modelPath: model)
    }

    /// Opens the store for reading, and for rehearsing what a run would save.
    func reader() throws -> any RetentionInserter {
        if let url = policy.store.kind.url {
            return try Servers.reader(of: policy, url, trace: trace)
        }
        try requireStore()
        try requireNoChangesBesideLinks()
        let reader = try SQLiteReader(
            path: try storePath(), busyTimeout: policy.store.busyTimeout, modelPath: policy.store.model)
        reader.trace = trace
        return reader
    }

    /// Opens the store for writing. On a server the session takes the run lock; for a file, ``lock()`` takes it.
    func writer() throws -> any RetentionWriter {
        if let url = policy.store.kind.url {
            return try Servers.writer(of: policy, url, trace: trace)
        }
        try requireNoChangesBesideLinks()
        let writer = try SQLiteWriter(
            path: try storePath(), busyTimeout: policy.store.busyTimeout, modelPath: policy.store.model)
        writer.trace = trace
        writer.author = "retention"
        writer.clock = SystemClock.now
        return writer
    }

    /// Takes the run lock of a store file; nil: the store is on a server, whose writer takes it.
    func lock() throws -> RunLock? {
        try policy.store.kind.file.map { try RunLock.acquire(storePath: $0) }
    }

    /// Whether a run is in progress on a store that the ledger names; false also if its server does not answer.
    func isRunAtWork(on store: String) -> Bool {
        guard let url = policy.store.kind.url, store == serverName else {
            return RunLock.isHeld(storePath: store)
        }
        return Servers.isRunAtWork(on: url, passwordFile: policy.store.passwordFile)
    }

    /// Opens the ledger for a run or an undo, while the run lock is held; nil: the policy turns it off. Earlier runs without an end are
    /// marked as crashed.
    func ledgerUnderLock(_ log: LogOpening.Log, _ console: Console) throws -> RunLedger? {
        guard let ledger = try recorder() else { return nil }
        let crashed = try ledger.markCrashed()
        if crashed > 0 {
            let text = Figures.count(crashed, "run", "has", "have")
            log.warn("earlier run crashed", "\(text) ended without a record; the store is checked now", console)
        }
        return ledger
    }

    /// What records a run of the store; nil: the policy turns the ledger off.
    func recorder() throws -> RunLedger? {
        try openLedger(isWritten: true).flatMap {
            try RunLedger(
                $0, store: realStorePath(), links: storeLinks, process: MachineFacts.process, keep: policy.ledgerKeep,
                zone: policy.timezone, waits: ledger != nil && policy.onSuccess.isEmpty)
        }
    }

    /// Opens the ledger; nil: the policy turns it off, or it does not exist and is not written.
    func openLedger(isWritten: Bool) throws -> OpenLedger? {
        if let ledger {
            _ = try ledgerPath()
            return ledger
        }
        // A store that is new is compared with the others, also if the run is for it alone.
        let ofMany = policy.stores != nil || policy.isOneOfMany
        let opened =
            isWritten
            ? try ledgerWriter().map { try OpenLedger(writer: $0, ofMany: ofMany) }
            : try ledgerReader().map { OpenLedger(reader: $0, ofMany: ofMany) }
        opened?.isForAll = isForAll
        return opened
    }

    /// Whether the store is the only one, or one of all that are opened.
    var isForAll: Bool { ledger != nil || !policy.isOneOfMany }

    /// The history in the ledger; nil: the policy turns it off, or it does not exist.
    func history() throws -> LedgerHistory? { try openLedger(isWritten: false)?.history(links: storeLinks) }

    /// Whether a file is a ledger or an archive, by the ID of its program. Source: sqlite.org/fileformat2.html, section 1.3.
    ///
    /// This process must not have the file open: closing it here would release its locks.
    static func isOwnFile(_ path: String) -> Bool {
        guard let bytes = FilePlace(path).firstBytes(72), bytes.count == 72 else { return false }
        let id = Int32(bitPattern: bytes[68...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        return [ledgerOwner, .archive].contains { $0.applicationID == id }
    }

    /// Opens the ledger for recording, and creates it if it does not exist; nil: the policy turns it off.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if it can be neither opened nor created.
    func ledgerWriter() throws -> SQLiteWriter? {
        guard let path = try ledgerPath() else { return nil }
        do {
            // Rows that are gone must be recorded, however little time there is for a locked store.
            return try SQLiteWriter(
                path: path, create: true, busyTimeout: max(policy.store.busyTimeout, .seconds(5)),
                owner: Self.ledgerOwner)
        } catch {
            guard error.kind == .permission || error.kind == .missing else { throw Self.aboutLedger(error) }
            throw StoreError(
                .cannotCreate, store: path, message: "the ledger cannot be created: \(error.message)",
                engineCode: error.engineCode, hint: "set `ledger` to a writable path or to `none`")
        }
    }

    private static let ledgerOwner = FileOwner(
        applicationID: RunLedger.applicationID, tables: RunLedger.entityNames, title: "ledger of retention")

    /// Opens the ledger for reading; nil: the policy turns it off, or it does not exist.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read, or is not a ledger.
    func ledgerReader() throws -> (any RetentionInserter)? {
        guard let path = try ledgerPath() else { return nil }
        do {
            return try SQLiteReader(path: path, busyTimeout: policy.store.busyTimeout, owner: Self.ledgerOwner)
        } catch {
            guard error.kind == .missing else { throw Self.aboutLedger(error) }
            return nil
        }
    }

    /// An error of the engine in the words for a ledger. To the engine, every file is a store.
    private static func aboutLedger(_ error: StoreError) -> StoreError {
        var error = error
        error.message = error.message.replacing("the store", with: "the ledger")
        error.hint = error.hint?.replacing("the store", with: "the ledger")
        if error.message.hasSuffix(" table that does not belong to it: link") {
            error.hint = "if an earlier version wrote it, move it away, and the next run begins a new ledger"
        }
        if error.kind == .inputOutput, error.hint == nil {
            error.hint =
                "if it is the ledger, it is damaged: restore it from a backup, or move it away, and the next run begins "
                + "a new ledger, which knows no earlier run"
        }
        return error
    }

    /// Whether an error is about the ledger's file.
    func isOfLedger(_ error: StoreError) -> Bool { (try? ledgerPath()) == error.store }

    /// What the ledger knows of past runs of the store; empty without a ledger.
    func memory(_ reader: any RetentionReader) throws -> RunMemory { try memory(of: history(), reader) }

    /// What an open ledger knows of past runs of the open store; nil: there is none.
    func memory(of ledger: LedgerHistory?, _ reader: any RetentionReader) throws -> RunMemory {
        guard policy.ledger != .none else { return RunMemory() }
        let store = try realStorePath()
        let archived = { OldArchives.newest(of: $0, policy, in: reader, Self.archiveReader) }
        return try ledger?.memory(store: store, archived: archived) ?? RunMemory(unknownArchive: archived(store))
    }

    /// Opens the file of an archive for reading.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read, or is not an archive.
    static func archiveReader(_ path: String) throws -> any RetentionReader {
        try SQLiteReader(path: path, owner: .archive)
    }

    /// The files that a run of the policy writes.
    func outputs() throws -> OutputFiles { OutputFiles(policy, ledger: try ledgerPath()) }

    /// Throws if the file at the lock file's path is not a lock file.
    func checkLock() throws {
        if let path = policy.store.kind.file { try RunLock.check(storePath: path) }
    }

    /// Throws unless this user may write what a run writes; see ``RunLock/requireAccess(storePath:)``.
    func requireAccess() throws {
        if let path = policy.store.kind.file { try RunLock.requireAccess(storePath: path) }
    }

    /// Throws unless the store's file begins like a database, so that no lock is created beside other files. It must not be called while
    /// the store is open.
    func requireDatabase() throws {
        try requireStore()
        if let path = policy.store.kind.file { try SQLiteWriter.requireDatabase(path: path) }
    }

    /// Throws unless the store's path exists, so that a missing store is reported before the lock.
    func requireStore() throws {
        guard let path = policy.store.kind.file else { return }
        var facts = stat()
        guard stat(path, &facts) != 0 else { return }
        switch errno {
        case ENOENT, ENOTDIR:
            if policy.isOneOfMany {
                throw StoreError(
                    .missing, store: policy.store.written, message: "store not found",
                    hint: "it was there when the files of the pattern were looked for")
            }
            throw MissingStore(
                path: path, name: policy.store.written, place: "\(policy.file.path), line \(policy.store.mark.line)",
                policy: FilePlace(policy.file.path).name
            ).error
        case EACCES: return
        case let code:
            throw StoreError(
                .inputOutput, store: path, message: "the store cannot be accessed: \(String(systemError: code))")
        }
    }

    /// Throws if a WAL or a journal is beside a link to the store. SQLite uses those beside the file, so the store lacks what is in the
    /// others.
    private func requireNoChangesBesideLinks() throws(StoreError) {
        guard let path = policy.store.kind.file else { return }
        for link in linksToFile {
            for side in ["-wal", "-journal"].map(link.sibling) {
                guard let facts = side.facts, facts.st_size > 0 else { continue }
                throw StoreError(
                    .inputOutput, store: path,
                    message:
                        "\(link.path) is a link to the store, and changes of the store are in \(side.path) beside the link",
                    hint:
                        "if the store was moved and not used since, move that file beside it, with its name; otherwise end the programs "
                        + "that use it, and restore a backup or remove it")
            }
        }
    }

    private var serverName: String {
        guard let url = policy.store.kind.url else { return policy.store.written }
        return Servers.databaseName(of: url)
    }

    /// The store's file with symbolic links followed, or the server and its database. The ledger identifies the store by it.
    func realStorePath() throws -> String {
        guard let path = policy.store.kind.file else { return serverName }
        // A missing store is identified by the real path of its folder.
        return FilePlace.realPath(path) ?? FilePlace(path).path
    }

    /// Whether the store's path is a symbolic link whose target does not exist.
    var isDanglingLink: Bool {
        guard let path = policy.store.kind.file else { return false }
        return FilePlace(path).facts?.isLink == true && access(path, F_OK) != 0
    }

    private func storePath() throws(CommandFailure) -> String {
        guard let path = policy.store.kind.file else {
            throw CommandFailure(exitCode: 78, message: "\(policy.store.written) is not a file")
        }
        return path
    }

    /// The path of the ledger's file: the policy's, or ``besideStore()``.
    private func ledgerPath() throws -> String? {
        let path: String? =
            switch policy.ledger {
            case .none: nil
            case .path(let path): path
            case .besideStore: try besideStore()
            }
        try requireNoOtherLedger(than: path)
        return path
    }

    /// The default path of the ledger: in the folder of the store or, for a store on a server, in the folder of the policy.
    private func besideStore() throws -> String {
        var neighbour = policy.file.path
        if !policy.store.kind.isServer { neighbour = try realStorePath() }
        return neighbour.lastIndex(of: "/").map { neighbour[...$0] + Self.ledgerName } ?? Self.ledgerName
    }

    private static let ledgerName = "retention.ledger.sqlite"

    /// Throws if a ledger that the policy does not use has runs of the store: in the default place, beside the policy, as for many stores, or
    /// beside a link to the store. The store was moved without its ledger, or the policy names another now. One that the policy names and that
    /// has runs of the store is used.
    private func requireNoOtherLedger(than used: String?) throws {
        let places =
            [try besideStore(), FilePlace.path(Self.ledgerName, in: FilePlace(policy.file.path).folder)]
            + linksToFile.map { FilePlace.path(Self.ledgerName, in: $0.folder) }
        for other in places.map({ FilePlace($0) }) where other.facts != nil {
            if let used, try other.isSame(as: FilePlace(used)) || policy.ledger != .besideStore && knowsStore(used) {
                continue
            }
            guard try knowsStore(other.path) else { continue }
            let own = used.map { "the policy uses another: \($0)" } ?? "the policy turns the ledger off"
            throw CommandFailure(
                exitCode: 78, message: "the ledger \(other.path) has runs of the store, and \(own)",
                hint:
                    "nothing was changed; name it in the policy, as in `ledger: \(other.path)`; to continue without its "
                    + "records, for example of undos, rename it")
        }
    }

    /// Whether a ledger has runs of the store; false also if this user may not read it.
    private func knowsStore(_ ledger: String) throws -> Bool {
        do {
            let reader = try SQLiteReader(path: ledger, busyTimeout: policy.store.busyTimeout, owner: Self.ledgerOwner)
            return try OpenLedger(reader: reader).history(links: storeLinks).knows(try realStorePath())
        } catch let error as StoreError where [.permission, .missing].contains(error.kind) {
            return false
        }
    }

    /// The links to the store's file. Links to folders lead to no other folder of the store.
    private var linksToFile: [FilePlace] {
        policy.store.kind.file.map { FilePlace.links($0).compactMap(\.ofFile) } ?? []
    }

    /// The paths by which links lead from the policy's path to the store's file.
    var storeLinks: [String] { policy.store.kind.file.map { FilePlace.links($0).map(\.filePath) } ?? [] }
}
