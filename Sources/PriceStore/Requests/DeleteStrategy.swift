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

    /// What a report for people says of it.
    package var phrase: String {
        switch self {
        case .whole: "one statement"
        case .range: "range batches"
        case .sorted: "sorted batches"
        case .windows: "rowid windows"
        case .keys: "key batches"
        case .rebuild: "rebuild by copy-back"
        case .rebuildInPlace: "rebuild in place"
        case .partitions: "whole partitions"
        }
    }
}

extension Survey {
    /// Takes the technique that a request asks for in the place of the engine's choice.
    ///
    /// - Throws: ``StoreError`` of kind `unknownName` if there is no such technique, or not for these rows.
    package mutating func take(_ technique: String?, entity: String, store: String) throws(StoreError) {
        guard let technique, unsupported == nil else { return }
        guard let wanted = DeleteStrategy(rawValue: technique), possibleStrategies.contains(wanted) else {
            let reason = DeleteStrategy(rawValue: technique).flatMap { strategyObstacles[$0] }.map { ": \($0)" } ?? ""
            throw StoreError(
                .unknownName, store: store,
                message: "the technique '\(technique)' is not possible for \(entity)\(reason)",
                hint: "one of \(possibleStrategies.map(\.rawValue).joined(separator: ", "))")
        }
        // What must be one statement may not take longer, whoever asks for it.
        if batchStrategy.isInBatches { predictedLock = nil }
        (strategy, batchStrategy, strategyReason) = (wanted, wanted, nil)
    }
}
