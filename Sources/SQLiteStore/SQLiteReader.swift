public import PriceStore

/// A SQLite file opened for reading, as for a dry run.
///
/// ```swift
/// let reader = try SQLiteReader(path: path)
/// let row = try reader.fetch(StoreFetchRequest(entity: "Price"), attributes: ["metal", "time", "dollars"])
/// ```
///
/// The connection changes no byte of the store or its WAL, and takes no rows. Inside ``transaction(_:_:)`` all queries see one state of the store.
public final class SQLiteReader: SQLiteFile, RetentionInserter {
    /// Opens a file for reading.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - busyTimeout: how long to wait for a locked store.
    ///   - modelPath: a `.mom` file or a `.momd` folder, for a Core Data store without its own model.
    /// - Throws: ``StoreError`` if the file is missing, cannot be read or is not a SQLite database.
    public convenience init(
        path: String, busyTimeout: Duration = .seconds(5), modelPath: String? = nil
    ) throws(StoreError) {
        try self.init(path: path, busyTimeout: busyTimeout, modelPath: modelPath, owner: nil)
    }

    /// Opens a file that must belong to an owner or be empty.
    package init(
        path: String, busyTimeout: Duration = .seconds(5), modelPath: String? = nil, owner: FileOwner?
    ) throws(StoreError) {
        let checked = try StoreFile.check(path, readOnly: true, create: false)
        try super.init(path, Self.configuration(readOnly: true, busyTimeout), modelPath: modelPath)
        try confirm(checked)
        if let owner { try check(owner) }
    }
}
