import PriceStore

extension SurveyQuery {
    /// Why row security makes a rule's counts something else than what its deletes do, as a sentence; nil: it does not.
    ///
    /// The user counts the rows that its SELECT policies show. Of these it deletes those that its DELETE policies allow,
    /// and the server says nothing of the others. Source: PostgreSQL manual, CREATE POLICY, "Application of Multiple Policies".
    func rowSecurityObstacle(_ rows: SurveyRows) throws -> String? {
        let table = rows.scope.table
        let keys = try ReachOfDelete(of: table, rows.request.relationships, session).keys
        for source in Set(keys.map(\.source)).sorted() {
            if let child = try session.table(source), try session.isRowSecurityActive(child) {
                return "row security of \(source) hides rows from this user that refer to rows of \(table.name): "
                    + "what happens to them cannot be predicted"
            }
        }
        guard try session.isRowSecurityActive(table) else { return nil }
        let policies = try session.rows(
            "SELECT polpermissive, pg_get_expr(polqual, polrelid) AS condition FROM pg_policy WHERE polcmd IN ('d', '*') "
                + "AND EXISTS (SELECT 1 FROM unnest(polroles) r WHERE r = 0 OR pg_has_role(r, 'USAGE')) AND polrelid = "
                + .bound("\(table.oid)", "oid") + " ORDER BY polname")
        func conditions(permissive: Bool) throws -> [String] {
            try policies.filter { try $0.isTrue("polpermissive") == permissive }.compactMap {
                try $0.optionalText("condition").map { "(\($0))" }
            }
        }
        let permissive = try conditions(permissive: true)
        let allowed =
            try
            (["(" + (permissive.isEmpty ? "FALSE" : permissive.joined(separator: " OR ")) + ")"]
            + conditions(permissive: false)).joined(separator: " AND ")
        // The texts are the catalog's, and name the columns by the table's own name.
        let kept = RowScope(
            table,
            source: "(SELECT tableoid, ctid, * FROM \(table.sql) AS \(table.relation.quotedIdentifier) "
                + "WHERE (\(allowed)) IS NOT TRUE)")
        let count = try session.count(
            "SELECT count(*) FROM \(kept.from)" + (try session.condition(rows.request.expired, kept)).whereClause)
        guard count > 0 else { return nil }
        return "row security shows this user \(count.counted("expired row")) of \(table.name) that it must not delete: "
            + "leave them out with `where`, or by a restrictive policy for all commands"
    }
}
