import PriceStore
import RetentionPolicy

/// Refusals for rows whose delete other rows prevent.
extension Refusals {
    /// Cannot be accepted if a foreign key restricts the delete, because the delete would fail. With `relationships: deny` the rule itself
    /// forbids it; accepting then means `as_declared`, where that is possible.
    func relationshipDenied() -> Refusal? {
        guard let first = survey.related.obstacles.first else { return nil }
        if let refusal = modelDenies(first) { return refusal }
        let key = "\(first.relationship.source) (\(first.relationship.sourceAttributes.joined(separator: ", ")))"
        var reason = "\(Figures.count(first.rowCount, "row")) of \(key) \(first.rowCount == 1 ? "refers" : "refer")"
        reason += " to rows that would be deleted"
        if survey.related.obstacles.count > 1 {
            reason += ", and \(Figures.count(survey.related.obstacles.count - 1, "other relationship")) too"
        }
        if rule.relationships == .deny {
            reason += ", and relationships: deny does not allow that"
            return doubts.settings.contains(.asDeclared)
                ? refusal(.relationshipDenied, reason) : denied(reason, instead: delete(first))
        }
        if rule.relationships == .nullify {
            return denied(
                reason + ", and that reference cannot be set to NULL or must not be changed", instead: delete(first))
        }
        // The rule overrides only relationships that refer to its own entity.
        let isOwn = first.relationship.destination.folded == rule.entity.folded
        let declared =
            switch first.relationship.deleteRule {
            case .restrict: "RESTRICT, which the store enforces"
            case .nullify: "SET NULL, but a column of it does not accept NULL"
            case .setDefault: "SET DEFAULT, which would make them refer to another row"
            case .noAction, .cascade: "NO ACTION, which the store enforces"
            }
        return denied(
            reason + ", and the key is declared ON DELETE \(declared)",
            instead: isOwn ? delete(first) : "delete those rows first")
    }

    private func denied(_ reason: String, instead: String) -> Refusal {
        unacceptable(.relationshipDenied, reason, instead: instead)
    }

    /// The rule's settings that make the delete possible, as an object of "write"; nil: none.
    private var choices: String? {
        let parts: [(BatchDeleteRequest.RelationshipRule, String, String)] = [
            (.nullify, "relationships: nullify", "(those rows stay and lose the reference)"),
            (.cascade, "relationships: cascade", "(which deletes them too)"),
        ]
        let possible = parts.filter { doubts.settings.contains($0.0) && rule.relationships != $0.0 }
        guard let first = possible.first else { return nil }
        return "\(first.1) in the rule \(first.2)" + possible.dropFirst().map { " or \($0.1) \($0.2)" }.joined()
    }

    /// How to remove an obstacle: a setting of the rule, or a rule for the other table.
    private func delete(_ obstacle: Survey.Obstacle) -> String {
        let relationship = obstacle.relationship
        let isOther = relationship.source.folded != relationship.destination.folded
        let rule = ", with a rule for \(relationship.source) before this one if its rows have a date"
        let rows = "delete those rows first" + (isOther ? rule : "")
        return choices.map { "write \($0)" + (isOther ? ", or \(rows)" : "") } ?? rows
    }

    /// The refusal for an obstacle from a Core Data model or a missing inverse; nil: the obstacle is a foreign key of the schema.
    private func modelDenies(_ obstacle: Survey.Obstacle) -> Refusal? {
        let relationship = obstacle.relationship
        let name = "\(relationship.source).\(relationship.sourceAttributes.joined(separator: ", "))"
        let ends = "\(Figures.count(obstacle.rowCount, "row")) of \(relationship.destination)"
        let others = survey.related.obstacles.count - 1
        let more = others > 0 ? "; \(Figures.count(others, "other relationship")) too" : ""
        switch obstacle.objection {
        case .pointing: return nil
        case .denyRule:
            return denied(
                "the delete rule of \(name) is deny, which a batch delete cannot carry out (Core Data's error "
                    + "134060); \(ends) would be at its other end" + more,
                instead: "change the model")
        case .mandatoryInverse:
            return Refusal(
                .relationshipDenied,
                reason: begin(
                    "\(ends) must keep a reference to rows that would be deleted: "
                        + "\(relationship.destinationAttributes.joined(separator: ", ")), the inverse of \(name), is mandatory"
                        + more),
                remedy: "this cannot be accepted, because the rows would violate the model of the store; delete them "
                    + "first, with a rule for \(relationship.destination) before this one",
                isAcceptable: false)
        case .noInverse:
            let rows = Figures.count(obstacle.rowCount, "row")
            return denied(
                "\(rows) of \(name) \(obstacle.rowCount == 1 ? "refers" : "refer") to rows that would be deleted, and the "
                    + "model has no inverse that would clear it" + more,
                instead: "delete those rows first, with a rule for \(relationship.source) before this one")
        }
    }
}
