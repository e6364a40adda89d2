import GRDB
import GRDBSQLite
import PriceStore

/// The newest rows that a rule keeps, as thresholds: in each group, rows at or after its threshold are kept.
///
/// They are found, by key, before the first delete. A row is deleted only while all kept rows of its group are as they were found, because
/// another program may delete one or change its date.
struct KeptRows {
    /// The entity and the condition. Two entities may have attributes of the same names and rules with the same words.
    struct Key: Hashable {
        private let entity: String
        /// The sub-entities whose rows are included.
        private let subentities: [String]
        private let keeper: StorePredicate

        /// - Parameter keeper: a ``StorePredicate/notKept(_:)`` or ``StorePredicate/notPicked(_:)``.
        init(_ keeper: StorePredicate, of entity: RowScope) {
            self.entity = entity.table.name
            subentities = entity.table.managed?.subentities ?? []
            self.keeper = keeper
        }
    }

    /// The temporary table of the kept rows: group `n`, date `value`, key `k0`, `k1` ….
    fileprivate let rows: String
    /// The temporary table of the groups: `n`, `g0`, `g1` …, `threshold`, which is NULL in a group without more rows than the rule keeps,
    /// and `lowest`, the date of the oldest kept row. Nil if all rows are one group.
    fileprivate var groups: String?
    /// The threshold of the single group, or nil if it has no more rows than the rule keeps.
    fileprivate var threshold: StoreValue?
    /// Whether all kept rows are newer than any row in question.
    fileprivate var areNewer = false
    /// The state of the store in which they were found.
    let mark: ChangeMark

    fileprivate var tables: [String] { [rows] + (groups.map { [$0] } ?? []) }
}

extension SQLiteFile {
    func notKept(_ keepLast: KeepLast, _ scope: RowScope, _ db: Database) throws -> SQLFragment {
        let kept = try keptRows(keepLast, entity: scope, db)
        let isAsFound = try changeMark(db).hasOnlyDeleted(since: kept.mark)
        if isAsFound, kept.areNewer { return .always }
        let date = try dateSQL(keepLast.date, scope, db).orderValue
        let missing = try isAsFound ? nil : missingRows(of: kept, keepLast, scope, db)
        guard let table = kept.groups else {
            guard let threshold = kept.threshold else { return .never }
            let isOlder: SQLFragment = "\(date) < \(bound: threshold)"
            return missing.map { "\(isOlder) AND NOT EXISTS (\($0))" } ?? isOlder
        }
        let same = try keepLast.groupedBy.enumerated().map { "\(try scope.column($1, store: name)) IS kept.g\($0)" }
        let isWhole: SQLFragment = missing.map { " AND kept.n NOT IN (\($0))" } ?? ""
        return """
            EXISTS (SELECT 1 FROM temp.\(table) AS kept WHERE \(same.joined(separator: " AND ")) \
            AND \(date) < kept.threshold\(isWhole))
            """
    }

    /// The groups with kept rows that are gone or have changed.
    func missingRows(
        of kept: KeptRows, _ keepLast: KeepLast, _ scope: RowScope, _ db: Database
    ) throws -> SQLFragment {
        let date = try dateSQL(keepLast.date, scope, db)
        let columns = try keepLast.groupedBy.map { try scope.column($0, store: name) }
        let listed = ListedRows(scope: scope, date: date, among: try condition(keepLast.among, scope, db))
        let groups = kept.groups.map { " JOIN temp.\($0) AS own ON own.n = listed.n" } ?? ""
        let isThere = listed.isThere("listed", group: columns.enumerated().map { ($1, "own.g\($0)") })
        return "SELECT listed.n FROM temp.\(kept.rows) AS listed\(groups) WHERE NOT \(isThere)"
    }

    /// The kept rows of a rule. They are found when first needed and, outside batches, again after the store has changed.
    func keptRows(_ keepLast: KeepLast, entity: RowScope, _ db: Database) throws -> KeptRows {
        let key = KeptRows.Key(.notKept(keepLast), of: entity)
        if let known = temporaries.keptRows[key] {
            guard try !isInBatch(db) && changeMark(db) != known.mark else { return known }
            for table in known.tables { try execute("DROP TABLE temp.\(table)", db) }
        }
        let kept = try countingTemporaryRows(db) {
            let date = try dateSQL(keepLast.date, entity, db)
            let rows = SQLFragment.all([date.readable(), try condition(keepLast.among, entity, db)])
            // The mark is taken first. If another program writes before the statement below, the mark is too old, not too new.
            let mark = try changeMark(db)
            return try keepLast.groupedBy.isEmpty
                ? single(keepLast, rows, date, entity, mark, db) : groups(keepLast, rows, date, entity, mark, db)
        }
        temporaries.keptRows[key] = kept
        return kept
    }

    /// Whether a write transaction is open, so that other writers wait.
    func isInBatch(_ db: Database) -> Bool {
        sqlite3_txn_state(db.sqliteConnection, "main") == SQLITE_TXN_WRITE
    }

