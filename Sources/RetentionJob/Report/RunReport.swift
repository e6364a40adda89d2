package import Logging
package import PriceStore

/// What a run or a dry run found and did. All reports, the ledger and the exit status derive from it.
package struct RunReport: Sendable {
    package enum Mode: String, Hashable, Sendable {
        case run
        case dryRun = "dry_run"
        case undo
        case undoDryRun = "undo_dry_run"
    }

    /// How a rule ended.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        case planned, completed, refused, failed, interrupted, disabled
    }

    /// The outcome of a run.
    package enum RunOutcome: String, Hashable, Sendable, CaseIterable {
        /// The run has not ended.
        case running
        /// Every rule was carried out.
        case completed
        /// At least one rule, pending line or pending file was refused; everything else was done.
        case refused
        /// At least one rule failed, or an error ended the run.
        case failed
        /// The budget or a signal ended the run; expired rows remain.
        case interrupted
        /// The process ended without recording the end.
        case crashed
    }

    /// The result of the pending files.
    package struct Pending: Hashable, Sendable {
        package var files = 0
        package var saved = 0
        package var ignored = 0
        package var rejected = 0
        /// Files that could not be imported, each with the reason.
        package var problems: [String] = []
        /// Whether files, or rows of a file, are left to the next run because this run was stopped.
        package var isInterrupted = false
        /// Why no rows of an entity can be imported, by entity name: its rules are not carried out.
        package var failures: [String: String] = [:]
        package init() {}

        /// What was refused, as clauses: `3 pending lines rejected`, `1 pending file not imported`.
        package var refused: [String] {
            [(rejected, "pending line", "rejected"), (problems.count, "pending file", "not imported")]
                .filter { $0.0 > 0 }.map { "\(Figures.count($0.0, $0.1)) \($0.2)" }
        }
    }

    /// The archive of a run.
    package struct Archive: Hashable, Sendable {
        /// The path of the file, or the name of the schema.
        package var path: String
        /// Its rows, of all tables.
        package var rows: Int
        /// The old values of cleared references.
        package var references = 0
        /// The size of the file in bytes; nil: the archive is on a server, or incomplete.
        package var sizeBytes: Int64?
        /// The SHA-256 of the file in hexadecimal; nil: the archive is on a server, or incomplete.
        package var sha256: String?
        /// Whether it was checked and written to disk at the end of the run.
        package var isComplete: Bool
        /// Until when it is kept; nil: forever, or unknown so far.
        package var until: Instant?
        package var unknown: Set<String> = []
    }

    /// The result of one hold of the policy.
    package struct HoldReport: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            /// It keeps rows.
            case inForce = "in_force"
            /// It has ended.
            case ended
            /// It cannot be evaluated, so rules are refused.
            case unusable
        }
        package var name: String
        package var entity: String
        package var reason: String
        package var expires: Instant?
        package var state: State
    }

    package var runID: String
    package var mode: Mode
    package var asOf: Instant
    package var started: Instant
    package var finished: Instant
    package var config: String
    /// The store as an option of a command, if the policy has many; not recorded.
    package var storeOption: [String] = []
    package var configSHA256: String
    package var store: String
    package var engine: String
    package var pending = Pending()
    /// Whether the policy has pending sources.
    package var hasPendingSources = false
    package var rules: [RuleReport] = []
    /// Whether the ledger knows no earlier run of the store. It is only for texts.
    package var isFirst = false
    /// Whether the policy has an archive, and a ledger. They are only for texts.
    package var hasArchive = false
    package var hasLedger = true
    /// The archive of the run; nil: there is none.
    package var archive: Archive?
    /// What was restored; nil: the run is not an undo.
    package var undo: Undo?
    /// How long the run waited for the store before it began, and batches of deletes for each reason, in microseconds.
    package var waits: [String: Int] = [:]
    /// The holds of the policy, in file order; nil: they are not known, as before the store is read.
    package var holds: [HoldReport]?
    /// What the run has left of the rows of each rule, as the ledger records it: ``RunMemory/CarriedOut/line``.
    package var ruleLines: [String] = []
    /// The rules of the policy that are agreed after the run, as the ledger records them; nil: the same as before.
    package var agreedLines: [String]?
    /// The rules that `--rule` named; empty: it left out no enabled rule.
    package var onlyRules: [String] = []
    /// The SHA-256 of the saved plan that the run carries out; nil: there is none.
    package var planSHA256: String?
    /// The size of the store in bytes before the first delete; nil: there was nothing to delete.
    package var storeBytesBefore: Int64?
    package var reclaimedBytes: Int64 = 0
    /// The size of the store at the end; nil: not measured.
    package var storeSizeBytes: Int64?
    /// The hash of the run in the ledger's chain; nil: not recorded.
    package var ledgerHash: String?
    /// What the operator should know but is not an error, such as no room for a vacuum.
    package var warnings: [String] = []
    /// The error that ended the run early; nil: none.
    package var failure: String?
    package var exitCode: Int32 = 0
    package var unknown: Set<String> = []

    package init(
        runID: String, mode: Mode, asOf: Instant, started: Instant, config: String, configSHA256: String,
        store: String, engine: String
    ) {
        self.runID = runID
        self.mode = mode
        self.asOf = asOf
        self.started = started
        self.finished = started
        self.config = config
        self.configSHA256 = configSHA256
        self.store = store
        self.engine = engine
    }

    /// Adds a warning, and logs it.
    package mutating func warn(_ logger: Logger, _ title: Logger.Message, _ reason: String) {
        warnings.append("\(title): \(reason)")
        logger.warning(title, metadata: ["reason": "\(reason)"])
    }

    /// Adds a wait to those for the same reason.
    mutating func note(wait length: Duration, because reason: String) {
        if length > .zero { waits[reason, default: 0] += Int(length.wholeMicroseconds) }
    }

    /// The outcome of the whole run: the worst that happened.
    package var runOutcome: RunOutcome {
        if failure != nil || rules.contains(where: { $0.outcome == .failed }) { return .failed }
        if rules.contains(where: { $0.outcome == .interrupted }) || undo?.isInterrupted == true || pending.isInterrupted
        {
            return .interrupted
        }
        return rules.contains { $0.outcome == .refused } || !pending.refused.isEmpty ? .refused : .completed
    }

    func sum(_ count: (RuleReport) -> Int) -> Int { rules.reduce(0) { $0 + count($1) } }

    /// Expired rows of all rules.
    package var expiredCount: Int { sum(\.planned.expired) }
    /// Deleted rows of all rules.
    package var deletedCount: Int { sum(\.done.deleted) }
    /// All rows that are no longer in the store: the expired ones, and those deleted with them.
    package var goneCount: Int { sum(\.done.goneCount) }
    /// Archived rows of all rules; nil: no rule is archived.
    package var archivedCount: Int? { rules.contains { $0.done.archived != nil } ? sum { $0.done.archived ?? 0 } : nil }
    /// Rows of all rules that a cascade deleted, or would delete.
    package var cascadedCount: Int { sum(\.done.cascaded) }
    /// Rows that triggers deleted, of all rules.
    package var triggerDeletedCount: Int { sum(\.done.triggerCount) }
    /// Rows that holds keep from rules; a row counts once for each rule that would delete it.
    package var heldCount: Int { sum(\.kept.heldCount) }
    /// The rows that a hold keeps from all rules.
    package func keptCount(of hold: String) -> Int {
        sum { $0.kept.byHold.reduce(0) { $1.hold == hold ? $0 + $1.rowCount : $0 } }
    }
    /// Residue of all rules, in texts as in JSON. A row that several refused rules found counts for each.
    package var residueCount: Int { sum(\.left.expired) }
    /// Whether the run got to its rules, so that their expired rows were counted.
    private var isCounted: Bool { failure == nil || !rules.isEmpty }
    /// Expired rows and residue of all rules; nil: an error ended the run before they were counted.
    package var countedExpired: Int? { isCounted ? expiredCount : nil }
    package var countedResidue: Int? { isCounted ? residueCount : nil }
    /// Whether the expired rows of all rules were counted.
    package var isWhollyCounted: Bool {
        isCounted && rules.allSatisfy { $0.outcome != .refused || $0.planned.isCounted }
    }
}

extension RunReport.Archive {
    /// The archive that a crashed run left; its rows are not counted.
    package static func left(at path: String) -> Self {
        var archive = Self(path: path, rows: 0, isComplete: false)
        archive.unknown = ["rows", "references"]
        return archive
    }

    /// A complete archive.
    package init(_ result: ArchiveResult) {
        self.init(
            path: result.path, rows: result.rowCount, references: result.referenceCount,
            sizeBytes: result.sizeBytes, isComplete: true)
    }
}
