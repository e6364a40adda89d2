import PriceStore

/// A way to delete rows from a table.
enum DeleteMethod: String, DeletionTechnique, CaseIterable {
    /// One statement for all of them.
    case whole
    /// By ranges of the date, oldest first.
    case range
    /// By windows of the blocks of the table.
    case windows
    /// Whole partitions or chunks of a table are dropped, the rest goes by rows.
    case partitions

    /// What reports say of it.
    var phrase: String {
        switch self {
        case .whole: "one statement"
        case .range: "range batches"
        case .windows: "block windows"
        case .partitions: "whole partitions"
        }
    }
}
