import PriceStore

/// The picks of a rule in temporary tables, for the batches of one deletion.
///
/// After a commit of another session a pick may be deleted, and a late row may be the only one of its bucket. To find the picks
/// again in each batch would take longer than the deletes. So the rows of a bucket are then deleted only if its pick still exists,
/// and the others with the next deletion.
struct PickTables {
    /// Nil: no row was before the cutoff.
    fileprivate let query: ThinningQuery?
    /// The table of the keys of the picks before the cutoff.
    fileprivate let kept: String
    /// The table of the pick of each bucket that is still within the age of its tier.
    fileprivate let picks: String
    /// Whether another session may have written since the picks were found.
    fileprivate var isOutdated: Bool

    fileprivate var isNotPicked: SQLFragment {
        guard let query else { return isOutdated ? .never : .always }
        return isOutdated ? .all([query.isNotKept(kept), query.isBesidePicks(picks)]) : query.isNotKept(kept)
    }
}

extension PostgresConnection {
    /// Whether the batches of a deletion can have tables of picks. A role may have no privilege to create them: then the
    /// picks are found again in each batch.
    func canListPicks() throws -> Bool {
        try rows(SQLFragment("SELECT has_database_privilege(current_database(), 'TEMP')")).first?[0] == "t"
    }

    /// Finds the picks that the batches of a deletion spare. Nobody waits for it.
    func listPicks(of predicate: StorePredicate, _ table: PostgresTable) throws(StoreError) {
        let counts = known?.ofDeletes
        try batch("listing the rows that \(table.name) keeps", isolation: "REPEATABLE READ") {
            try makePickTables(of: predicate, table)
        }
        // What deletes find is as it was.
        if let counts { known?.ofDeletes = counts }
    }

    /// Carries out the body of a batch that spares the listed picks.
    func sparingPicks<T>(of predicate: StorePredicate, _ table: PostgresTable, _ body: () throws -> T) throws -> T {
        // They are gone with the session that had them. Each statement sees a state of its own here.
        if pickTables.isEmpty { try makePickTables(of: predicate, table, isOutdated: true) }
        usesPickTables = true
        defer { usesPickTables = false }
        return try body()
    }

    private func makePickTables(
        of predicate: StorePredicate, _ table: PostgresTable, isOutdated: Bool = false
    ) throws {
        for old in pickTables.values { try execute(SQLFragment("DROP TABLE IF EXISTS \(old.kept), \(old.picks)")) }
        pickTables = [:]
        for (number, thinning) in predicate.thinnings.enumerated() {
            let query = try ThinningQuery(thinning, RowScope(table), self)
            let (kept, picks) = ("pg_temp.retention_kept_\(number)", "pg_temp.retention_picks_\(number)")
            if let query {
                let keys = query.keys.joined(separator: ", ")
                try execute("CREATE TEMP TABLE \(picks) AS " + query.picks)
                for statement in [
                    "CREATE INDEX ON \(picks) (tier, bucket, h)",
                    "CREATE TEMP TABLE \(kept) AS SELECT DISTINCT \(keys) FROM \(picks) WHERE expired",
                    "CREATE UNIQUE INDEX ON \(kept) (\(keys))", "ANALYZE \(picks)", "ANALYZE \(kept)",
                ] { try execute(SQLFragment(statement)) }
            }
            pickTables[ThinnedRows.Key(table: table.number, thinning: thinning)] = PickTables(
                query: query, kept: kept, picks: picks, isOutdated: isOutdated)
        }
    }

    /// The condition that a row is not a listed pick.
    func notListed(_ key: ThinnedRows.Key) throws -> SQLFragment {
        guard var tables = pickTables[key] else {
            throw StoreError(.defect, store: name, message: "the rows to keep are not listed")
        }
        if try !tables.isOutdated && !isAsKnown() {
            tables.isOutdated = true
            pickTables[key] = tables
        }
        return tables.isNotPicked
    }
}
