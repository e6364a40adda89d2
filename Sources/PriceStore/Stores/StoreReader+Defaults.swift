extension StoreInserter {
    /// Nil: rows are added one by one.
    public func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> RowsInserted? { nil }
}

extension StoreWriter {
    /// Nil: the store asks for no pause.
    public func wantedPause() throws(StoreError) -> WantedPause? { nil }
}

/// What became of rows that were added together.
public struct RowsInserted: Hashable, Sendable {
    /// Rows that are in the store now, as new rows or over old ones.
    public var savedCount: Int
    /// Rows that were ignored because their key already exists.
    public var ignoredCount: Int

    /// Makes a result; engines do.
    public init(savedCount: Int, ignoredCount: Int) {
        self.savedCount = savedCount
        self.ignoredCount = ignoredCount
    }
}

/// How long a store asks to wait before the next batch, beyond the usual pause.
public struct WantedPause: Hashable, Sendable {
    /// How long to wait.
    public var length: Duration
    /// Why, as a clause.
    public var reason: String
    /// Whether to ask again before the batch, until there is no such wish any more.
    public var isUntilOver: Bool

    /// Makes a wish; engines do.
    public init(length: Duration, reason: String, isUntilOver: Bool = false) {
        self.length = length
        self.reason = reason
        self.isUntilOver = isUntilOver
    }
}
