public import PriceStore

/// Objects that cannot be saved. The store was not changed.
///
/// ```swift
/// do {
///     try context.save()
/// } catch let error as ObjectValidationError {
///     for failure in error.failures { print(failure.description) }
/// }
/// ```
public struct ObjectValidationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A mistake in one object.
    public struct Failure: Hashable, Sendable {
        /// The kind of mistake.
        public enum Reason: Hashable, Sendable {
            /// The attribute must have a value and has none.
            case valueMissing
            /// The entity has no such attribute.
            case unknownAttribute
            /// The store computes the attribute itself.
            case generatedAttribute
            /// Rows of another entity refer to the object, and their relationship forbids the delete.
            case stillReferenced(by: Relationship, rowCount: Int)
        }

        /// The object's entity.
        public let entity: String
        /// The attribute; for ``Reason/stillReferenced(by:rowCount:)`` the first one to which the rows refer.
        public let attribute: String
        /// The object's ID; nil: it is new.
        public let objectID: ObjectID?
        /// The kind of mistake.
        public let reason: Reason

        /// The entity, the attribute and the reason in words.
        public var description: String {
            switch reason {
            case .valueMissing:
                "\(entity).\(attribute) must have a value"
            case .unknownAttribute:
                "\(entity) has no attribute '\(attribute)'"
            case .generatedAttribute:
                "\(entity).\(attribute) is computed by the store and cannot be set"
            case .stillReferenced(let relationship, let rowCount):
                "\(rowCount.counted("row")) of \(relationship.source) still \(rowCount == 1 ? "refers" : "refer") to a deleted "
                    + "\(entity) by \(relationship.sourceAttributes.joined(separator: ", "))"
            }
        }
    }

    /// The store, as messages name it.
    public let store: String
    /// All mistakes; at least one.
    public let failures: [Failure]

    /// The first failures in words.
    public var description: String {
        let shown = failures.prefix(3).map(\.description).joined(separator: "; ")
        return "\(store): nothing was saved: \(shown)" + (failures.count > 3 ? "; and \(failures.count - 3) more" : "")
    }
}
