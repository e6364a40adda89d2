public import PriceStore

/// A SQLite file that is only read: the store of a dry run.
///
/// The connection is read-only; no byte of the store or its WAL changes. New rows can still be rehearsed: they are
/// inserted into temporary tables of the connection, with copies of the store's own constraints, and all counts are
/// then as if they were in the store. Work inside ``transaction(_:_:)`` sees one state of the store.
public final class SQLiteReader: SQLiteFile, StoreInserter, RetentionReader {
    /// Opens a file for reading.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - busyTimeout: how long a locked store is waited for.
    ///   - modelPath: a `.mom` file or a `.momd` folder, for a Core Data store that lacks its own model.
    /// - Throws: ``StoreError`` if the file is not there, cannot be read or is no SQLite database.
    public convenience init(
        path: String, busyTimeout: Duration = .seconds(5), modelPath: String? = nil
    ) throws(StoreError) {
        try self.init(path: path, busyTimeout: busyTimeout, modelPath: modelPath, owner: nil)
    }

    /// The same for a file that must be an owner's, unless it is empty.
    package init(
        path: String, busyTimeout: Duration = .seconds(5), modelPath: String? = nil, owner: FileOwner?
    ) throws(StoreError) {
        let checked = try StoreFile.check(path, readOnly: true, create: false)
        try super.init(path, Self.configuration(readOnly: true, busyTimeout), modelPath: modelPath)
        try confirm(checked)
        if let owner { try check(owner) }
    }
}
