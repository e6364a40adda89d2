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
