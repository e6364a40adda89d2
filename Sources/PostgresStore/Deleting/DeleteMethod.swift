import PriceStore

/// A way to delete rows from a table.
enum DeleteMethod: String, DeletionMethod, CaseIterable {
    case whole
    /// By ranges of the date, oldest first.
    case range
    /// By windows of the table's blocks.
    case windows
    /// Whole partitions or chunks are dropped, and the other rows are deleted by rows.
    case partitions

    var phrase: String {
        switch self {
        case .whole: "one statement"
        case .range: "range batches"
        case .windows: "block windows"
        case .partitions: "whole partitions"
        }
    }
}
