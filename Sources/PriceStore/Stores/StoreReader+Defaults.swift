extension StoreInserter {
    /// Nil: rows are inserted one by one.
    public func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> RowsInserted? { nil }
}

/// The result of inserting several rows at once.
///
/// ```swift
/// let inserted = try writer.insert(entity: "item", rows: rows, onConflict: .fail)
/// if let inserted { print("\(inserted.savedCount) saved, \(inserted.ignoredCount) ignored") }
/// ```
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
