import PriceStore

/// The rows that a rule keeps, in temporary tables for the batches of one deletion.
///
/// When others change the table, a kept row may disappear, and a late row may be the only one of its bucket. To find the kept rows again in
/// each batch would take longer than the deletes. So a batch deletes a row only while the kept rows of its group or bucket are all there as
/// they were found. The other rows may wait for the next run.
enum KeptTables {
    /// The newest rows of each group.
    case newest(NewestRowsQuery)
    /// The picks of each bucket; nil if no row was before the cutoff.
    case picks(PickTables?)
}

/// The groups and buckets of the rows that a statement has deleted: for each column of ``PostgresConnection/touchedColumns(_:_:)``, a list
/// in the server's format.
typealias TouchedBuckets = [String?]

extension PostgresConnection {
    /// Whether the batches of a deletion can look kept rows up in temporary tables. Otherwise each batch finds the kept rows again, in one
    /// state of the database.
    func canListKept(_ predicate: StorePredicate, _ table: PostgresTable) throws -> Bool {
        guard transactionDepth == 0, !table.entity.primaryKey.isEmpty, !table.isDistributed,
            let keepers = predicate.keepers,
            try exists(SQLFragment("SELECT 1 WHERE has_database_privilege(current_database(), 'TEMP')"))
        else { return false }
        return try keepers.allSatisfy { keeper in
            guard case .notKept(let keepLast)? = keeper.predicate.spared else { return true }
            return try areHashable(keepLast.groupedBy, RowScope(table))
        }
    }

    /// Whether the server can find groups of some columns by a hash.
    private func areHashable(_ names: [String], _ scope: RowScope) throws -> Bool {
        guard !names.isEmpty else { return true }
        let values = try names.map {
            "NULL::\(scope.table.valueType(try scope.attribute($0, store: name).name))"
        }
        do {
            _ = try execute("SELECT hash_record_extended(ROW(\(values.joined(separator: ", "))), 0)")
            return true
        } catch let fault as ServerFault where fault.code == "42883" {
            return false
        }
    }

    /// Finds the rows that the batches of a deletion spare. It blocks no other session.
    ///
    /// - Parameter isFirst: whether a pass begins, which discards the rows found earlier.
    func listKept(
        of predicate: StorePredicate, _ table: PostgresTable, isFirst: Bool
    ) throws(StoreError) {
        guard isFirst || !missingTables(of: predicate, table).isEmpty else { return }
        try batch("listing the rows that \(table.name) keeps", isolation: "REPEATABLE READ") {
            if isFirst { try dropKeptTables() }
            try makeKeptTables(of: predicate, table)
        }
    }

    /// Runs the body of a batch that spares the listed rows.
    func sparingListed<T>(
        of predicate: StorePredicate, _ table: PostgresTable, _ body: () throws -> T
    ) throws -> T {
        // The tables disappear with their session.
        try makeKeptTables(of: predicate, table)
        looksUpKeptRows = true
        defer { looksUpKeptRows = false }
        return try body()
    }

    /// The error of a batch during which kept rows may have changed. The next try finds them again.
    ///
    /// - Parameter byTriggers: whether triggers may have changed them. They would do so in each try, so the rule fails.
    func keptRowsChanged(byTriggers: Bool) -> StoreError {
        let culprit = byTriggers ? ", by a trigger or by another program" : ""
        return StoreError(
            byTriggers ? .constraint : .busy, store: name,
            message: "rows that a rule keeps are deleted or changed while a batch deletes others\(culprit)",
            engineCode: "SQLSTATE 40001", hint: "nothing of this batch is deleted; run again")
    }

    private func missingTables(of predicate: StorePredicate, _ table: PostgresTable) -> [StorePredicate] {
        (predicate.keepers ?? []).map(\.predicate).filter {
            keptTables[Keeper.Key(table: table.oid, predicate: $0)] == nil
        }
    }

    private func dropKeptTables() throws {
        let names = keptTables.values.flatMap(\.names)
        if !names.isEmpty { try execute("DROP TABLE IF EXISTS \(names.joined(separator: ", "))") }
        keptTables = [:]
    }

    private func makeKeptTables(of predicate: StorePredicate, _ table: PostgresTable) throws {
        let scope = RowScope(table)
        // The query of kept rows must not use tables that do not exist yet.
        for keeper in missingTables(of: predicate, table) {
            let key = Keeper.Key(table: table.oid, predicate: keeper)
            guard keptTables[key] == nil else { continue }
            let number = keptTables.count
            switch keeper.spared {
            case .notKept(let keepLast):
                let query = try NewestRowsQuery(keepLast, scope, self, table: "pg_temp.retention_newest_\(number)")
                for statement in query.make { try execute(statement) }
                keptTables[key] = .newest(query)
            case .notPicked(let thinning):
                let query = try ThinningQuery(thinning, scope, self)
                let tables = query.map {
                    PickTables(
                        query: $0, kept: "pg_temp.retention_kept_\(number)", picks: "pg_temp.retention_picks_\(number)")
                }
                for statement in tables?.make ?? [] { try execute(statement) }
                keptTables[key] = .picks(tables)
            case .notHeld, nil: continue
            }
        }
    }

