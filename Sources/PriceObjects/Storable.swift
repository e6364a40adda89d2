public import PriceStore

/// A Swift type whose values are rows of an entity. Values are read and written by position.
///
/// ```swift
/// struct GoldPrice: Storable {
///     static let entity = "GoldPrice"
///     static let attributes = [
///         Attribute(name: "time", affinity: .integer, isRequired: true, dateEncoding: .unixSeconds),
///         Attribute(name: "dollars", affinity: .real),
///     ]
///     var time: Date
///     var dollars: Double?
///
///     init(_ row: inout StoredValues) throws {
///         time = try row.next()
///         dollars = try row.next()
///     }
///
///     func write(to row: inout StoredValues) {
///         row.append(time)
///         row.append(dollars)
///     }
/// }
/// ```
public protocol Storable {
    /// The entity's name.
    static var entity: String { get }
    /// The attributes, in the order in which a row is read and written. The attribute of a date has a `dateEncoding`.
    static var attributes: [Attribute] { get }
    /// The names of the attributes of the primary key, in key order; by default there is none.
    static var primaryKey: [String] { get }

    /// Reads the values of a row in the order of ``attributes``.
    init(_ row: inout StoredValues) throws

    /// Writes the values in the order of ``attributes``, one for each.
    func write(to row: inout StoredValues)
}

extension Storable {
    /// No primary key.
    public static var primaryKey: [String] { [] }
}

/// The values of a row, read or written one after the other.
///
/// Generic code of this type is compiled in the program for its own types. In the library it would look up the types for each value.
///
/// ```swift
/// init(_ row: inout StoredValues) throws {
///     time = try row.next()
///     dollars = try row.next()
/// }
/// ```
public struct StoredValues {
    private let entity: String
    private let attributes: [Attribute]
    private var values: [StoreValue]
    private var place = 0
    /// The first mistake of a row that is written.
    private var failure: ManagedObjectError?

    @usableFromInline init(_ values: [StoreValue], entity: String, attributes: [Attribute]) {
        self.values = values
        self.entity = entity
        self.attributes = attributes
    }

    /// The next value.
    ///
    /// - Throws: ``ManagedObjectError`` if the value is of another type, or NULL and the type is not optional, or if there is none.
    @inlinable
    public mutating func next<Value: StoreConvertible>() throws -> Value {
        let stored = try nextValue()
        guard let value = Value(storeValue: stored) else { throw wrongKind(stored, Value.self) }
        return value
    }

    /// The next value as a date, in the format of its attribute; nil: NULL. It throws as for other values, and without a format.
    @inlinable
    public mutating func next<Value: InstantConvertible>() throws -> Value? {
        let stored = try nextValue()
        return try instant(of: stored, Value.self).map(Value.init)
    }

    /// The next value as a date, in the format of its attribute. It throws as for other values, and without a format.
    @inlinable
    public mutating func next<Value: InstantConvertible>() throws -> Value {
        guard let value: Value = try next() else { throw wrongKind(.null, Value.self) }
        return value
    }

    /// Writes the next value.
    @inlinable
    public mutating func append(_ value: some StoreConvertible) { appendValue(value.storeValue) }

    /// Writes the next value, a date in the format of its attribute.
    @inlinable
    public mutating func append(_ date: (some InstantConvertible)?) { appendInstant(date?.instant) }

    @usableFromInline
    mutating func nextValue() throws(ManagedObjectError) -> StoreValue {
        guard place < min(values.count, attributes.count) else { throw error(.wrongCount) }
        defer { place += 1 }
        return values[place]
    }

    @usableFromInline
    func instant(of value: StoreValue, _ type: Any.Type) throws(ManagedObjectError) -> Instant? {
        guard let format = attributes[place - 1].dateEncoding else { throw error(.noDateFormat) }
        let instant = format.instant(of: value)
        guard instant != nil || value.isNull else { throw wrongKind(value, type) }
        return instant
    }

    @usableFromInline
    func wrongKind(_ value: StoreValue, _ type: Any.Type) -> ManagedObjectError {
        error(.wrongKind, mismatch: "\(value.storageClass), not \(type)")
    }

    /// The error about the value that was read last.
    private func error(_ kind: ManagedObjectError.Kind, mismatch: String? = nil) -> ManagedObjectError {
        let name = kind == .wrongCount ? nil : attributes[place - 1].name
        return ManagedObjectError(kind: kind, entity: entity, attribute: name, objectID: nil, mismatch: mismatch)
    }

    @usableFromInline mutating func appendValue(_ value: StoreValue) { values.append(value) }

    @usableFromInline
    mutating func appendInstant(_ instant: Instant?) {
        place = values.count + 1
        let format = place > attributes.count ? nil : attributes[place - 1].dateEncoding
        let value = instant.map { format?.readableValue(of: $0) } ?? .some(.null)
        if format == nil || value == nil, failure == nil {
            failure = error(place > attributes.count ? .wrongCount : format == nil ? .noDateFormat : .noDate)
        }
        values.append(value ?? .null)
    }

    /// Throws unless there was one value for each attribute, all of which were read.
    @usableFromInline
    func finish() throws(ManagedObjectError) {
        guard place == attributes.count, values.count == place else { throw error(.wrongCount) }
    }

