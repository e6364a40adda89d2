public import PriceStore

/// New rows that the store takes in itself, without objects, in one transaction.
///
/// It runs no validation beyond the store's own constraints, and saves all rows or none. Attributes that a row does not
/// name take the store's default.
public struct BatchInsertRequest {
    /// Where the rows come from.
    public enum Source {
        /// All of them, as dictionaries.
        case objects([[String: StoreValue]])
        /// A handler that makes one at a time, so that memory stays bounded however many there are.
        case handler(RowHandler)
    }

    /// What becomes of the row that a handler was given.
    public enum Step: Hashable, Sendable {
        /// It is filled: save it, and come again.
        case insert
        /// There are no more rows; what was filled in this time is left out.
        case stop
    }

    /// Fills one row, which is empty at first. What it throws undoes the whole request.
    public typealias RowHandler = (_ row: inout [String: StoreValue]) throws -> Step

    /// The entity's name.
    public var entity: String
    /// Where the rows come from.
    public var source: Source
    /// What to do with a row whose primary or unique key is there already.
    public var onConflict: ConflictPolicy
    /// What the result tells.
    public var resultType: BatchResultType

    /// Makes a request that saves an array of rows.
    public init(
        entity: String, objects: [[String: StoreValue]], onConflict: ConflictPolicy = .fail,
        resultType: BatchResultType = .statusOnly
    ) {
        self.entity = entity
        source = .objects(objects)
        self.onConflict = onConflict
        self.resultType = resultType
    }

    /// Makes a request that saves the rows that a handler fills, until it says stop.
    public init(
        entity: String, onConflict: ConflictPolicy = .fail, resultType: BatchResultType = .statusOnly,
        handler: @escaping RowHandler
    ) {
        self.entity = entity
        source = .handler(handler)
        self.onConflict = onConflict
        self.resultType = resultType
    }
}

/// What a batch insert did.
public struct BatchInsertResult: Hashable, Sendable {
    /// Rows that are in the store now, as new rows or over old ones; always told.
    public var insertedCount: Int
    /// Rows that were left out because their key was there already, as asked.
    public var ignoredCount: Int
    /// The IDs of the rows that are in the store now, in order, if they were asked for; else empty.
    public var objectIDs: [ObjectID]

    /// Makes a result; engines do.
    public init(insertedCount: Int, ignoredCount: Int = 0, objectIDs: [ObjectID] = []) {
        self.insertedCount = insertedCount
        self.ignoredCount = ignoredCount
        self.objectIDs = objectIDs
    }
}
