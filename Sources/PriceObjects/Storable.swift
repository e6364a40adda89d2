public import PriceStore

/// A Swift type whose values are rows of an entity, encoded and decoded by position.
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
    /// The attributes of ``row``, in its order.
    static var attributes: [String] { get }

    /// Reads a row's values in the order of ``attributes``.
    init(_ row: inout StoredValues) throws

    /// The values in the order of ``attributes``, one for each.
    var row: [StoreValue] { get }
}

/// The values of a row, read one after the other.
public struct StoredValues {
    private let entity: String
    private let attributes: [String]
    private let values: [StoreValue]
    private var place = 0

    init(_ values: [StoreValue], entity: String, attributes: [String]) {
        self.values = values
        self.entity = entity
        self.attributes = attributes
    }

    /// The next value.
    ///
    /// - Throws: ``ManagedObjectError`` of kind ``ManagedObjectError/Kind/wrongKind`` if it is of another type, or NULL for a
    ///   type that is not optional.
    public mutating func next<Value: StoreConvertible>() throws -> Value {
        precondition(place < values.count, "\(entity) has only \(values.count) attributes")
        defer { place += 1 }
        guard let value = Value(storeValue: values[place]) else {
            throw ManagedObjectError(kind: .wrongKind, entity: entity, attribute: attributes[place], objectID: nil)
        }
        return value
    }
}

extension StoreContext {
    /// The rows of a typed entity, without objects. Unsaved changes are not seen.
    ///
    /// - Parameters:
    ///   - type: what a row is read as.
    ///   - predicate: the condition that rows must meet.
    ///   - order: the order, most significant first.
    ///   - limit: at most this many rows; nil: all.
    /// - Throws: `StoreError`, and what the type's initializer throws.
    public func fetch<Row: Storable>(
        _ type: Row.Type, where predicate: StorePredicate = .all, by order: [StoreSortDescriptor] = [],
        limit: Int? = nil
    ) throws -> [Row] {
        let request = StoreFetchRequest(
            entity: Row.entity, predicate: predicate, sortDescriptors: order, fetchLimit: limit)
        let (entity, attributes) = (Row.entity, Row.attributes)
        return try inserter.fetch(request, attributes: attributes).map { values in
            var row = StoredValues(values, entity: entity, attributes: attributes)
            return try Row(&row)
        }
    }
}

extension BatchInsertRequest {
    /// Makes a request that saves typed rows, one after the other. Each execution goes through the rows from the beginning,
    /// so a sequence that can be gone through only once is for one execution.
    public init<Rows: Sequence>(
        _ rows: Rows, onConflict: ConflictPolicy = .fail, resultType: BatchResultType = .statusOnly
    ) where Rows.Element: Storable {
        let (name, attributes) = (Rows.Element.entity, Rows.Element.attributes)
        self.init(entity: name, objects: [], onConflict: onConflict, resultType: resultType)
        source = .handler {
            var rest = rows.makeIterator()
            return { row in
                guard let next = rest.next() else { return .stop }
                let values = next.row
                guard values.count == attributes.count else {
                    throw ManagedObjectError(kind: .wrongCount, entity: name, attribute: nil, objectID: nil)
                }
                for (name, value) in zip(attributes, values) { row[name] = value }
                return .insert
            }
        }
    }
}
