import GRDB
import PriceStore

/// The groups of a table without a rowid whose key is a column and then the date. The rows of a group are in date order, as with ticks by
/// symbol.
struct KeyGroups {
    private let scope: RowScope
    /// The SQL column that defines the groups.
    private var column: String { scope.key[0] }

    /// The most groups. Finding more of them costs more than reading the table.
    static let mostGroups = 1_000

    /// Fails if the table is not like that or its dates are not compared in SQL.
    init?(_ scope: RowScope, _ date: DateSQL) {
        let table = scope.table
        guard table.isWithoutRowID, table.managed == nil, date.function == nil,
            table.entity.primaryKey.count >= 2,
            table.entity.primaryKey[1] == date.date.name, table.keySQL.count == table.entity.primaryKey.count,
            // With another collation, equal values that differ would be one group with several names.
            table.collations[table.entity.primaryKey[0].folded]?.uppercased() == "BINARY"
        else { return nil }
        self.scope = scope
    }

    func condition(_ value: StoreValue) -> SQLFragment { "\(column) = \(bound: value)" }

    /// All groups in order, and whether the rows of a group match a predicate of its value; nil: there are too many.
    func values(
        matching predicate: StorePredicate, _ connection: SQLiteFile, _ db: Database
    ) throws -> [(value: StoreValue, matches: Bool)]? {
        let from = "FROM \(scope.fromTable)"
        let found = try connection.rows(
            """
            WITH RECURSIVE retention_groups(value) AS (SELECT min(\(column)) \(from) UNION ALL \
            SELECT (SELECT min(\(column)) \(from) WHERE \(column) > value) FROM retention_groups \
            WHERE value IS NOT NULL LIMIT \(Self.mostGroups + 2)) \
            SELECT value, (SELECT (\(try connection.condition(predicate, scope, db))) IS TRUE \(from) \
            WHERE \(column) = value LIMIT 1) FROM retention_groups WHERE value IS NOT NULL
            """, db)
        return found.count > Self.mostGroups ? nil : found.map { ($0[0], $0[1] == .integer(1)) }
    }

    /// The parts of a filter that name values of the groups' column, which all rows of a group match or none, and the other parts.
    func parts(of filter: StorePredicate) -> (ofGroups: StorePredicate, ofRows: StorePredicate) {
        let name = scope.table.entity.primaryKey[0]
        let parts = if case .and(let parts) = filter { parts } else { [filter] }
        func isOfGroups(_ part: StorePredicate) -> Bool {
            switch part {
            case .isIn(name, _), .notTrue(.isIn(name, _)): true
            default: false
            }
        }
        return (
            parts.filter(isOfGroups).reduce(.all) { $0 && $1 },
            parts.filter { !isOfGroups($0) }.reduce(.all) { $0 && $1 }
        )
    }
}

extension SQLiteFile {
    /// Counts group by group as ``surveyByIndex(_:_:into:_:)`` does for a whole table; false: there are too many groups.
    func surveyByGroups(
        _ request: SurveyRequest, _ rows: SurveyRows, _ groups: KeyGroups, into survey: inout Findings, _ db: Database
    ) throws -> Bool {
        let (ofGroups, ofRows) = groups.parts(of: request.filter)
        guard let values = try groups.values(matching: ofGroups, self, db) else { return false }
        survey.groups = values.filter(\.matches).map(\.value)
        survey.leavesReadableRows = false
        let filter = try condition(ofRows, rows.scope, db)
        for (value, matches) in values {
            var part = Findings()
            var group = rows
            group.group = groups.condition(value)
            group.filter = matches ? filter : .never
            try surveyByIndex(request, group, into: &part, db)
            survey.survey.add(part.survey)
        }
        try countRows(request, rows, into: &survey, db)
        return true
    }
}

extension Survey {
    /// Adds the findings for another part of the rows. The row count is not known per part.
    fileprivate mutating func add(_ part: Survey) {
        expiredCount += part.expiredCount
        expiredAloneCount += part.expiredAloneCount
        kept.byRuleCount += part.kept.byRuleCount
        for kind in part.unreadable { add(kind.reason, kind.rowCount, kind.example) }
        dates.oldest = [dates.oldest, part.dates.oldest].compactMap(\.self).min()
        dates.newest = [dates.newest, part.dates.newest].compactMap(\.self).max()
        dates.oldestExpired = [dates.oldestExpired, part.dates.oldestExpired].compactMap(\.self).min()
        dates.newestExpired = [dates.newestExpired, part.dates.newestExpired].compactMap(\.self).max()
        dates.newestOfEntity = [dates.newestOfEntity, part.dates.newestOfEntity].compactMap(\.self).max()
        dates.newestValue =
            [dates.newestValue, part.dates.newestValue].compactMap { $0.flatMap(DateKey.init) }.max()?.storeValue
        // A part that loses no row does not say whether it has rows.
        let stays = part.expiredAloneCount > 0 ? part.leavesReadableRows : part.dates.newestOfEntity != nil
        leavesReadableRows = leavesReadableRows || stays
    }
}
