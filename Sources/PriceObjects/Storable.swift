public import PriceStore

/// A Swift type whose values are rows of an entity. Values are encoded and decoded by position.
///
/// ```swift
/// struct GoldPrice: Storable {
///     static let entity = "GoldPrice"
///     static let attributes = ["time", "dollars"]
///     var time: Int
///     var dollars: Double?
///
///     init(_ row: inout StoredValues) throws {
///         time = try row.next()
///         dollars = try row.next()
///     }
///
///     var row: [StoreValue] { [time.storeValue, dollars.storeValue] }
/// }
/// ```
public protocol Storable {
    /// The entity's name.
    static var entity: String { get }
    /// The attributes of ``row``, in the same order.
    static var attributes: [String] { get }

    /// Reads a row's values in the order of ``attributes``.
    init(_ row: inout StoredValues) throws

    /// The values in the order of ``attributes``, one for each.
    var row: [StoreValue] { get }
}

/// The values of a row, read one after the other.
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
    private let attributes: [String]
    private let values: [StoreValue]
    private var place = 0

    @usableFromInline init(_ values: [StoreValue], entity: String, attributes: [String]) {
        self.values = values
        self.entity = entity
        self.attributes = attributes
    }

    /// The next value.
    ///
    /// - Throws: ``ManagedObjectError`` of kind ``ManagedObjectError/Kind/wrongKind`` if the value is of another type, or NULL and the type
    ///   is not optional.
    @inlinable
    public mutating func next<Value: StoreConvertible>() throws -> Value {
        guard let value = Value(storeValue: nextValue()) else { throw wrongKind }
        return value
    }

    @usableFromInline
    mutating func nextValue() -> StoreValue {
        precondition(place < values.count, "\(entity) has only \(values.count) attributes")
        defer { place += 1 }
        return values[place]
    }

    @usableFromInline var wrongKind: ManagedObjectError {
        ManagedObjectError(kind: .wrongKind, entity: entity, attribute: attributes[place - 1], objectID: nil)
    }
}

extension StoreContext {
    /// The rows of a typed entity, without objects. Unsaved changes are not seen.
    ///
    /// - Parameters:
    ///   - type: the type of the rows.
    ///   - predicate: the condition that rows must meet.
    ///   - order: the order, most significant first.
    ///   - limit: the maximum number of rows; nil: all.
    /// - Throws: `StoreError`, and the errors of the type's initializer.
    @inlinable
    public func fetch<Row: Storable>(
        _ type: Row.Type, where predicate: StorePredicate = .all, by order: [StoreSortDescriptor] = [],
        limit: Int? = nil
    ) throws -> [Row] {
        let request = StoreFetchRequest(
            entity: Row.entity, predicate: predicate, sortDescriptors: order, fetchLimit: limit)
        let (entity, attributes) = (Row.entity, Row.attributes)
        return try values(request, attributes).map { values in
            var row = StoredValues(values, entity: entity, attributes: attributes)
            return try Row(&row)
        }
    }

    @usableFromInline
    func values(_ request: StoreFetchRequest, _ attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try inserter.fetch(request, attributes: attributes)
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
            return { row in
                guard let next = rest.next() else { return .stop }
                try Self.fill(&row, attributes, next.row, entity: name)
                return .insert
            }
        }
    }

    @usableFromInline
    static func fill(
        _ row: inout [String: StoreValue], _ attributes: [String], _ values: [StoreValue], entity: String
    ) throws(ManagedObjectError) {
        guard values.count == attributes.count else {
            throw ManagedObjectError(kind: .wrongCount, entity: entity, attribute: nil, objectID: nil)
        }
        for (name, value) in zip(attributes, values) { row[name] = value }
    }
}
