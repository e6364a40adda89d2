public import PriceStore

/// Why an object cannot be read, changed or deleted.
///
/// ```swift
/// do {
///     print(try item.value(for: "name"))
/// } catch let error as ManagedObjectError where error.kind == .deleted {
///     print(error.description)
/// }
/// ```
public struct ManagedObjectError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Kind: String, Hashable, Sendable {
        /// The object is marked deleted, or its row is deleted.
        case deleted
        /// The object belongs to no context: the context was reset or released, or released the object after a save.
        case detached
        /// The object belongs to another context.
        case otherContext
        /// The entity has no attribute of that name.
        case unknownAttribute
        /// The attribute cannot be set: the store computes it, or it is part of a saved object's primary key.
        case readOnlyAttribute
        /// The value has another type than the program asked for.
        case wrongKind
        /// A typed row was read or written with more values than attributes, or fewer.
        case wrongCount
        /// A date has no format: neither the program nor the store says one.
        case noDateFormat
        /// The date is not a number, or the format of its attribute does not read it back.
        case noDate
    }

    /// The kind of error.
    public let kind: Kind
    /// The object's entity.
    public let entity: String
    /// The attribute concerned; nil: none.
    public let attribute: String?
    /// The ID of the object or of the row; nil: it was never saved, or has no key.
    public internal(set) var objectID: ObjectID?
    /// The kind of value that was found and the type that was wanted: `text, not Int`; nil for any other kind of error.
    public let mismatch: String?

    /// A description of the error, without values.
    public var description: String {
        let attribute = attribute ?? ""
        let row = objectID.map { "row \($0.key.map(\.description).joined(separator: ", ")) of " } ?? ""
        return switch kind {
        case .deleted: "the object of \(entity) is deleted"
        case .detached: "the object of \(entity) no longer belongs to a context"
        case .otherContext: "the object of \(entity) belongs to another context"
        case .unknownAttribute: "\(entity) has no attribute '\(attribute)'"
        case .readOnlyAttribute:
            "\(entity).\(attribute) cannot be set: it is computed by the store or part of a saved object's primary key"
        case .wrongKind: "\(attribute) of \(row)\(entity) holds \(mismatch ?? "a value of another type")"
        case .wrongCount: "a typed row of \(entity) does not have one value for each attribute"
        case .noDateFormat:
            "\(entity).\(attribute) has no date format; name one, such as .unixSeconds, or declare it in the attribute"
        case .noDate: "\(entity).\(attribute) cannot hold the date, because it would not be read back as one"
        }
    }
}
