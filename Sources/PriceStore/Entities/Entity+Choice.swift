extension Entity {
    /// The relationships whose attributes a predicate uses. If one of them changes, the predicate may match other rows.
    package func relationships(choosing predicate: StorePredicate) -> [Relationship] {
        let held = predicate.holds.filter { $0.entity.folded == name.folded }
        return relationships(using: predicate.allAttributeNames + held.flatMap(\.rows.allAttributeNames))
    }

    /// Whether a relationship from this entity has one of the named attributes; see ``relationships(using:)``.
    package func uses(_ key: Relationship, _ names: [String]) -> Bool {
        relationships(using: names).contains {
            $0.sourceAttributes == key.sourceAttributes && $0.destination == key.destination
        }
    }

    /// The relationships that have one of the named attributes, or may have an input of a generated one among them.
    package func relationships(using names: [String]) -> [Relationship] {
        let chosenBy = Set(names.compactMap { attribute(named: $0) })
        // The inputs of a generated attribute are unknown.
        if chosenBy.contains(where: \.isGenerated) { return relationships }
        return relationships.filter { relationship in
            !chosenBy.isDisjoint(with: relationship.sourceAttributes.compactMap { attribute(named: $0) })
        }
    }
}

extension Relationship {
    /// Why a rule that chooses its rows by the relationship is refused if a delete changes the relationship.
    package var changingChoice: String {
        "a delete from \(destination) changes \(sourceAttributes.joined(separator: ", ")) in rows of \(source), by which "
            + "the rule chooses its rows"
    }
}

extension StorePredicate {
    package var allAttributeNames: [String] {
        switch self {
        case .all, .key, .objectIDs: []
        case .compare(let name, _, _), .isIn(let name, _), .isNull(let name), .isNotNull(let name): [name]
        case .between(let name, _, _), .begins(let name, _), .contains(let name, _): [name]
        case .and, .or, .not, .notTrue: leaves.flatMap(\.allAttributeNames)
        case .date(let range): [range.date.name]
        case .declaredDate(let name, _, _): [name]
        case .dateCompare(let date, _, _): [date.name]
        case .spares(let spared):
            switch spared.kind {
            case .notKept(let keepLast): keepLast.groupedBy + [keepLast.date.name] + keepLast.among.allAttributeNames
            case .notPicked(let thinning):
                thinning.groupedBy + [thinning.date.name] + [thinning.pick.price].compactMap(\.self)
                    + thinning.among.allAttributeNames
            // A hold names attributes of its own entity.
            case .notHeld: []
            }
        }
    }
}
