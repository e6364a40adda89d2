extension Entity {
    /// Throws unless a store can create all that the description says, because nothing may be left out silently.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` for empty names, a view, a Core Data entity, triggers, generated attributes, date
    ///   formats, and defaults that are unknown or that SQL cannot write; of kind `unknownName` for a key or relationship of other
    ///   attributes or entities.
    package func checkIsCreatable(in store: String) throws(StoreError) {
        let generated = attributes.first(where: \.isGenerated).map { "the generated attribute \($0.name)" }
        let unknown = attributes.first { $0.hasDefault && $0.defaultValue?.isWritable != true }
            .map { "the default of \($0.name)" }
        let dated = attributes.first { $0.dateEncoding != nil }.map { "the date format of \($0.name)" }
        let placed = attributes.first { $0.column != nil }.map { "another column for \($0.name)" }
        let hasTriggers = !(deleteTriggers.isEmpty && updateTriggers.isEmpty && refusingTriggers.isEmpty)
        let hasEmptyName = name.isEmpty || attributes.contains(where: \.name.isEmpty)
        let problems: [String?] = [
            hasEmptyName ? "an empty name" : nil, kind == .table ? nil : "a \(kind.rawValue)",
            model.map { _ in "a Core Data entity" },
            hasTriggers ? "triggers" : nil, generated, unknown, dated, placed,
            schema.map { "the schema \($0)" },
            incomingRelationships.first.map { "a relationship of \($0.source)" },
        ]
        if let problem = problems.lazy.compactMap(\.self).first {
            throw StoreError(
                .unsupported, store: store, message: "the entity \(name) cannot be created with \(problem)",
                hint: "leave it out of the description, and create it in the database")
        }
        let known = Set(attributes.map { $0.name.folded })
        let named = primaryKey + relationships.flatMap(\.sourceAttributes)
        if let missing = named.first(where: { !known.contains($0.folded) }) {
            throw StoreError(
                .unknownName, store: store,
                message: "the description of \(name) lacks the attribute '\(missing)' of its key or of a relationship")
        }
        if let other = relationships.first(where: { $0.source.folded != name.folded }) {
            throw StoreError(
                .unknownName, store: store, message: "the entity \(name) has a relationship from \(other.source)")
        }
    }

    /// What the description says of an entity that an existing one of its name lacks; nil: nothing.
    package func difference(from existing: Entity) -> String? {
        func folded(_ names: [String]) -> [String] { names.map { $0.folded } }
        if folded(existing.primaryKey) != folded(primaryKey) { return "another primary key" }
        let other = attributes.first {
            let affinity = existing.attribute(named: $0.name)?.affinity
            return $0.affinity != .none && affinity != nil && affinity != $0.affinity
        }
        if let other { return "another type of \(other.name)" }
        // A store may require the attributes of a key by itself.
        let key = folded(primaryKey)
        let optional = attributes.first {
            let isRequired = existing.attribute(named: $0.name)?.isRequired ?? $0.isRequired
            return isRequired != $0.isRequired && !key.contains($0.name.folded)
        }
        if let optional { return "\(optional.name) \(optional.isRequired ? "not required" : "required")" }
        let missing = relationships.first { wanted in
            !existing.relationships.contains {
                folded($0.sourceAttributes) == folded(wanted.sourceAttributes)
                    && $0.destination.folded == wanted.destination.folded
                    && folded($0.destinationAttributes) == folded(wanted.destinationAttributes)
                    && $0.deleteRule == withoutDefault(wanted)
            }
        }
        // Without a default value, the rule sets the reference to NULL.
        func withoutDefault(_ wanted: Relationship) -> Relationship.DeleteRule {
            let hasDefault = wanted.sourceAttributes.contains { attribute(named: $0)?.hasDefault == true }
            return wanted.deleteRule == .setDefault && !hasDefault ? .nullify : wanted.deleteRule
        }
        return missing.map { "no such relationship to \($0.destination)" }
    }
}

extension StoreValue {
    /// Whether every SQL engine can write the value as a literal.
    fileprivate var isWritable: Bool {
        switch self {
        case .real(let number): number.isFinite
        case .text(let text): !text.utf8.contains(0)
        case .null, .integer, .blob: true
        }
    }
}
