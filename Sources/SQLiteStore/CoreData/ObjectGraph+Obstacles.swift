import GRDB
import PriceStore

/// Obstacles to a delete of objects.
extension ObjectGraph {
    /// The relationships that forbid the delete, with the number of rows that cause it.
    func obstacles() throws -> [Survey.Obstacle] {
        try denials() + mandatory() + dangling() + unproven()
    }

    /// Remaining rows of a store without a model that contain the key of a deleted row in a column that may be a reference.
    private func unproven() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for (table, column) in schema.unprovenReferences {
            for losing in try losingTables() {
                let removed = try connection.removedObjects(losing, removed, db)
                let number = try count([
                    " FROM temp.\(removed) AS removed CROSS JOIN main.\(table.quotedIdentifier) AS child WHERE "
                        + "child.\(column.quotedIdentifier) = removed.k0 AND removed.step = \(step) AND "
                        + (try stays(table))
                ])
                guard number > 0 else { continue }
                found.append(
                    Survey.Obstacle(
                        relationship: Relationship(
                            source: table, sourceAttributes: [column], destination: losing, destinationAttributes: [],
                            deleteRule: .noAction, isIndexed: true), rowCount: number, objection: .unproven))
            }
        }
        return found
    }

    /// The deny rules of the entity and of all entities that its cascades reach. They forbid a batch delete even if no row matches. Source:
    /// error 134060 of Apple's framework.
    func denials() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        var seen: Set<ModelLink> = []
        var waiting = links(of: entity.table, wave: 0)
        while let link = waiting.popLast() {
            guard seen.insert(link).inserted else { continue }
            switch rule(of: link) {
            case .deny:
                let number = try count(
                    try ends(of: link, "removed.step = \(step) AND " + (try stays(link.destinationTable))))
                if number > 0 || relationships != .deny || link.relationship.deleteRule == .deny {
                    found.append(link.obstacle(.denyRule, rowCount: number))
                }
            case .cascade:
                guard let destination = schema.entity(link.relationship.destination) else { continue }
                waiting += schema.links(of: destination)
            case .nullify, .noAction: break
            }
        }
        return found.sorted {
            ($0.relationship.source, $0.relationship.sourceAttributes.first ?? "")
                < ($1.relationship.source, $1.relationship.sourceAttributes.first ?? "")
        }
    }

    /// Remaining rows whose mandatory other end is deleted.
    private func mandatory() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for table in try losingTables() {
            for link in links(of: table) where rule(of: link) == .nullify {
                guard let inverse = link.inverse, !inverse.isOptional else { continue }
                let number = try count(
                    try ends(of: link, "removed.step = \(step) AND " + (try stays(link.destinationTable))))
                if number > 0 { found.append(link.obstacle(.mandatoryInverse, rowCount: number)) }
            }
        }
        return found
    }

    /// Remaining rows that refer to deleted rows through a relationship without an inverse. No rule clears it.
    private func dangling() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for table in try losingTables() {
            for link in schema.oneWayLinks(to: table) {
                guard case .own = link.storage, let part = forbidden(of: table) else { continue }
                let number = try count(try oneWay(link, "removed.step = \(step)", part, staying: true))
                if number > 0 { found.append(link.obstacle(.noInverse, rowCount: number)) }
            }
        }
        return found
    }

    /// Why rows cannot be deleted in batches, as a sentence, or nil if they can. The reason is that one row requires another and it is
    /// unknown which batch deletes each.
    func togetherObstacle() throws -> String? {
        for table in try losingTables() {
            for link in links(of: table) {
                let mustStay: Bool
                switch rule(of: link) {
                case .nullify: mustStay = link.inverse?.isOptional == false
                case .deny: mustStay = true
                case .cascade, .noAction: mustStay = false
                }
                guard mustStay else { continue }
                let other = try connection.removedObjects(link.destinationTable, removed, db)
                // A row that the cascade of its other end deletes is always in the same batch.
                let condition =
                    "removed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                    + "AND own.step = \(step)"
                    + (link.inverse?.deleteRule == .cascade ? " AND own.wave >= removed.wave)" : ")")
                for rows in try ends(of: link, condition)
                where try connection.row(SQLFragment("SELECT 1" + rows + " LIMIT 1"), db) != nil {
                    return Self.together(link)
                }
            }
            for link in schema.oneWayLinks(to: table) {
                guard case .own = link.storage, let part = forbidden(of: table) else { continue }
                let other = try connection.removedObjects(link.table, removed, db)
                let condition =
                    "removed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                    + "AND own.step = \(step))"
                for rows in try oneWay(link, condition, part)
                where try connection.row(SQLFragment("SELECT 1" + rows + " LIMIT 1"), db) != nil {
                    return Self.together(link)
                }
            }
        }
        return nil
    }

    private static func together(_ link: ModelLink) -> String {
        "rows of \(link.owner) and \(link.relationship.destination) that would be deleted require each other by the model, so they cannot be deleted in "
            + "batches"
    }
}

extension ModelLink {
    /// The relationship as an obstacle to a delete.
    func obstacle(_ objection: Survey.Obstacle.Objection, rowCount: Int) -> Survey.Obstacle {
        let described = Relationship(
            source: owner, sourceAttributes: [relationship.name], destination: relationship.destination,
            destinationAttributes: [inverse?.name].compactMap(\.self), deleteRule: .noAction, isIndexed: true)
        return Survey.Obstacle(relationship: described, rowCount: rowCount, objection: objection)
    }
}
