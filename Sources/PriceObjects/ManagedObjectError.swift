public import PriceStore

/// Why an object cannot be read, changed or deleted.
public struct ManagedObjectError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of trouble.
    public enum Kind: String, Hashable, Sendable {
        /// The object is marked deleted, or its row is gone.
        case deleted
        /// The object belongs to no context any more: the context was reset, let go, or forgot it after a save.
        case detached
        /// The object belongs to another context.
        case otherContext
        /// The entity has no attribute of that name.
        case unknownAttribute
        /// The attribute cannot be set: the store computes it, or it is part of a saved object's primary key.
        case readOnlyAttribute
        /// The value is of another kind than the one asked for.
        case wrongKind
    }

    /// The kind of trouble.
    public let kind: Kind
    /// The object's entity.
    public let entity: String
    /// The attribute, where one is concerned.
    public let attribute: String?
    /// The object's ID; nil: it was never saved.
    public let objectID: ObjectID?

    /// The trouble in words, without values.
    public var description: String {
        let attribute = attribute ?? ""
        return switch kind {
        case .deleted: "the object of \(entity) is deleted"
        case .detached: "the object of \(entity) belongs to no context any more"
        case .otherContext: "the object of \(entity) belongs to another context"
        case .unknownAttribute: "\(entity) has no attribute '\(attribute)'"
        case .readOnlyAttribute:
            "\(entity).\(attribute) cannot be set: it is computed by the store or part of a saved object's primary key"
        case .wrongKind: "\(entity).\(attribute) holds a value of another kind"
        }
    }
}
