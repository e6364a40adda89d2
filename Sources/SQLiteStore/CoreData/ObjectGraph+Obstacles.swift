import GRDB
import PriceStore

/// Obstacles to a delete of objects.
extension ObjectGraph {
    /// The relationships that forbid the delete, with the number of rows that cause it.
    func obstacles() throws -> [Survey.Obstacle] {
        try denials() + mandatory() + dangling()
    }

    /// The deny rules of the entity and of all entities that its cascades reach. They forbid a batch delete even if no row matches. Source:
    /// error 134060 of Apple's framework.
    func denials() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        var seen: Set<ModelLink> = []
        var waiting = schema.links(of: entity)
        while let link = waiting.popLast() {
            guard seen.insert(link).inserted else { continue }
            switch link.relationship.deleteRule {
            case .deny:
                let number = try count(
                    try ends(of: link, "removed.step = \(step) AND " + (try stays(link.destinationTable))))
                found.append(link.obstacle(.denyRule, rowCount: number))
            case .cascade:
                guard let destination = schema.entity(link.relationship.destination) else { continue }
                waiting += schema.links(of: destination)
            case .nullify, .noAction: break
            }
        }
        return found.sorted {
            ($0.relationship.source, $0.relationship.sourceAttributes.joined())
                < ($1.relationship.source, $1.relationship.sourceAttributes.joined())
        }
    }

    /// Remaining rows whose mandatory other end is deleted.
    private func mandatory() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for link in try losingLinks() where link.relationship.deleteRule == .nullify {
            guard let inverse = link.inverse, !inverse.isOptional else { continue }
            let number = try count(
                try ends(of: link, "removed.step = \(step) AND " + (try stays(link.destinationTable))))
            if number > 0 { found.append(link.obstacle(.mandatoryInverse, rowCount: number)) }
        }
        return found
    }

    /// Remaining rows that refer to deleted rows through a relationship without an inverse. No rule clears it.
    private func dangling() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for link in try oneWayLinks() {
            guard case .own(let reference) = link.storage else { continue }
            let stays = try stays(link.table)
            let number = try count([try oneWay(link, reference, "removed.step = \(step) AND \(stays)")])
            if number > 0 { found.append(link.obstacle(.noInverse, rowCount: number)) }
        }
        return found
    }

    /// Why rows cannot be deleted in batches, as a sentence, or nil if they can. The reason is that one row requires another and it is
    /// unknown which batch deletes each.
    func togetherObstacle() throws -> String? {
        // The row at the other end is deleted, too.
        func isRemoved(_ table: String, _ further: String = "") throws -> String {
            let other = try connection.removedTable(table, removed, db)
            return "removed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                + "AND own.step = \(step)\(further))"
        }
        for link in try losingLinks() {
            // A rule to deny has refused the delete by now.
            guard link.relationship.deleteRule == .nullify, link.inverse?.isOptional == false else { continue }
            // A row that the cascade of its other end deletes is always in the same batch.
            let isLater = link.inverse?.deleteRule == .cascade ? " AND own.wave >= removed.wave" : ""
            let ends = try ends(of: link, isRemoved(link.destinationTable, isLater))
            if try ends.contains(where: { try connection.exists("SELECT 1\($0)", db) }) { return Self.together(link) }
        }
        for link in try oneWayLinks() {
            guard case .own(let reference) = link.storage else { continue }
            let rows = try oneWay(link, reference, isRemoved(link.table))
            if try connection.exists("SELECT 1\(rows)", db) { return Self.together(link) }
        }
        return nil
    }

    private static func together(_ link: ModelLink) -> String {
        "rows of \(link.owner) and \(link.relationship.destination) that would be deleted require each other by the model, so they cannot be deleted in "
            + "batches"
    }
}

extension ModelLink {
    func obstacle(_ objection: Survey.Obstacle.Objection, rowCount: Int) -> Survey.Obstacle {
        let described = Relationship(
            source: owner, sourceAttributes: [relationship.name], destination: relationship.destination,
            destinationAttributes: [inverse?.name].compactMap(\.self), deleteRule: .noAction, isIndexed: true)
        return Survey.Obstacle(relationship: described, rowCount: rowCount, objection: objection)
    }
}
