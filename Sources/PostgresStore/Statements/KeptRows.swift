import PriceStore

/// The newest rows that a rule keeps, as thresholds: in each group, rows at or after the threshold stay.
///
/// They are valid for the state of the database in which they were found. They are bound as lists, because a dry run cannot create a
/// temporary table. Batches use a ``NewestRowsQuery`` if possible.
struct KeptRows {
    /// The groups in which the same attributes are NULL. The other attributes can be compared with `=`, which can be hashed.
    struct Pattern {
        var isNull: [Bool]
        /// One list for each attribute that is not NULL.
        var values: [[String?]]
        var thresholds: [String]
    }

    var patterns: [Pattern]
    /// Whether every row is kept, because there are no more than the rule keeps.
    var isEverything = false
}

extension PostgresDatabase {
    /// The condition that a row is not one of the newest of its group.
    ///
    /// - Parameter among: the rows that may be kept. Other rows meet the condition.
    func notKept(_ keepLast: KeepLast, among: SQLFragment = .always, _ scope: RowScope) throws -> SQLFragment {
        let isOther = among == .always ? [] : ["(" + among + ") IS NOT TRUE"]
        if looksUpKeptRows { return .any(isOther + [try listed(.newest(keepLast), scope).mayGo]) }
        let kept = try inThisState(.newest(keepLast), scope) { try readKeptRows(keepLast, scope) }
        if kept.isEverything { return .any(isOther + [.never]) }
        let date = try scope.date(keepLast.date)
        let attributes = try keepLast.groupedBy.map { try scope.attribute($0) }
        return .all(kept.patterns.map { condition($0, among, attributes, date, scope) })
    }

    /// The kept rows of a rule, which are found once in each state of the database.
    func inThisState<T>(_ kept: Keeper.Kept, _ scope: RowScope, _ find: () throws -> T) throws -> T {
        let key = Keeper.Key(table: scope.table.oid, kept: kept)
        // The server's name of the state that the next statement sees.
        let state = try texts("SELECT pg_current_snapshot()").first
        if let known = foundRows[key], known.state == state, let rows = known.rows as? T { return rows }
        let rows = try find()
        foundRows[key] = (rows, state)
        return rows
    }

    /// Forgets the kept rows of a table. No state of this server covers the effects of triggers and of a cluster's workers.
    func forgetKeptRows(of table: PostgresTable) { foundRows = foundRows.filter { $0.key.table != table.oid } }

    /// - Parameter among: applied inside, where the server can still look groups up by a hash.
    private func condition(
        _ pattern: KeptRows.Pattern, _ among: SQLFragment, _ attributes: [Attribute], _ date: DateSQL,
        _ scope: RowScope
    ) -> SQLFragment {
        let nulls = zip(attributes, pattern.isNull).filter(\.1).map {
            SQLFragment("\(scope.column($0.0.name)) IS NULL")
        }
        let present = zip(attributes, pattern.isNull).filter { !$0.1 }.map(\.0)
        func isOlder(than threshold: SQLFragment) -> SQLFragment {
            "(" + .all([among] + nulls + [date.orderValue + " >= " + threshold]) + ") IS NOT TRUE"
        }
        guard !present.isEmpty else { return isOlder(than: .bound(pattern.thresholds.first, date.orderType)) }
        let lists =
            zip(present, pattern.values).map { SQLFragment.list($1, scope.table.valueType($0)) }
            + [.list(pattern.thresholds, date.orderType)]
        let names = present.indices.map { "g\($0)" } + ["threshold"]
        let same = zip(present, present.indices).map { SQLFragment("\(scope.column($0.name)) = kept.g\($1)") }
        let kept =
            " FROM unnest(" + SQLFragment.joined(lists, by: ", ")
            + ") AS kept (\(names.joined(separator: ", "))) WHERE "
        // Citus parses no date inside a query of a list.
        if scope.table.isDistributed, date.reading == .parsed {
            return isOlder(than: "(SELECT kept.threshold" + kept + .all(same) + ")")
        }
        return "NOT EXISTS (SELECT 1" + kept + .all(same + nulls + [date.orderValue + " >= kept.threshold", among])
            + ")"
    }

    private func readKeptRows(_ keepLast: KeepLast, _ scope: RowScope) throws -> KeptRows {
        let date = try scope.date(keepLast.date)
        // No row is readable, so none is kept or deleted.
        guard date.reading != .never else { return KeptRows(patterns: []) }
        let rows = SQLFragment.all([date.readable(), try condition(keepLast.among, scope)])
        let columns = try keepLast.groupedBy.map { scope.column(try scope.attribute($0).name) }
        guard !columns.isEmpty else {
            let query =
                "SELECT " + date.orderValue + " FROM \(scope.from)" + rows.whereClause
                + " ORDER BY 1 DESC LIMIT 1 OFFSET \(keepLast.count - 1)"
            guard let threshold = try texts(query).first else { return KeptRows(patterns: [], isEverything: true) }
            return KeptRows(patterns: [.init(isNull: [], values: [], thresholds: [threshold])])
        }
        let groups = columns.indices.map { "g\($0)" }.joined(separator: ", ")
        let selected = zip(columns, columns.indices).map { "\($0) AS g\($1)" }.joined(separator: ", ")
        var query =
            "SELECT \(groups), min(value) AS threshold FROM (SELECT \(selected), " + date.orderValue
            + " AS value, row_number() OVER (PARTITION BY \(columns.joined(separator: ", ")) ORDER BY "
            + date.orderValue + " DESC) AS position FROM \(scope.from)" + rows.whereClause
            + ") AS ranked WHERE position <= \(keepLast.count) GROUP BY \(groups)"
        if let before = keepLast.relevantBefore {
            // A group whose kept rows are all newer does not matter.
            query += " HAVING " + date.isBefore(before, value: "min(value)")
        }
        var patterns: [[Bool]: KeptRows.Pattern] = [:]
        for row in try self.rows(query) {
            let group = try columns.indices.map { try row.optionalText("g\($0)") }
            let isNull = group.map { $0 == nil }
            let present = group.compactMap(\.self)
            var pattern =
                patterns[isNull]
                ?? KeptRows.Pattern(
                    isNull: isNull, values: Array(repeating: [], count: present.count), thresholds: [])
            for (place, value) in present.enumerated() { pattern.values[place].append(value) }
            pattern.thresholds.append(try row.text("threshold"))
            patterns[isNull] = pattern
        }
        return KeptRows(patterns: Array(patterns.values))
    }
}

extension DateSQL {
    /// Whether a sort value, as in ``orderValue``, is before an instant.
    func isBefore(_ instant: Instant, value: String) -> SQLFragment {
        reading == .parsed
            ? "\(value) < " + .bound("\(instant.microseconds)", "int8")
            : DateSQL(date: date, column: value, type: type).bound(.less, .cutoff(instant))
    }
}
