package import PriceStore

/// Advice that makes a rule cheaper, in sentences with the statement.
package enum SchemaAdvice {
    /// The advice for a rule: an index on its date, and one on each reference that a delete must follow.
    ///
    /// - Parameter incoming: the relationships that a delete of the entity's rows follows, with cascades.
    package static func sentences(
        entity: Entity, date: DateAttribute, survey: Survey, incoming: [Relationship], in reader: any RetentionReader
    ) throws(StoreError) -> [String] {
        var advice = survey.notes
        // No index on texts of several shapes has the order of the dates.
        let isText = !date.encoding.isNumeric && date.encoding != .native
        if let obstacle = survey.index.obstacle, survey.unsupported == nil {
            advice.append(
                "no index can be used for \(entity.name).\(date.name), so every run reads all rows: \(obstacle)")
        } else if entity.kind == .table, survey.unsupported == nil, survey.index.name == nil,
            date.encoding.datePattern == nil, !isText || survey.readableCount ?? 0 > 0
        {
            advice.append(
                "no index begins with the date, so every run reads all rows"
                    + (isText ? "; if all of its texts are written alike: " : ": ")
                    + createIndex(on: entity, [entity.attribute(named: date.name)?.column ?? date.name]))
        }
        for relationship in incoming {
            let reference = relationship.sourceAttributes.joined(separator: ", ")
            guard let source = try reader.entity(named: relationship.source) else { continue }
            let destination = try reader.entity(named: relationship.destination)
            let isUnlike = zip(relationship.sourceAttributes, relationship.destinationAttributes).contains {
                guard let own = source.attribute(named: $0)?.affinity else { return false }
                return [Attribute.Affinity.none, .text].contains(own)
                    && destination?.attribute(named: $1)?.affinity == .integer
            }
            guard !isUnlike else {
                advice.append(
                    "\(relationship.source) (\(reference)) refers to whole numbers of \(relationship.destination) and is not declared "
                        + "as such, so no index of it can be used, and each deleted row costs a scan of \(relationship.source): "
                        + "declare it INTEGER")
                continue
            }
            guard !relationship.isIndexed else { continue }
            advice.append(
                "\(relationship.source) (\(reference)) refers to \(relationship.destination) and has no index, so each "
                    + "deleted row costs a scan of \(relationship.source): "
                    + createIndex(on: source, relationship.sourceAttributes))
        }
        return advice
    }

    /// The relationships that refer to an entity and to the entities whose rows are deleted with it, each once.
    package static func incomingRelationships(
        of entity: Entity, in reader: any RetentionReader
    ) throws(StoreError) -> [Relationship] {
        var found: [Relationship] = []
        var seen: Set<String> = [entity.name]
        var waiting = [entity]
        while let next = waiting.popLast() {
            for relationship in next.incomingRelationships where !found.contains(relationship) {
                found.append(relationship)
                guard relationship.deleteRule == .cascade, seen.insert(relationship.source).inserted else { continue }
                if let source = try reader.entity(named: relationship.source) { waiting.append(source) }
            }
        }
        return found
    }

    /// `CREATE INDEX "Tick_at" ON "Tick" ("at");`, with quoted names, to be pasted into the shell of the database. There is no statement if
    /// a name would be escaped in a report, because the escaped text is another name.
    private static func createIndex(on entity: Entity, _ attributes: [String]) -> String {
        let columns = attributes.map(\.quotedIdentifier).joined(separator: ", ")
        var table = entity.model?.table ?? entity.name
        if let schema = entity.schema { table = String(table.dropFirst(schema.count + 1)) }
        let place = ((entity.schema.map { [$0] } ?? []) + [table]).map(\.quotedIdentifier).joined(separator: ".")
        let statement =
            "CREATE INDEX \(([table] + attributes).joined(separator: "_").quotedIdentifier) ON \(place) (\(columns));"
        return SafeText.line(statement) == statement
            ? statement : "create an index on it (its name has characters that cannot be shown here)"
    }
}
