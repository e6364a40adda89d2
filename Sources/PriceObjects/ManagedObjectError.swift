public import PriceStore

/// Why an object cannot be read, changed or deleted.
///
/// ```swift
/// do {
///     print(try item.text(for: "name") ?? "")
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
        /// A typed row has more values than attributes, or fewer.
        case wrongCount
    }

    /// The kind of error.
    public let kind: Kind
    /// The object's entity.
    public let entity: String
    /// The attribute concerned; nil: none.
    public let attribute: String?
    /// The object's ID; nil: it was never saved.
    public let objectID: ObjectID?

    /// A description of the error, without values.
    public var description: String {
        let attribute = attribute ?? ""
        return switch kind {
        case .deleted: "the object of \(entity) is deleted"
        case .detached: "the object of \(entity) no longer belongs to a context"
        case .otherContext: "the object of \(entity) belongs to another context"
        case .unknownAttribute: "\(entity) has no attribute '\(attribute)'"
        case .readOnlyAttribute:
            "\(entity).\(attribute) cannot be set: it is computed by the store or part of a saved object's primary key"
        case .wrongKind: "\(entity).\(attribute) holds a value of another type"
        case .wrongCount: "a typed row of \(entity) does not have one value for each attribute"
        }
    }
}
