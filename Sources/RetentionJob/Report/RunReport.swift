package import PriceStore
package import RetentionPolicy

/// What a run or a dry run found and did. All reports, the ledger and the exit status are made from it.
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

    /// What became of the pending files.
    package struct Pending: Hashable, Sendable {
        package var files = 0
        package var saved = 0
        package var ignored = 0
        package var rejected = 0
        /// Files that could not be imported, with the reason.
        package var problems: [String] = []
        /// Whether files, or rows of a file, are left to the next run because this one was stopped.
        package var isInterrupted = false
        /// Why no rows of an entity can be imported, by its name: its rules are not carried out.
        package var failures: [String: String] = [:]
        package init() {}
    }

    /// The archive that a run made.
    package struct Archive: Hashable, Sendable {
        /// The path of the file, or the name of the schema.
        package var path: String
        /// Rows in it, of all tables.
        package var rows: Int
        /// Old values of references that were cleared.
        package var references: Int
        /// The size of the file in bytes; nil: a server has it, or it is not complete.
        package var sizeBytes: Int64?
        /// The SHA-256 of the file, in hexadecimal; nil: a server has it, or it is not complete.
        package var sha256: String?
        /// Whether it was checked and brought to disk at the end of the run.
        package var isComplete: Bool
        /// Until when it is kept; nil: forever, or not known yet.
        package var until: Instant?
        /// See ``Reported/unknown``.
        package var unknown: Set<String> = []

        package init(
            path: String, rows: Int, references: Int = 0, sizeBytes: Int64? = nil, sha256: String? = nil,
            isComplete: Bool, until: Instant? = nil
        ) {
            self.path = path
            self.rows = rows
            self.references = references
            self.sizeBytes = sizeBytes
            self.sha256 = sha256
            self.isComplete = isComplete
            self.until = until
        }

        /// What a run that crashed left: nobody has counted its rows.
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

    /// What became of one hold of the policy.
    package struct HoldReport: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            /// It keeps rows.
            case inForce = "in_force"
            /// It is over.
            case ended
            /// It cannot be evaluated, and rules are refused for it.
            case unusable
        }
        package var name: String
        package var entity: String
        package var reason: String
        package var expires: Instant?
        package var state: State

        package init(name: String, entity: String, reason: String, expires: Instant?, state: State) {
            self.name = name
            self.entity = entity
            self.reason = reason
            self.expires = expires
            self.state = state
        }
    }

    /// What became of one rule.
    package struct RuleReport: Sendable {
        package var name: String
        package var entity: String
        package var dateAttribute: String
        package var dateFormat: DateEncoding?
        package var maxAge: String
        package var cutoff: Instant
        package var outcome: Outcome
        package var refusal: RefusalCode?
        /// All reasons for which the rule was refused, causes first; ``refusal`` is the first.
        package var refusals: [RefusalReport] = []
        /// Why the rule was refused, failed or stopped; a sentence.
        package var message: String?
        /// Refusals that would have held but were accepted.
        package var accepted: [RefusalCode] = []
        package var rows: Int?
        /// Whether expired rows were counted. Not if the rule was refused before, or its dates are read in a wrong unit.
        package var isCounted = true
        package var expired = 0
        package var keptByRule = 0
        /// Whether rows are among them that another rule keeps from this one.
        package var keepsForOthers = false
        /// Rows before the cutoff that each tier of `thin` keeps; a row of several tiers counts for the longest one.
        package var keptByTier: [Survey.TierCount] = []
        /// Rows before the cutoff that stay because they have no price; nil, as the two below: the rows become no candles.
        package var unpriced: Int?
        /// Candles that were made, and those that were there and changed.
        package var candlesCreated: Int?
        package var candlesChanged: Int?
        /// Rows that the rule would delete if there were no hold, each once.
        package var held = 0
        /// What each hold keeps of them; a row under two holds counts for both.
        package var keptByHold: [Survey.HeldCount] = []
        /// Expired rows older than what an earlier run had left none of; nil: that is not known.
        package var late: Int?
        /// Why the rule is wider than it was; nil: it is not, or no earlier run is known.
        package var widened: WidenedRule?
        /// Rows that will expire soon; nil: only a dry run counts them.
        package var forecast: Forecast?
        /// Rows for a review; nil: none were asked for.
        package var sample: RowSample?
        package var deleted = 0
        /// Rows of all tables that were archived before they were deleted; nil: the rule is not archived.
        package var archived: Int?
        package var cascaded = 0
        package var nullified = 0
        /// The store's triggers that the delete sets off, each with its table: `audit of Price`.
        package var triggers: [String] = []
        /// Rows that triggers of the store deleted, by table; those of tables that a cascade reaches are among
        /// ``cascaded``.
        package var deletedByTriggers: [String: Int] = [:]
        /// Files beside a Core Data store that were deleted with the rows that referred to them.
        package var removedFiles = 0
        /// The names of files that only expired rows refer to, as the plan found them.
        package var externalFiles: [String] = []
        package var unreadable: [Survey.UnreadableRows] = []
        package var residue = 0
        package var oldest: Instant?
        package var newest: Instant?
        package var newestExpired: Instant?
        /// The dates of the oldest and the newest deleted row; nil: nothing was deleted, or it is unknown because the
        /// rule stopped partway.
        package var oldestDeleted: Instant?
        package var newestDeleted: Instant?
        /// The date of the oldest remaining expired row; nil: none remains, or it is unknown.
        package var oldestOverdue: Instant?
        /// The room that the entity's rows and indexes take after the run; nil: it was not measured.
        package var entitySizeBytes: Int64?
        /// How the rows are deleted, in the engine's words; nil: no row is deleted.
        package var method: String?
        /// Why this method is used; nil: it is the usual one.
        package var methodReason: String?
        /// How long a rebuild or a single statement locked the store; nil: there was none.
        package var lockElapsed: Duration?
        /// The index that finds the rows.
        package var index: String?
        package var batches = 0
        package var elapsed: Duration = .zero
        /// Advice about the schema, each a sentence with the statement that cures it.
        package var advice: [String] = []
        /// See ``Reported/unknown``.
        package var unknown: Set<String> = []

        package init(
            name: String, entity: String, dateAttribute: String, dateFormat: DateEncoding?, maxAge: String,
            cutoff: Instant, outcome: Outcome
        ) {
            self.name = name
            self.entity = entity
            self.dateAttribute = dateAttribute
            self.dateFormat = dateFormat
            self.maxAge = maxAge
            self.cutoff = cutoff
            self.outcome = outcome
        }

        /// Rows that triggers deleted, of all tables.
        package var triggerDeletedCount: Int { deletedByTriggers.values.reduce(0, +) }

        /// Rows of all tables that the rule deleted, whatever deleted them.
        package var goneCount: Int { deleted + cascaded + triggerDeletedCount }

        /// How the archived rows differ from the deleted ones, as a sentence without a full stop; nil: they do not, or the
        /// rule is not archived.
        package var archiveDifference: String? {
            guard let archived, archived != goneCount else { return nil }
            return "\(Figures.count(archived, "row")) \(archived == 1 ? "was" : "were") archived, and "
                + "\(Figures.count(goneCount, "row")) \(goneCount == 1 ? "was" : "were") deleted"
        }

        /// The number of rows whose date cannot be used.
        package var unreadableCount: Int { unreadable.reduce(0) { $0 + $1.rowCount } }

        /// How long the oldest remaining expired row has been overdue; nil: none remains, or its date is unknown.
        package var overdue: Duration? { residue > 0 ? oldestOverdue.map { cutoff.since($0) } : nil }
    }

    package var runID: String
    package var mode: Mode
    package var asOf: Instant
    package var started: Instant
    package var finished: Instant
    package var config: String
    package var configSHA256: String
    package var store: String
    package var engine: String
    package var pending = Pending()
    /// Whether the policy names pending files at all.
    package var hasPendingSources = false
    package var rules: [RuleReport] = []
    /// The archive of the run; nil: there is none.
    package var archive: Archive?
    /// What was restored; nil: it is not an undo.
    package var undo: Undo?
    /// The holds of the policy, in file order; empty until the store was looked at.
    package var holds: [HoldReport] = []
    /// The holds of the last run that are no longer in force.
    package var releasedHolds: [ReleasedHold] = []
    /// The rules as they were last carried out, as the ledger records them: ``RunMemory/CarriedOut/line``.
    package var ruleLines: [String] = []
    /// What the store wants to be told at the next survey of an entity: ``RunMemory/storeNotes``.
    package var storeNotes: [String: String] = [:]
    /// The SHA-256 of the file of the plan that the run carries out; nil: it has none.
    package var planSHA256: String?
    /// The size of the store before the first delete, in bytes; nil: nothing had to be deleted.
    package var storeBytesBefore: Int64?
    package var reclaimedBytes: Int64 = 0
    /// The size of the store at the end; nil: it was not measured.
    package var storeSizeBytes: Int64?
    /// The hash of the run in the ledger's chain; nil: it was not recorded.
    package var ledgerHash: String?
    /// Things that the operator should know and that are not errors: no room for a vacuum, and the like.
    package var warnings: [String] = []
    /// The error that ended the run early; nil: none.
    package var failure: String?
    package var exitCode: Int32 = 0
    /// See ``Reported/unknown``.
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

    /// A sum over all rules.
    func sum(_ count: (RuleReport) -> Int) -> Int { rules.reduce(0) { $0 + count($1) } }

    /// Expired rows of all rules.
    package var expiredCount: Int { sum(\.expired) }
    /// Deleted rows of all rules.
    package var deletedCount: Int { sum(\.deleted) }
    /// Archived rows of all rules; nil: no rule is archived.
    package var archivedCount: Int? { rules.contains { $0.archived != nil } ? sum { $0.archived ?? 0 } : nil }
    /// Rows of all rules that a cascade deleted, or would delete.
    package var cascadedCount: Int { sum(\.cascaded) }
    /// Rows that triggers deleted in all rules.
    package var triggerDeletedCount: Int { sum(\.triggerDeletedCount) }
    /// Rows that holds keep from rules; a row counts for each rule that would delete it.
    package var heldCount: Int { sum(\.held) }
    /// What a hold keeps from all rules.
    package func keptCount(of hold: String) -> Int {
        sum { $0.keptByHold.reduce(0) { $1.hold == hold ? $0 + $1.rowCount : $0 } }
    }
    /// Residue of all rules.
    package var residueCount: Int { sum(\.residue) }
}
