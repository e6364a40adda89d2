extension StorePredicate: CustomStringConvertible {
    /// The condition for a debugger, such as `done = 1 and price < 10`. Messages never show values.
    public var description: String {
        switch self {
        case .all: "true"
        case .compare(let name, let comparison, let value): "\(name) \(comparison.sql) \(value)"
        case .between(let name, let low, let high): "\(name) from \(low) to \(high)"
        case .begins(let name, let text): "\(name) begins with '\(text)'"
        case .contains(let name, let text): "\(name) contains '\(text)'"
        case .isIn(let name, let values): "\(name) in \(values)"
        case .isNull(let name): "\(name) is NULL"
        case .isNotNull(let name): "\(name) is not NULL"
        case .and(let parts): Self.joined(parts, "and", empty: "true")
        case .or(let parts): Self.joined(parts, "or", empty: "false")
        case .not(let part): "not (\(part))"
        case .notTrue(let part): "(\(part)) is not true"
        case .date(let range): range.description
        case .declaredDate(let name, let comparison, let instant): "\(name) \(comparison.sql) \(instant.rfc3339)"
        case .dateCompare(let date, let comparison, let instant): "\(date.name) \(comparison.sql) \(instant.rfc3339)"
        case .spares(let spared):
            switch spared.kind {
            case .notKept(let keepLast): "not one of the last \(keepLast.count)"
            case .notPicked(let thinning): "not the \(thinning.pick.word) of its bucket"
            case .notHeld: "not held"
            }
        case .key(let range): "key after \(range.after ?? []) through \(range.through ?? [])"
        case .objectIDs(let ids): ids.count > 10 ? "\(ids.count) object IDs" : "\(ids)"
        }
    }

    private static func joined(_ parts: [StorePredicate], _ word: String, empty: String) -> String {
        parts.isEmpty
            ? empty
            : parts.map { part in
                switch part {
                case .and, .or: "(\(part))"
                default: "\(part)"
                }
            }.joined(separator: " \(word) ")
    }
}

extension StoreFetchRequest: CustomStringConvertible {
    /// The request for a debugger, such as `item where done = 1, by name descending, at most 10`.
    public var description: String {
        var text = includesSubentities ? entity : "\(entity) without sub-entities"
        if predicate != .all { text += " where \(predicate)" }
        let order = sortDescriptors.map { $0.attribute + ($0.ascending ? "" : " descending") }
        if !order.isEmpty { text += ", by " + order.joined(separator: ", ") }
        if let fetchLimit { text += ", at most \(fetchLimit)" }
        if fetchOffset > 0 { text += ", after \(fetchOffset)" }
        return text
    }
}

extension BatchDeleteRequest: CustomStringConvertible {
    /// The request for a debugger, such as `delete item where done = 1`.
    public var description: String {
        let rule = relationships == .asDeclared ? "" : ", relationships: \(relationships.rawValue)"
        return "delete \(fetchRequest)\(rule)"
    }
}

extension ObjectID: CustomStringConvertible {
    /// The entity and the key, such as `item 17`.
    public var description: String { "\(entity) \(key.map(\.description).joined(separator: ", "))" }
}

extension DateRange: CustomStringConvertible {
    /// The attribute and the ends of the range.
    public var description: String {
        let ends = [from.map { "from \($0.rfc3339)" }, before.map { "before \($0.rfc3339)" }].compactMap(\.self)
        return ([date.name] + (ends.isEmpty ? ["is a date"] : ends)).joined(separator: " ")
    }
}
