package import RetentionJob
package import RetentionPolicy

extension JSONText {
    /// Makes the JSON of a schema.
    package init(_ node: SchemaNode) {
        switch node {
        case .flag(let value): self = .bool(value)
        case .integer(let value): self = .integer(Int64(value))
        case .text(let value): self = .string(value)
        case .list(let elements): self = .array(elements.map(JSONText.init))
        case .object(let members): self = .object(members.map { Member($0.name, JSONText($0.value)) })
        }
    }
}