    private func listed(_ keeper: StorePredicate, _ scope: RowScope) throws -> KeptTables {
        guard let tables = keptTables[Keeper.Key(table: scope.table.oid, predicate: keeper)] else {
            throw StoreError(.defect, store: name, message: "the rows to keep are not listed")
        }
        return tables
    }

    /// The condition that a row is not listed, and that all listed rows of its group or bucket exist.
    func notListed(_ keeper: StorePredicate, _ scope: RowScope) throws -> SQLFragment {
        switch try listed(keeper, scope) {
        case .newest(let query): return query.isBeforeKept
        case .picks(let tables?): return .all([tables.query.isNotKept(tables.kept), tables.isBesidePicks])
        case .picks(nil):
            // No bucket kept a row. Whatever rows were added since, a row in a bucket that is too old for every tier is not kept.
            guard case .notPicked(let thinning)? = keeper.spared, let end = thinning.startOfLiveBuckets else {
                return .never
            }
            return "(" + (try scope.date(thinning.date, store: name)).readable(before: end) + ") IS TRUE"
        }
    }

    // MARK: What a batch has deleted

    /// Expressions for the groups and buckets of a deleted row in which other rows are kept. NULL means that none depends on it.
    func touchedColumns(_ keepers: [Keeper], _ scope: RowScope) throws -> [SQLFragment] {
        try keepers.flatMap { keeper in
            let among = try keeper.among.map { try condition($0, scope) }
            return try listed(keeper.predicate, scope).touched.map { column in
                among.map { "CASE WHEN (" + $0 + ") IS TRUE THEN " + column + " END" } ?? column
            }
        }
    }

    /// Throws if a kept row has gone or changed in a group or bucket of which a batch has deleted rows. The statement sees what others
    /// committed while the batch waited for them.
    func checkKept(_ keepers: [Keeper], _ scope: RowScope, touched: [TouchedBuckets], firesTriggers: Bool) throws {
        for lists in touched {
            var first = 0
            for keeper in keepers {
                let tables = try listed(keeper.predicate, scope)
                let own = Array(lists[first..<first + tables.touched.count])
                first += tables.touched.count
                for query in tables.changed(in: own) where try exists(query) {
                    throw keptRowsChanged(byTriggers: firesTriggers)
                }
            }
        }
    }
}

extension KeptTables {
    fileprivate var names: [String] {
        switch self {
        case .newest(let query): [query.table]
        case .picks(let tables): tables.map { [$0.kept, $0.picks] } ?? []
        }
    }

    fileprivate var touched: [SQLFragment] {
        switch self {
        case .newest(let query): [SQLFragment(query.group)]
        case .picks(let tables): tables?.touched ?? []
        }
    }

    /// Queries for kept rows that have gone or changed, in the groups and buckets of the lists.
    fileprivate func changed(in lists: TouchedBuckets) -> [SQLFragment] {
        switch self {
        case .newest(let query): [query.changed(in: lists[0])]
        case .picks(nil): []
        case .picks(let tables?):
            tables.query.thinning.tiers.indices.map { tables.changed(in: lists[0], lists[$0 + 1], tier: $0) }
        }
    }
}

/// The picks of a rule, in temporary tables.
struct PickTables {
    let query: ThinningQuery
    /// The table with the keys of the picks before the cutoff.
    let kept: String
    /// The table with the pick of each bucket within the age of its tier.
    let picks: String
    /// The condition on the rows of each batch. It contains the starts of all buckets, and is built once.
    fileprivate let isBesidePicks: SQLFragment
    fileprivate let touched: [SQLFragment]

    fileprivate init(query: ThinningQuery, kept: String, picks: String) {
        (self.query, self.kept, self.picks) = (query, kept, picks)
        isBesidePicks = query.isBesidePicks(picks)
        touched = [SQLFragment(query.group)] + query.livingBuckets
    }

    /// The statements that create the tables.
    fileprivate var make: [SQLFragment] {
        let keys = query.keys.joined(separator: ", ")
        return ["CREATE TEMP TABLE \(picks) AS " + query.picks]
            + [
                "CREATE INDEX ON \(picks) (tier, bucket, h)",
                "CREATE TEMP TABLE \(kept) AS SELECT DISTINCT \(keys) FROM \(picks) WHERE expired",
                "CREATE UNIQUE INDEX ON \(kept) (\(keys))", "ANALYZE \(picks)", "ANALYZE \(kept)",
            ].map { SQLFragment($0) }
    }

    /// A query for picks that have gone or changed.
    ///
    /// - Parameters:
    ///   - groups: a list of numbers of groups.
    ///   - buckets: the bucket of a tier for each group.
    fileprivate func changed(in groups: String?, _ buckets: String?, tier: Int) -> SQLFragment {
        "SELECT 1 FROM (SELECT DISTINCT * FROM unnest(" + .bound(groups, "int8[]") + ", " + .bound(buckets, "int4[]")
            + ") AS pairs (h, bucket)) AS touched JOIN \(picks) AS picked ON picked.tier = \(tier) "
            + "AND picked.bucket = touched.bucket AND picked.h = touched.h WHERE NOT " + query.isThere + " LIMIT 1"
    }
}
