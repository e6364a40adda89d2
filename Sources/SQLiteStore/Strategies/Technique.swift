import PriceStore

/// A way to delete rows from a table.
enum Technique: String, DeletionTechnique, CaseIterable {
    /// One statement for all of them.
    case whole
    /// By ranges of an indexed date, oldest first.
    case range
    /// By few large ranges of an indexed date, each deleted in the order of its rows in the file: for rows that are not
    /// stored in the order of their dates.
    case sorted
    /// By windows of the rowid.
    case windows
    /// By ranges of the primary key of a table without a rowid.
    case keys
    /// By a list of all rows in the order of their dates, where no index gives it: for rows that become candles.
    case dates
    /// The store without the rows is written to a private file, and copied back over the store in one transaction.
    case rebuild
    /// In one transaction: the indexes of the table are dropped, the rows deleted, the indexes made again.
    case rebuildInPlace = "rebuild_in_place"

    /// Whether a part of the store is rewritten, all rows in one step.
    var isRebuild: Bool { self == .rebuild || self == .rebuildInPlace }

    /// Whether the rows are found by the index on their date.
    var usesDateIndex: Bool { self == .range || self == .sorted }

    /// Whether rows are deleted in batches of a limited number.
    var isInBatches: Bool { !isRebuild && self != .whole }

    /// What reports say of it.
    var phrase: String {
        switch self {
        case .whole: "one statement"
        case .range: "range batches"
        case .sorted: "sorted batches"
        case .windows: "rowid windows"
        case .keys: "key batches"
        case .dates: "date batches"
        case .rebuild: "rebuild by copy-back"
        case .rebuildInPlace: "rebuild in place"
        }
    }
}

/// Where the rows are that a rule keeps.
enum StayingRows: Hashable {
    /// Between two rowids, both inclusive.
    case rowIDs(ClosedRange<Int64>)
    /// At readable dates that are not before the cutoff.
    case newerRows
}

/// A delete request with all that only this engine knows of it: one batch, or all rows.
struct DeleteWork: EngineDelete, Hashable {
    var request: BatchDeleteRequest
    var technique = Technique.whole
    /// How long the store may stay locked by one statement or a rebuild: after that the work is abandoned with
    /// `methodUnfit`, and nothing is deleted. Nil: no bound.
    var maxLock: Duration?
    /// The first and the last rowid to look at, for windows: no row is deleted outside of them. Nil: all.
    var rowIDs: ClosedRange<Int64>?
    /// Whether nearly every rowid in ``rowIDs`` is that of a row to delete.
    var hasDenseRowIDs = false
    /// Where the remaining rows are: a rebuild reads only there, and the rows of a window without one are not evaluated again. It
    /// is used only in the state of the store of ``surveyed``. Nil: anywhere.
    var stayingRows: StayingRows?
    /// The state of the store in which ``stayingRows`` was found.
    var surveyed: ChangeMark?
    /// How many rows were found. A rebuild that leaves out so many does not count them again. Nil: not known.
    var expectedCount: Int?
    var continuation: BatchContinuation?
    /// Only rows that meet this too, no more than the limit; nil: any.
    var only: StorePredicate?
    /// The rule under whose name the rows are archived; nil: they are not.
    var archiveRule: String?
    /// What the rows become in the transaction that deletes them; nil: nothing.
    var rollup: Rollup?
    /// The most rows that a limit of the rule still allows: rows of one date are deleted together only up to it. Nil: no limit.
    var allowedRows: Int?
    /// The candles that the rows of earlier batches have become.
    var candles = CandleTally()
    /// Whether the delete was planned by a survey: then it is not carried out on another schema.
    var isPlanned = false

    init(_ request: BatchDeleteRequest) { self.request = request }
}
