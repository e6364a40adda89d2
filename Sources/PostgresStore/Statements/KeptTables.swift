import PriceStore

/// The rows that a rule keeps, in temporary tables for the batches of one deletion.
///
/// When others change the table, a kept row may disappear, and a late row may be the only one of its bucket. To find the kept rows again in
/// each batch would take longer than the deletes. So a batch deletes a row only while the kept rows of its group or bucket are all there as
/// they were found. The other rows may wait for the next run.
struct KeptTables {
    var names: [String] = []
    /// The condition that a row is not listed, and that all listed rows of its group or bucket exist. It is built once, because it may
    /// contain the starts of all buckets.
    let mayGo: SQLFragment
    /// Expressions for the group and the buckets of a deleted row in which other rows are kept. NULL means that none depends on it.
    var touched: [SQLFragment] = []
    /// Queries for kept rows that have gone or changed, in some groups and buckets: a list for each of ``touched``.
    var changed: (TouchedBuckets) -> [SQLFragment] = { _ in [] }
}

/// The groups and buckets of the rows that a statement has deleted: for each column of ``PostgresDatabase/touchedColumns(_:_:)``, a list
/// in the server's format.
typealias TouchedBuckets = [String?]

extension PostgresDatabase {
    /// The parts of a condition whose kept rows the batches of a deletion can look up in temporary tables. If there are none, each batch
    /// finds the kept rows again, in one state of the database.
    func keepersToList(_ predicate: StorePredicate, _ table: PostgresTable) throws -> [Keeper] {
        guard transactionDepth == 0, !table.entity.primaryKey.isEmpty, !table.isDistributed,
            let keepers = predicate.keepers, !keepers.isEmpty,
            try exists("SELECT 1 WHERE has_database_privilege(current_database(), 'TEMP')"),
            try keepers.allSatisfy({ keeper in
                guard case .newest(let keepLast) = keeper.kept else { return true }
                return try areHashable(keepLast.groupedBy, RowScope(table))
            })
        else { return [] }
        return keepers
    }

    /// Whether the server can find groups of some columns by a hash.
    private func areHashable(_ names: [String], _ scope: RowScope) throws -> Bool {
        guard !names.isEmpty else { return true }
        let values = try names.map { "NULL::\(scope.table.valueType(try scope.attribute($0)))" }
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
    func listKept(_ keepers: [Keeper], _ table: PostgresTable, isFirst: Bool) throws(StoreError) {
        guard isFirst || keepers.contains(where: { keptTables[key($0, table)] == nil }) else { return }
        try batch("listing the rows that \(table.name) keeps", isolation: "REPEATABLE READ") {
            if isFirst {
                let names = keptTables.values.flatMap(\.names)
                if !names.isEmpty { try execute("DROP TABLE IF EXISTS \(names.joined(separator: ", "))") }
                keptTables = [:]
            }
            try makeKeptTables(keepers, table)
        }
    }

    /// Runs the body of a batch that spares the listed rows.
    func sparingListed<T>(_ keepers: [Keeper], _ table: PostgresTable, _ body: () throws -> T) throws -> T {
        // The tables disappear with their session.
        try makeKeptTables(keepers, table)
        looksUpKeptRows = true
        defer { looksUpKeptRows = false }
        return try body()
    }

    private func key(_ keeper: Keeper, _ table: PostgresTable) -> Keeper.Key {
        Keeper.Key(table: table.oid, kept: keeper.kept)
    }

    private func makeKeptTables(_ keepers: [Keeper], _ table: PostgresTable) throws {
        let scope = RowScope(table)
        for keeper in keepers where keptTables[key(keeper, table)] == nil {
            // The query of kept rows must not use tables that do not exist yet.
            keptTables[key(keeper, table)] =
                switch keeper.kept {
                case .newest(let keepLast): try listNewest(keepLast, scope, keptTables.count)
                case .picks(let thinning): try listPicks(thinning, scope, keptTables.count)
                }
        }
    }

    private func listNewest(_ keepLast: KeepLast, _ scope: RowScope, _ number: Int) throws -> KeptTables {
        let query = try NewestRowsQuery(keepLast, scope, self, table: "pg_temp.retention_newest_\(number)")
        for statement in query.make { try execute(statement) }
        return KeptTables(names: [query.table], mayGo: query.isBeforeKept, touched: [SQLFragment(query.group)]) {
            [query.changed(in: $0[0])]
        }
    }

    private func listPicks(_ thinning: Thinning, _ scope: RowScope, _ number: Int) throws -> KeptTables {
        guard let query = try ThinningQuery(thinning, scope, self) else {
            // No bucket kept a row. Whatever rows were added since, a row in a bucket that is too old for every tier is not kept.
            let date = try scope.date(thinning.date)
            return KeptTables(
                mayGo: thinning.startOfLiveBuckets.map { "(" + date.readable(before: $0) + ") IS TRUE" } ?? .never)
        }
        let (kept, picks) = ("pg_temp.retention_kept_\(number)", "pg_temp.retention_picks_\(number)")
        for statement in query.lists(kept: kept, picks: picks) { try execute(statement) }
        return KeptTables(
            names: [kept, picks], mayGo: .all([query.isNotKept(kept), query.isBesidePicks(picks)]),
            touched: [SQLFragment(query.group)] + query.livingBuckets
        ) { query.changed(in: $0, picks) }
    }

    func listed(_ kept: Keeper.Kept, _ scope: RowScope) throws -> KeptTables {
        guard let tables = keptTables[Keeper.Key(table: scope.table.oid, kept: kept)] else {
            throw StoreError(.defect, store: name, message: "the rows to keep are not listed")
        }
        return tables
    }

    // MARK: What a batch has deleted

    /// The groups and buckets of a deleted row in which other rows are kept, as ``KeptTables/touched``.
    func touchedColumns(_ keepers: [Keeper], _ scope: RowScope) throws -> [SQLFragment] {
        try keepers.flatMap { keeper in
            let among = try keeper.among.map { try condition($0, scope) }
            return try listed(keeper.kept, scope).touched.map { column in
                among.map { "CASE WHEN (" + $0 + ") IS TRUE THEN " + column + " END" } ?? column
            }
        }
    }

    /// Throws if a kept row has gone or changed in a group or bucket of which a batch has deleted rows. The statement sees what others
    /// committed while the batch waited for them.
    func checkKept(_ keepers: [Keeper], _ scope: RowScope, touched: [TouchedBuckets], firesTriggers: Bool) throws {
        for lists in touched {
            var rest = ArraySlice(lists)
            for tables in try keepers.map({ try listed($0.kept, scope) }) {
                for query in tables.changed(Array(rest.prefix(tables.touched.count))) where try exists(query) {
                    // The next try finds them again. Triggers would change them in each try, so the rule fails.
                    let culprit = firesTriggers ? ", by a trigger or by another program" : ""
                    throw StoreError(
                        firesTriggers ? .constraint : .busy, store: name,
                        message: "rows that a rule keeps are deleted or changed while a batch deletes others\(culprit)",
                        engineCode: "SQLSTATE 40001", hint: "nothing of this batch is deleted; run again")
                }
                rest = rest.dropFirst(tables.touched.count)
            }
        }
    }
}
