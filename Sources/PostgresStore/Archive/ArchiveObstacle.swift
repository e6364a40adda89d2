package import PriceStore

extension PostgresDatabase {
    /// Why the rows of a request cannot be archived: something deleted with them cannot be known, or could not be restored.
    package func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        try run("looking at what a delete changes") {
            guard let table = try table(request.entity) else { return nil }
            if let rollup = request.deleting.rollup, let target = try self.table(rollup.target),
                let reason = try obstacle(toUndoneCandlesOf: target)
            {
                return reason
            }
            if table.aggregate != nil {
                return "\(table.name) is a continuous aggregate, into which no rows can be inserted"
            }
            return try ReachOfDelete(of: table, request.relationships.followed, self).archiveObstacle()
        }
    }
}

extension ReachOfDelete {
    /// The most columns of a table. Source: PostgreSQL manual, "PostgreSQL Limits".
    private static let mostColumns = 1600

    /// Why the rows of a delete cannot be archived, as a clause; nil if they can.
    fileprivate func archiveObstacle() throws -> String? {
        for table in losing {
            if table.hasChildren, !table.isHypertable {
                return "other tables inherit from \(table.name), and their rows could not be distinguished"
            }
            if table.entity.attributes.count >= Self.mostColumns {
                return "\(table.name) has \(Self.mostColumns) columns, and a table of the archive needs one more"
            }
        }
        if let trigger = try trigger() {
            return "the trigger or rule \(trigger) fires, and what it deletes or changes is not known"
        }
        if let reason = try changeBehind() ?? overlap() { return reason }
        for cleared in try cleared() {
            let (name, key) = (cleared.table.name, cleared.table.entity.primaryKey)
            if key.isEmpty { return "rows of \(name), which has no primary key, lose a reference" }
            if let column = key.first(where: cleared.columns.contains) {
                return "\(column) of \(name) is a reference that is cleared, and a part of its primary key"
            }
        }
        return nil
    }
}

extension PostgresDatabase {
    /// Why an undo of candles of a table would make changes that an archive does not have; nil if it would not.
    func obstacle(toUndoneCandlesOf table: PostgresTable) throws -> String? {
        if let key = try ReachOfDelete(of: table, .asDeclared, self).keys.first {
            return "rows of \(key.source) refer to candles of \(table.name), and an undo could not delete these candles"
        }
        return try row(
            """
            \(Self.tree("\(table.oid)::oid"))
            SELECT 'trigger' AS kind, tgname AS name FROM pg_trigger JOIN tree ON tree.oid = tgrelid WHERE NOT tgisinternal AND tgenabled <> 'D'
            AND \(TimescaleSQL.isNotItsOwn("tgfoid"))
            UNION ALL SELECT 'rule', rulename FROM pg_rewrite JOIN tree ON tree.oid = ev_class WHERE ev_enabled <> 'D'
            ORDER BY 1, 2
            """
        ).map {
            try "the \($0.text("kind")) \($0.text("name")) of \(table.name) changes how candles are written and deleted"
        }
    }
}
