import PriceStore

/// A method of deleting rows from a table.
enum DeleteMethod: String, DeletionMethod, CaseIterable {
    /// One statement, for requests of the library and for rows that are named one by one.
    case whole
    /// By ranges of an indexed date, oldest first.
    case range
    /// By windows of the rowid.
    case windows
    /// By ranges of the primary key of a table without a rowid.
    case keys
    /// By a list of all rows in date order where no index gives it, for rows that become candles.
    case dates
    /// The store without the rows is written to a private file and copied back over the store in one transaction. Only on request.
    case rebuild

    /// Whether rows are deleted in batches of limited size.
    var isInBatches: Bool { self != .rebuild && self != .whole }

    /// The text in reports.
    var phrase: String {
        switch self {
        case .whole: "one statement"
        case .range: "range batches"
        case .windows: "rowid windows"
        case .keys: "key batches"
        case .dates: "date batches"
        case .rebuild: "rebuild"
        }
    }
}
