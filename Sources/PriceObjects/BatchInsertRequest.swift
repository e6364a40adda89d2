public import PriceStore

/// New rows that the store itself inserts in one transaction, without objects.
///
/// The only checks are the constraints of the store. All rows are saved or none. Missing attributes use the defaults of the store.
///
/// ```swift
/// let request = BatchInsertRequest(entity: "GoldPrice") { row in
///     guard day < 1060 else { return .stop }
///     row["time"] = StoreValue(1_735_689_600 + day * 86_400)
///     day += 1
///     return .insert
/// }
/// ```
public struct BatchInsertRequest {
    /// Where new rows come from.
    public enum Source {
        /// All of them, as dictionaries.
        case objects([[String: StoreValue]])
        /// A handler that makes one row at a time, so memory is bounded. Each execution calls the closure once to get its handler.
        case handler(() -> RowHandler)
    }

    /// What to do with the row that a handler filled.
    public enum Step: Hashable, Sendable {
        /// The row is filled: save it and call the handler again.
        case insert
        /// There are no more rows. What this call filled in is discarded.
        case stop
    }

    /// Fills one row, which is empty at first. If it throws, the whole request is rolled back.
    public typealias RowHandler = (_ row: inout [String: StoreValue]) throws -> Step

    /// The entity's name.
    public var entity: String
    /// Where the rows come from.
    public var source: Source
    /// What to do with a row whose primary or unique key already exists.
    public var onConflict: ConflictPolicy
    /// What the result contains.
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

    /// Makes a request that saves the rows that a handler fills, until it returns `stop`. If the request is executed again, the handler
    /// continues where it stopped.
    public init(
        entity: String, onConflict: ConflictPolicy = .fail, resultType: BatchResultType = .statusOnly,
        handler: @escaping RowHandler
    ) {
        self.entity = entity
        source = .handler { handler }
        self.onConflict = onConflict
        self.resultType = resultType
    }
}

extension BatchInsertRequest {
    /// Calls a handler to fill a row, and converts its error to an error of the store.
    package func fill(
        _ row: inout [String: StoreValue], number: Int, by handler: RowHandler, store: String
    ) throws(StoreError) -> Step {
        row.removeAll(keepingCapacity: true)
        do {
            return try handler(&row)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(
                error is CancellationError ? .cancelled : .inputOutput, store: store,
                message: "row \(number) of \(entity) could not be made; no row is saved: \(error)")
        }
    }
}

/// What a batch insert did.
///
/// ```swift
/// let insertedCount = try context.execute(insert).insertedCount
/// ```
public struct BatchInsertResult: Hashable, Sendable {
    /// Rows that were inserted or replaced; always counted.
    public var insertedCount: Int
    /// Rows that were ignored because their key already exists.
    public var ignoredCount: Int
    /// The IDs of the inserted or replaced rows, in order, if they were requested; otherwise empty.
    public var objectIDs: [ObjectID]

    /// Makes a result; engines do.
    public init(insertedCount: Int, ignoredCount: Int = 0, objectIDs: [ObjectID] = []) {
        self.insertedCount = insertedCount
        self.ignoredCount = ignoredCount
        self.objectIDs = objectIDs
    }
}
