import GRDB
import PriceStore

/// Obstacles to a delete that was followed through its foreign keys.
extension SQLiteFile {
    /// Rows that refer to rows to be deleted although the schema or the rule forbids it. An earlier rule must delete them, because it is
    /// unknown in which batch of this rule a row is deleted.
    func obstacles(
        _ request: SurveyRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        let graph = try keyGraph(of: request.entity, request.relationships, db)
        for parent in try losing(removed, step: step, db) {
            for key in graph.keys(into: parent) {
                var stays = "NOT " + (try childIsRemoved(key, removed, steps: "< \(step)", db))
                switch key.deleteRule {
                case .restrict, .setDefault: break
                // A row that refers to itself depends on no other row. `deny` allows no reference at all.
                case .noAction: stays += try request.relationships == .deny ? "" : isAnother(key, db)
                case .nullify where try !isNullable(key, db): break
                case .cascade, .nullify:
                    guard request.relationships == .deny else { continue }
                }
                let rows = try references(key, removed, "removed.step = \(bound: step) AND \(stays)", db)
                let number = try count("SELECT count(*) FROM (SELECT DISTINCT \(childKeys(key, db))\(rows))", db)
                if number > 0 { found.append(Survey.Obstacle(relationship: key, rowCount: number)) }
            }
        }
        return found
    }

    /// A further condition that the child is not the removed row itself; empty if they belong to two tables.
    private func isAnother(_ key: Relationship, _ db: Database) throws -> String {
        guard key.source.folded == key.destination.folded else { return "" }
        return " AND NOT (\(try scope(key.source, db).table.keySQL.map { "child." + $0 }.areFound(by: "removed")))"
    }

    private func isNullable(_ key: Relationship, _ db: Database) throws -> Bool {
        let child = try scope(key.source, db).table
        return key.sourceAttributes.allSatisfy { child.isNullable($0) }
    }

    /// Why a rule would select other rows in its last batch than in its first, or nil: a relationship changes, during this or an earlier
    /// rule, an attribute by which the rule selects. All rules decide on the store as it was, and a delete by the changed values could
    /// remove rows that no rule selected.
    func changingChoice(
        _ request: SurveyRequest, _ table: SQLiteTable, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> String? {
        for key in table.entity.relationships(choosing: request.expired) {
            // Each rule may override the relationship.
            let changing = (0...step).filter { removed.steps[$0].deleteRule(of: key) == .nullify }
            let isThere = "NOT " + (try childIsRemoved(key, removed, steps: "< \(step)", db))
            let steps = changing.map(String.init).list
            let rows = try references(key, removed, "removed.step IN (\(steps)) AND \(isThere)", db)
            if try exists("SELECT 1\(rows)", db) { return key.changingChoice }
        }
        return nil
    }
}