    private func single(
        _ keepLast: KeepLast, _ rows: SQLFragment, _ date: DateSQL, _ scope: RowScope, _ mark: ChangeMark,
        _ db: Database
    ) throws -> KeptRows {
        let table = temporaryName("newest")
        let keys = zip(scope.key, scope.keyNames).map { "\($0) AS \($1)" }.list
        try execute(
            """
            CREATE TEMP TABLE \(table) AS SELECT 0 AS n, \(date.orderValue) AS value, \(keys) FROM \(scope.from())\
            \(rows.whereClause) ORDER BY \(date.orderValue) DESC LIMIT \(bound: keepLast.count)
            """, db)
        let last = try row(
            "SELECT value, (SELECT count(*) FROM temp.\(table)) FROM temp.\(table) ORDER BY rowid DESC LIMIT 1", db)
        let isFull = last?[1] == .integer(Int64(keepLast.count))
        return KeptRows(rows: table, threshold: isFull ? last?[0] : nil, mark: mark)
    }

    private func groups(
        _ keepLast: KeepLast, _ rows: SQLFragment, _ date: DateSQL, _ scope: RowScope, _ mark: ChangeMark,
        _ db: Database
    ) throws -> KeptRows {
        let columns = try keepLast.groupedBy.map { try scope.column($0, store: name) }
        let names = columns.indices.map { "g\($0)" }
        let groups = names.list
        let (table, newest) = (temporaryName("groups"), temporaryName("newest"))
        let selected = zip(columns + scope.key, names + scope.keyNames).map { "\($0) AS \($1)" }.list
        // The number of a group is the rowid of its first kept row. To keep one row, `max` is enough: SQLite takes the other columns from
        // the same row. To keep more, the rows are ranked. Both may spill to a temporary file.
        let query: SQLFragment =
            keepLast.count == 1
            ? """
            SELECT \(selected), max(\(date.orderValue)) AS value, 1 AS place FROM \(scope.from())\(rows.whereClause) \
            GROUP BY \(columns.list)
            """
            : """
            SELECT * FROM (SELECT \(selected), \(date.orderValue) AS value, row_number() OVER (PARTITION BY \(columns.list) \
            ORDER BY \(date.orderValue) DESC) AS place FROM \(scope.from())\(rows.whereClause)) \
            WHERE place <= \(bound: keepLast.count) ORDER BY \(groups), place
            """
        let found = temporaryName("found")
        try execute("CREATE TEMP TABLE \(found) AS SELECT * FROM (\(query))", db)
        // The rows of a group are consecutive.
        try execute(
            """
            CREATE TEMP TABLE \(newest) AS SELECT rowid - place + 1 AS n, value, \(scope.keyNames.list), \(groups) \
            FROM temp.\(found)
            """, db)
        try execute(
            """
            CREATE TEMP TABLE \(table) AS SELECT n, \(groups), CASE WHEN count(*) < \(bound: keepLast.count) THEN NULL \
            ELSE min(value) END AS threshold, min(value) AS lowest FROM temp.\(newest) GROUP BY n
            """, db)
        try execute("DROP TABLE temp.\(found)", db)
        try execute("CREATE INDEX temp.\(table)_groups ON \(table) (\(groups))", db)
        try execute("CREATE INDEX temp.\(table)_numbers ON \(table) (n)", db)
        var kept = KeptRows(rows: newest, groups: table, mark: mark)
        if let before = keepLast.relevantBefore {
            let lowest = DateSQL(date: keepLast.date, column: "lowest", affinity: date.affinity, function: nil)
            let isOlder = date.function == nil ? lowest.isBefore(before) : "lowest < \(bound: before.microseconds)"
            kept.areNewer = try !exists("SELECT 1 FROM temp.\(table) WHERE \(isOlder)", db)
        }
        return kept
    }
}

/// Rows listed in temporary tables, with the date `value` and the key `k0`, `k1` … that they had.
struct ListedRows {
    let scope: RowScope
    let date: DateSQL
    /// The condition that they met besides a readable date.
    let among: SQLFragment

    /// The condition that a listed row still exists with the same values.
    ///
    /// - Parameters:
    ///   - alias: the name of the temporary table in the statement.
    ///   - group: columns of the row, each with its listed value.
    func isThere(_ alias: String, group: [(column: String, listed: String)]) -> SQLFragment {
        let key = zip(scope.key, scope.keyNames).map { "\($0) = \(alias).\($1)" }
        // Only the key may be used to look up the row.
        let same = ([(date.orderValue, "\(alias).value")] + group).map { "+\($0.0) IS \($0.1)" }
        let isSame = SQLFragment((key + same).joined(separator: " AND "))
        return "EXISTS (SELECT 1 FROM \(scope.from()) WHERE \(SQLFragment.all([isSame, date.readable(), among])))"
    }
}
