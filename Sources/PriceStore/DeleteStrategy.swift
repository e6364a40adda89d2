/// How an engine goes about a batch delete.
public enum DeleteStrategy: String, Hashable, Sendable, CaseIterable {
    /// One statement for all of them.
    case whole
    /// By ranges of an indexed date, oldest first.
    case range
    /// By few large ranges of an indexed date, each deleted in the order in which its rows lie in the file: for rows that
    /// do not lie in the order of their dates.
    case sorted
    /// By windows of the rowid.
    case windows
    /// By ranges of the primary key of a table without a rowid.
    case keys
    /// The store without the rows is written to a private file, and copied back over the store in one transaction.
    case rebuild
    /// In one transaction: the indexes of the table are dropped, the rows deleted, the indexes made anew.
    case rebuildInPlace = "rebuild_in_place"
    /// Whole partitions of a table are dropped, the rest goes by rows.
    case partitions

    /// Whether a part of the store is written anew, all rows in one go.
    public var isRebuild: Bool {
        switch self {
        case .rebuild, .rebuildInPlace: true
        case .whole, .range, .sorted, .windows, .keys, .partitions: false
        }
    }

    /// Whether the rows are found by the index on their date.
    public var usesDateIndex: Bool { self == .range || self == .sorted }

    /// Whether rows go in batches of a limited number.
    public var isInBatches: Bool { !isRebuild && self != .whole }
}
