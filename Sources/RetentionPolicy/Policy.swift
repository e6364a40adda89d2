package import PriceStore

/// The contents of `retention.yaml`: one store, the rules for it, and how the job reports.
package struct Policy: Sendable {
    package var file: PolicySource
    package var store: StoreLocation
    /// The files for each of which the policy is carried out; nil: ``store`` is the only one.
    package var stores: StorePattern?
    /// Whether ``store`` is one file of a pattern, so that its ledger knows other stores too.
    package var isOneOfMany: Bool { patternText != nil }
    /// The pattern of whose files ``store`` is one, with what it leaves out; nil: it is of none.
    var patternText: String?
    /// The zone of calendar units and of dates without a zone.
    package var timezone: CalendarZone = .utc
    /// Files to import before anything is deleted, in file order.
    package var pending: [PendingSource] = []
    /// Rows that no rule deletes, in file order.
    package var holds: [Hold] = []
    /// Where past runs are recorded.
    package var ledger: Ledger = .besideStore
    /// Where and how the log is written; nil: text on standard error.
    package var log: LogSettings?
    /// A time budget for a whole run; nil: none.
    package var maxRuntime: Duration?
    /// Where rows are archived before they are deleted; nil: they are not archived.
    package var archive: ArchiveSettings?
    /// How long the ledger keeps its records; nil: forever.
    package var ledgerKeep = try? MaxAge(parsing: "2y")
    /// How often a run is expected; nil: not set.
    package var expectedEvery: MaxAge?
    /// The program and its arguments that get the report of a run whose exit status is not 0; empty: none.
    package var onFailure: [String] = []
    /// The program and its arguments that get the report of a run whose exit status is 0; empty: none.
    package var onSuccess: [String] = []
    /// The file for figures for a monitoring system, an absolute path; nil: none.
    package var metricsFile: String?
    /// The rules, in file order; at least one.
    package var rules: [Rule]
    /// The rules as written, if ``rules`` are those for the tables and ages of a store; set after the store was read.
    package var written: [Rule]?
    package var rulesAsWritten: [Rule] { written ?? rules }
    /// What is wrong with the patterns of the rules; set after the store was read.
    package var problems: [Diagnostic] = []
    /// The mistakes of the file; nil: there are none. Otherwise its rules have only their names and entities, and it is for past runs.
    package var mistakes: PolicyError?
    package var marks = Marks(whole: Mark(line: 1, column: 1))

    package init(file: PolicySource, store: StoreLocation, rules: [Rule]) {
        self.file = file
        self.store = store
        self.rules = rules
    }

    /// Where the ledger of past runs is.
    package enum Ledger: Hashable, Sendable {
        /// The default: a file beside the store.
        case besideStore
        /// An absolute path.
        case path(String)
        case none
    }

    /// Where the price points are.
    package struct StoreLocation: Hashable, Sendable {
        package var kind: StoreKind
        /// The location as the user wrote it, for reports.
        package var written: String
        /// How long the job waits for a locked store.
        package var busyTimeout = Duration.seconds(5)
        /// A compiled model for a Core Data store that does not contain its own: the absolute path of a `.mom` file or a `.momd` folder;
        /// nil: the model in the store.
        package var model: String?
        /// A file with the password for the server, an absolute path; nil: libpq finds one itself, or needs none.
        package var passwordFile: String?
        /// How far a standby may fall behind before batches wait for it; nil: no limit.
        package var maxReplicationLag: Duration?
        package var mark: Mark

        package init(_ kind: StoreKind, written: String, mark: Mark) {
            self.kind = kind
            self.written = written
            self.mark = mark
        }
    }

    /// Where the log goes.
    package struct LogSettings: Hashable, Sendable {
        package enum Format: String, Hashable, Sendable, CaseIterable { case text, json }
        package enum Level: String, Hashable, Sendable, CaseIterable { case trace, debug, info, notice, warning, error }
        /// An absolute path; nil: standard error.
        package var file: String?
        package var format: Format = .text
        /// Nil: info, or warning on a terminal.
        package var level: Level?
    }
}

/// A pattern of pending files and how their columns become attributes.
package struct PendingSource: Hashable, Sendable {
    /// The pattern as written, relative to the policy's folder or absolute.
    package var files: String
    /// The absolute folder to which `files` is relative: the policy's folder.
    package var baseFolder: String
    package var entity: String
    /// The attribute of each column of the file; empty: the names are the same.
    package var columns: [String: String] = [:]
    /// The values of attributes that the file does not have.
    package var constants: [String: StoreValue] = [:]
    /// The spelling of the constants that are numbers, because a text column keeps the digits.
    package var numerals: [String: String] = [:]
    package var onConflict: ConflictPolicy = .fail
    package var marks: Marks

    package init(files: String, baseFolder: String, entity: String, marks: Marks) {
        self.files = files
        self.baseFolder = baseFolder
        self.entity = entity
        self.marks = marks
    }
}
