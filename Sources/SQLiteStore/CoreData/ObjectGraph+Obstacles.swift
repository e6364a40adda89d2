import GRDB
import PriceStore

/// What stands in the way of a delete of objects.
extension ObjectGraph {
    /// Relationships that forbid the delete, with the rows that stand in the way.
    func obstacles() throws -> [Survey.Obstacle] {
        try denials() + mandatory() + dangling() + unproven()
    }

    /// Rows of a store without a model that stay and hold a key that goes in a column that may be a reference.
    private func unproven() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for (table, column) in schema.unprovenReferences {
            for losing in try losingTables() {
                let doomed = try connection.doomedObjects(losing, doomed, db)
                let number = try count([
                    " FROM temp.\(doomed) AS doomed CROSS JOIN main.\(table.quotedIdentifier) AS child WHERE "
                        + "child.\(column.quotedIdentifier) = doomed.k0 AND doomed.step = \(step) AND "
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

    /// Deny rules of the entity and of all entities that its cascades reach: they forbid a batch delete even if no row
    /// matches. Source: the error 134060 of Apple's framework.
    func denials() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        var seen: Set<ModelLink> = []
        var waiting = links(of: entity.table, wave: 0)
        while let link = waiting.popLast() {
            guard seen.insert(link).inserted else { continue }
            switch rule(of: link) {
            case .deny:
                let number = try count(
                    try ends(of: link, "doomed.step = \(step) AND " + (try stays(link.destinationTable))))
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

    /// Rows that stay and must have an other end that goes.
    private func mandatory() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for table in try losingTables() {
            for link in links(of: table) where rule(of: link) == .nullify {
                guard let inverse = link.inverse, !inverse.isOptional else { continue }
                let number = try count(
                    try ends(of: link, "doomed.step = \(step) AND " + (try stays(link.destinationTable))))
                if number > 0 { found.append(link.obstacle(.mandatoryInverse, rowCount: number)) }
            }
        }
        return found
    }

    /// Rows that stay and point at rows that go, by a relationship without a way back: nothing would clear it.
    private func dangling() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for table in try losingTables() {
            for link in schema.oneWayLinks(to: table) {
                guard case .own = link.storage, let part = forbidden(of: table) else { continue }
                let number = try count(try oneWay(link, "doomed.step = \(step)", part, staying: true))
                if number > 0 { found.append(link.obstacle(.noInverse, rowCount: number)) }
            }
        }
        return found
    }

    /// Whether rows that go must not be parted: one must have the other, and only a common batch takes both.
    func mustGoTogether() throws -> Bool {
        for table in try losingTables() {
            for link in links(of: table) {
                let mustStay: Bool
                switch rule(of: link) {
                case .nullify: mustStay = link.inverse?.isOptional == false
                case .deny: mustStay = true
                case .cascade, .noAction: mustStay = false
                }
                guard mustStay else { continue }
                let other = try connection.doomedObjects(link.destinationTable, doomed, db)
                // A row that went by the cascade of its other end is always in the same batch.
                let condition =
                    "doomed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                    + "AND own.step = \(step)"
                    + (link.inverse?.deleteRule == .cascade ? " AND own.wave >= doomed.wave)" : ")")
                for rows in try ends(of: link, condition)
                where try connection.row(SQLFragment("SELECT 1" + rows + " LIMIT 1"), db) != nil {
                    return true
                }
            }
            for link in schema.oneWayLinks(to: table) {
                guard case .own = link.storage, let part = forbidden(of: table) else { continue }
                let other = try connection.doomedObjects(link.table, doomed, db)
                let condition =
                    "doomed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                    + "AND own.step = \(step))"
                for rows in try oneWay(link, condition, part)
                where try connection.row(SQLFragment("SELECT 1" + rows + " LIMIT 1"), db) != nil {
                    return true
                }
            }
        }
        return false
    }
}

extension ModelLink {
    /// The relationship and why it stands in the way of a delete.
    func obstacle(_ objection: Survey.Obstacle.Objection, rowCount: Int) -> Survey.Obstacle {
        let described = Relationship(
            source: owner, sourceAttributes: [relationship.name], destination: relationship.destination,
            destinationAttributes: [inverse?.name].compactMap(\.self), deleteRule: .noAction, isIndexed: true)
        return Survey.Obstacle(relationship: described, rowCount: rowCount, objection: objection)
    }
}