    /// Moves the values that were written to a dictionary.
    @usableFromInline
    mutating func move(to row: inout [String: StoreValue]) throws(ManagedObjectError) {
        if let failure { throw failure }
        guard values.count == attributes.count else { throw error(.wrongCount) }
        for (place, value) in values.enumerated() { row[attributes[place].name] = value }
        values.removeAll(keepingCapacity: true)
    }
}

extension StoreFetchRequest {
    /// Makes a request for the rows of a typed entity.
    public init<Row: Storable>(
        _ type: Row.Type, predicate: StorePredicate = .all, sortDescriptors: [StoreSortDescriptor] = [],
        fetchLimit: Int? = nil, fetchOffset: Int = 0
    ) {
        self.init(
            entity: Row.entity, predicate: predicate, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit,
            fetchOffset: fetchOffset)
    }
}

extension StoreWriter {
    /// Creates the entity of a typed row, as `createEntity(_:)` does. The formats of its dates are not stored.
    public func createEntity<Row: Storable>(for type: Row.Type) throws(StoreError) {
        var attributes = Row.attributes
        for place in attributes.indices { attributes[place].dateEncoding = nil }
        try createEntity(Entity(name: Row.entity, attributes: attributes, primaryKey: Row.primaryKey))
    }
}

extension StoreContext {
    /// The rows of a typed entity, without objects and unsaved changes. The parameters are those of a `StoreFetchRequest`.
    ///
    /// - Throws: `StoreError`, and the errors of the type's initializer; a ``ManagedObjectError`` names the row.
    @inlinable
    public func fetch<Row: Storable>(
        _ type: Row.Type, predicate: StorePredicate = .all, sortDescriptors: [StoreSortDescriptor] = [],
        fetchLimit: Int? = nil, fetchOffset: Int = 0
    ) throws -> [Row] {
        let request = StoreFetchRequest(
            type, predicate: predicate, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit,
            fetchOffset: fetchOffset)
        return try read(type, values(request, Row.attributes)) { self.naming($0, at: $1, request) }
    }

    /// The rows of ``query(_:_:)`` as values of a type, whose attributes are the columns, in their order.
    @inlinable
    public func query<Row: Storable>(
        _ type: Row.Type, _ sql: String, _ arguments: [any StoreConvertible] = []
    ) throws -> [Row] {
        try read(type, query(sql, arguments)) { error, _ in error }
    }

    /// The rows of a query in the SQL of the store, with `?` for each argument. It only reads, and does not see unsaved changes.
    ///
    /// - Throws: `StoreError`: of kind `unsupported` if the statement is no query or is wrong, or if the store takes none.
    public func query(_ sql: String, _ arguments: [any StoreConvertible] = []) throws(StoreError) -> [[StoreValue]] {
        guard let store = inserter as? any StoreQueries else {
            throw StoreError(
                .unsupported, store: inserter.name, message: "a store of the kind \(inserter.engine) takes no queries")
        }
        return try store.query(sql, arguments.map(\.storeValue))
    }

    @usableFromInline
    func values(_ request: StoreFetchRequest, _ attributes: [Attribute]) throws(StoreError) -> [[StoreValue]] {
        try inserter.fetch(request, attributes: attributes.map(\.name))
    }

    @inlinable
    func read<Row: Storable>(
        _ type: Row.Type, _ rows: [[StoreValue]], naming: (ManagedObjectError, Int) -> ManagedObjectError
    ) throws -> [Row] {
        let (entity, attributes) = (Row.entity, Row.attributes)
        return try rows.indices.map { index in
            var row = StoredValues(rows[index], entity: entity, attributes: attributes)
            do {
                let value = try Row(&row)
                try row.finish()
                return value
            } catch let error as ManagedObjectError {
                throw naming(error, index)
            }
        }
    }

    /// The error with the ID of its row, if the row has a key.
    @usableFromInline
    func naming(_ error: ManagedObjectError, at index: Int, _ request: StoreFetchRequest) -> ManagedObjectError {
        var (error, request) = (error, request)
        request.fetchOffset = max(0, request.fetchOffset) + index
        request.fetchLimit = 1
        error.objectID = try? inserter.fetchObjectIDs(request).first
        return error
    }
}

extension BatchInsertRequest {
    /// Makes a request that saves typed rows, one after the other. Each execution reads the rows from the beginning, so a sequence that can
    /// be read only once allows one execution.
    @inlinable
    public init<Rows: Sequence>(
        _ rows: Rows, onConflict: ConflictPolicy = .fail, resultType: BatchResultType = .statusOnly
    ) where Rows.Element: Storable {
        let (name, attributes) = (Rows.Element.entity, Rows.Element.attributes)
        self.init(entity: name, objects: [], onConflict: onConflict, resultType: resultType)
        source = .handler {
            var rest = rows.makeIterator()
            var values = StoredValues([], entity: name, attributes: attributes)
            return { row in
                guard let next = rest.next() else { return .stop }
                next.write(to: &values)
                try values.move(to: &row)
                return .insert
            }
        }
    }
}
