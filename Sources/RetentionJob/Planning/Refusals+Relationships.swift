import PriceStore
import RetentionPolicy

/// Rows whose delete other rows prevent.
extension Refusals {
    /// If a foreign key restricts the delete, it cannot be accepted, because the delete would fail. With
    /// `relationships: deny` the rule itself forbids it, and accepting means `as_declared`.
    func relationshipDenied() -> Refusal? {
        guard let first = survey.obstacles.first else { return nil }
        if let refusal = fixedReference(first) ?? modelDenies(first) { return refusal }
        let key = "\(first.relationship.source) (\(first.relationship.sourceAttributes.joined(separator: ", ")))"
        var reason = "\(Figures.count(first.rowCount, "row")) of \(key) \(first.rowCount == 1 ? "refers" : "refer")"
        reason += " to rows that would be deleted"
        if survey.obstacles.count > 1 {
            reason += ", and \(Figures.count(survey.obstacles.count - 1, "other relationship")) too"
        }
        if rule.relationships == .deny {
            return refusal(.relationshipDenied, reason + ", and relationships: deny does not allow that")
        }
        if rule.relationships == .nullify {
            return Refusal(
                .relationshipDenied,
                reason: begin(reason + ", and that reference cannot be set to NULL or must not be changed"),
                wayPast: Self.delete(first, "write relationships: cascade in the rule, which deletes them too"),
                isAcceptable: false)
        }
        // The rule overrides only relationships that refer to its own entity.
        let isOwn = first.relationship.destination.folded == rule.entity.folded
        let declared = first.relationship.deleteRule == .restrict ? "RESTRICT" : "NO ACTION"
        let choices =
            "write relationships: nullify in the rule (those rows stay and lose the reference) or "
            + "relationships: cascade (which deletes them too)"
        return Refusal(
            .relationshipDenied,
            reason: begin(reason + ", and the key is declared ON DELETE \(declared), which the store enforces"),
            wayPast: isOwn ? Self.delete(first, choices) : "this cannot be accepted; delete those rows first",
            isAcceptable: false)
    }

    /// Rows that cannot lose their reference; nil: the obstacle is another one.
    private func fixedReference(_ obstacle: Survey.Obstacle) -> Refusal? {
        guard obstacle.objection == .fixedReference else { return nil }
        let key = "\(obstacle.relationship.source) (\(obstacle.relationship.sourceAttributes.joined(separator: ", ")))"
        let choice =
            rule.relationships == .cascade
            ? "" : "write relationships: cascade in the rule (which deletes them too), or "
        return Refusal(
            .relationshipDenied,
            reason: begin(
                "\(Figures.count(obstacle.rowCount, "row")) of \(key) would lose a reference to rows that would be deleted, and a "
                    + "constraint or a unique index of the table does not allow it, or another reference of such a row "
                    + "is dangling"),
            wayPast: "this cannot be accepted; \(choice)change or delete those rows first", isAcceptable: false)
    }

    /// How to resolve an obstacle: a setting of the rule, or a rule for the other table.
    private static func delete(_ obstacle: Survey.Obstacle, _ choices: String) -> String {
        let relationship = obstacle.relationship
        guard relationship.source.folded != relationship.destination.folded, obstacle.sourceHasDates else {
            return "this cannot be accepted; \(choices)"
        }
        return "this cannot be accepted; \(choices), or delete those rows first, with a rule for "
            + "\(relationship.source) before this one"
    }

    /// Rows that must be deleted in one statement, which would lock the store for too long.
    func tooLongLock() -> Refusal? {
        guard let outline, outline.isIndivisible, let lock = outline.expectedLock else { return nil }
        let allowed = rule.limits.maxLock ?? SurveyRequest.defaultMaxLock
        guard lock > allowed else { return nil }
        return Refusal(
            .relationshipDenied,
            reason: begin(
                "\(Figures.count(survey.expiredCount + survey.cascadedCount, "row")) refer to each other and must be deleted in "
                    + "one statement, which would lock the store for about \(Figures.duration(lock)), longer than "
                    + "limits.max_lock allows (\(Figures.duration(allowed)))"),
            wayPast:
                "this cannot be accepted; raise limits.max_lock, or write relationships: nullify in the rule, which "
                + "deletes in batches", isAcceptable: false)
    }

    /// An obstacle that comes from a Core Data model, or from a missing inverse; nil: it is a foreign key of the
    /// schema.
    private func modelDenies(_ obstacle: Survey.Obstacle) -> Refusal? {
        let relationship = obstacle.relationship
        let name = "\(relationship.source).\(relationship.sourceAttributes.joined(separator: ", "))"
        let ends = "\(Figures.count(obstacle.rowCount, "row")) of \(relationship.destination)"
        let others = survey.obstacles.count - 1
        let more = others > 0 ? "; \(Figures.count(others, "other relationship")) too" : ""
        switch obstacle.objection {
        case .pointing, .fixedReference: return nil
        case .denyRule where rule.relationships == .deny && relationship.deleteRule != .restrict:
            return refusal(
                .relationshipDenied,
                "\(ends) are at the other end of \(name), and relationships: deny does not allow that" + more)
        case .denyRule:
            return Refusal(
                .relationshipDenied,
                reason: begin(
                    "the delete rule of \(name) is deny, which a batch delete cannot carry out (Core Data's error "
                        + "134060); \(ends) would be at its other end" + more),
                wayPast: "this cannot be accepted; set relationships: nullify or cascade in the rule if that is "
                    + "intended and \(rule.entity) declares it, or change the model", isAcceptable: false)
        case .mandatoryInverse:
            return Refusal(
                .relationshipDenied,
                reason: begin(
                    "\(ends) must keep a reference to rows that would be deleted: "
                        + "\(relationship.destinationAttributes.joined(separator: ", ")), the inverse of \(name), is mandatory"
                        + more),
                wayPast: "this cannot be accepted, because the rows would violate the model of the store; delete them "
                    + "first, with a rule for \(relationship.destination) before this one, or use `relationships: cascade`",
                isAcceptable: false)
        case .unproven:
            return Refusal(
                .relationshipDenied,
                reason: begin(
                    "\(Figures.count(obstacle.rowCount, "row")) of \(name) may refer to rows that would be deleted; without a "
                        + "model this is unknown" + more),
                wayPast: "this cannot be accepted; give the model's .mom file as `store: { path:, model: }`",
                isAcceptable: false)
        case .noInverse:
            let rows = Figures.count(obstacle.rowCount, "row")
            return Refusal(
                .relationshipDenied,
                reason: begin(
                    "\(rows) of \(name) \(obstacle.rowCount == 1 ? "refers" : "refer") to rows that would be deleted, and the "
                        + "model has no inverse that would clear it" + more),
                wayPast: "this cannot be accepted; set relationships: nullify or cascade in the rule, or delete "
                    + "those rows first, with a rule for \(relationship.source) before this one", isAcceptable: false)
        }
    }
}
