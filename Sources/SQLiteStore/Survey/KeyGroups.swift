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

    /// The condition that a row belongs to a group.
    func condition(_ value: StoreValue) -> SQLFragment { SQLFragment("\(column) = ?", [value.databaseValue]) }

    /// The first group, or the first after another, or nil if there is none.
    func next(after value: StoreValue?, _ connection: SQLiteFileConnection, _ db: Database) throws -> StoreValue? {
        var query = SQLFragment("SELECT \(column) FROM \(scope.fromTable)")
        if let value { query += SQLFragment(" WHERE \(column) > ?", [value.databaseValue]) }
        return try connection.row(query + " ORDER BY \(column) LIMIT 1", db)?.first
    }

    /// All groups in order, or nil if there are too many.
    func values(_ connection: SQLiteFileConnection, _ db: Database) throws -> [StoreValue]? {
        var values: [StoreValue] = []
        while let value = try next(after: values.last, connection, db) {
            guard values.count < Self.mostGroups else { return nil }
            values.append(value)
        }
        return values
    }
}

extension SQLiteFileConnection {
    /// Counts group by group as ``surveyByIndex(_:_:into:_:)`` does for a whole table.
    func surveyByGroups(
        _ request: SurveyRequest, _ rows: SurveyRows, _ groups: KeyGroups, _ values: [StoreValue],
        into survey: inout Findings, _ db: Database
    ) throws {
        survey.leavesReadableRows = false
        for value in values {
            var part = Findings()
            var group = rows
            group.group = groups.condition(value)
            try surveyByIndex(request, group, into: &part, db)
            survey.survey.add(part.survey)
        }
        if survey.expiredAloneCount == 0 { survey.leavesReadableRows = true }
        try countRows(request, rows, into: &survey, db)
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
