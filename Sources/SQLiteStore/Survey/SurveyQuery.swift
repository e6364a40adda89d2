import GRDB
package import PriceStore

extension SQLiteFile {
    /// What a rule would find and delete in one state of the store.
    package func survey(_ request: SurveyRequest) throws(StoreError) -> Survey {
        try run("counting the rows of \(request.entity)") { db in
            // With each new statement GRDB copies its cache, and those of a survey are not used again.
            defer { db.clearSchemaCache() }
            return try countingTemporaryRows(db) {
                try snapshot(db) {
                    let mark = try changeMark(db)
                    forgetSparingRows(unless: mark)
                    var found = try findings(of: request, db)
                    try found.survey.countHeld(request) { try count($0) }
                    found.mark = mark
                    return found.answer
                }
            }
        }
    }

    private func findings(of request: SurveyRequest, _ db: Database) throws -> Findings {
        var survey = Findings()
        let scope = try scope(
            of: StoreFetchRequest(entity: request.entity, includesSubentities: request.includesSubentities), db)
        if let reason = try unsupported(scope.table, request, db) {
            survey.unsupported = reason
            survey.remedy = try remedy(scope.table, request.relationships, db)
            return survey
        }
        let attribute = try scope.attribute(request.date.name, store: name)
        let date = try dateSQL(request.date, scope, db)
        let access = scope.table.dateAccess(attribute, filter: request.filter)
        let rows = SurveyRows(
            scope: scope, date: date, cutoff: request.cutoff,
            filter: try condition(request.filter, scope, db), access: access)
        let groups = access == nil ? KeyGroups(scope, date) : nil
        if let groups, try surveyByGroups(request, rows, groups, into: &survey, db) {
        } else if date.function == nil, let access, !access.needsFilter {
            survey.index.isInDateOrder = true
            try surveyByIndex(request, rows, into: &survey, db)
            try countRows(request, rows, into: &survey, db)
        } else {
            try surveyByScan(request, rows, into: &survey, db)
        }
        if let thinning = request.thinningBeforeCutoff, survey.kept.byRuleCount > 0 {
            survey.kept.byTier = try thinnedRows(thinning, scope, db).counts
        }
        try chooseMethod(request, rows, into: &survey, db)
        if access == nil { survey.index.obstacle = scope.table.indexObstacle(attribute) }
        if survey.groups != nil { survey.index.name = "primary key" }
        if survey.expiredAloneCount > 0, try relationshipsAreInPlay(request, db) {
            try followRelationships(request, scope, into: &survey, db)
        } else if let denials = try denials(request, db) {
            survey.related.obstacles = denials
        }
        if let managed = scope.table.managed { try noteHistory(managed, before: request.cutoff, into: &survey, db) }
        return survey
    }
}

/// The rows that a survey reads, as SQL.
struct SurveyRows {
    let scope: RowScope
    let date: DateSQL
    let cutoff: Instant
    var filter: SQLFragment
    let access: DateAccess?
    /// The condition that limits the survey to one group of rows.
    var group = SQLFragment.always
    /// A date at or before those of all readable rows, or nil if none is known.
    var oldest: StoreValue?

    /// The rows for a FROM clause, through the date index.
    var byDate: String { scope.from(access?.hint ?? "") }
    /// The rows for a FROM clause, read in order of the date column even if no condition requires it.
    var walked: String { access?.index == nil ? scope.fromTable : byDate }
    /// The condition of rows that are expired by date and filter.
    var expired: SQLFragment { .all([date.readable(before: cutoff, in: DateSQL.Stretch(from: oldest)), filter]) }
}

extension SQLiteFile {
    /// The condition that no earlier rule deletes a row, so that each row is counted once.
    func notPreceding(_ request: SurveyRequest, _ scope: RowScope, _ db: Database) throws -> SQLFragment {
        let parts = try request.preceding
            .filter {
                $0.fetchRequest.entity.folded == request.entity.folded
                    && !$0.fetchRequest.predicate.isDisjoint(from: request.filter)
            }
            .map { delete in
                let membership = try self.scope(of: delete.fetchRequest, db).membership
                let rows = SQLFragment.all([try condition(delete.fetchRequest.predicate, scope, db), membership])
                return "(\(rows)) IS NOT TRUE" as SQLFragment
            }
        return .all(parts)
    }

    // MARK: By the date index

    /// Counts ranges of the date index. Nothing outside them is read unless all rows are to be counted.
    func surveyByIndex(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database
    ) throws {
        var rows = rows
        if let ends = try plainEnds(rows, db) {
            rows.oldest = ends.oldest.storeValue
            (survey.dates.oldest, survey.dates.newest) = (
                request.date.instant(ends.oldest.storeValue), request.date.instant(ends.newest.storeValue)
            )
            (survey.dates.newestOfEntity, survey.dates.newestValue) = (survey.dates.newest, ends.newest.storeValue)
            if !ends.oldest.isAtLeast(request.date.encoding.cutoffBound(request.cutoff)) {
                try countExpired(request, rows, into: &survey, db)
            }
            return
        }
        let readable = rows.date.readable()
        survey.dates.newestOfEntity = try edge(rows, readable, newest: true, db).flatMap(request.date.instant)
        survey.dates.newestValue = try newestValue(rows, db)
        guard rows.filter != .never else { return }
        try countUnreadableByIndex(rows, into: &survey, db)
        // To find no row by date takes longer than to count none.
        if rows.filter != .always, rows.group == .always, request.counts.all,
            try countAllRows(rows, into: &survey, db) == 0
        {
            return
        }
        guard let oldest = try edge(rows, .all([readable, rows.filter]), newest: false, db) else { return }
        rows.oldest = oldest
        survey.dates.oldest = request.date.instant(oldest)
        survey.dates.newest =
            rows.filter == .always
            ? survey.dates.newestOfEntity
            : try edge(rows, .all([readable, rows.filter]), newest: true, db).flatMap(request.date.instant)
        try countExpired(request, rows, into: &survey, db)
    }

    /// The first and last date of the index, if all values between them are readable: both are, no value between them means "no date", and
    /// there is no filter. Nil: that is not so, or the table is empty.
    private func plainEnds(_ rows: SurveyRows, _ db: Database) throws -> (oldest: DateKey, newest: DateKey)? {
        guard rows.filter == .always, rows.group == .always else { return nil }
        let column = rows.date.column
        let ends = ["ASC", "DESC"].map { "(SELECT \(column) FROM \(rows.byDate) ORDER BY \(column) \($0) LIMIT 1)" }
        guard let found = try row("SELECT \(ends.list)", db)?.compactMap(DateKey.init),
            found.count == 2, let oldest = found.first, let newest = found.last
        else { return nil }
        let (date, encoding) = (rows.date.date, rows.date.date.encoding)
        let (lower, upper) = (encoding.lowerBound(date.earliest), date.latest.map(encoding.latestBound))
        // An integer and a double have different bounds, and either may be between the ends.
        func isAllowed(_ key: DateKey) -> Bool {
            key >= .integer(lower.integer) && key >= .real(lower.real)
                && key <= .real(.greatestFiniteMagnitude)
                && upper.map { key <= .integer($0.integer) && key <= .real($0.real) } ?? true
        }
        guard isAllowed(oldest), isAllowed(newest) else { return nil }
        let between = oldest.asDouble.nextDown...newest.asDouble.nextUp
        return rows.date.untrusted.contains { between.contains($0.asDouble) } ? nil : (oldest, newest)
    }

    /// Counts the rows before the cutoff, once the oldest date is known.
    private func countExpired(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database
    ) throws {
        let inRange =
            try countOthers(request, rows, into: &survey, db) ?? count(select("count(*)", rows, rows.expired), db)
        if inRange > 0 {
            let notSpared = try request.notSpared.map { try condition($0, rows.scope, db) } ?? .always
            let alone = SQLFragment.all([rows.expired, notSpared])
            survey.expiredAloneCount =
                try notSpared == .always
                ? inRange
                : countPicks(request, rows, db).map { inRange - $0 } ?? count(select("count(*)", rows, alone), db)
            survey.kept.byRuleCount = inRange - survey.expiredAloneCount
            // Where rows are thinned, each run finds the rows that earlier runs kept.
            guard survey.expiredAloneCount > 0 else { return }
            let others = try notPreceding(request, rows.scope, db)
            let counted = SQLFragment.all([alone, others])
            survey.expiredCount =
                others == .always
                ? survey.expiredAloneCount : try count(select("count(*)", rows, counted), db)
            survey.dates.newestExpired = try edge(rows, counted, newest: true, db).flatMap(request.date.instant)
            survey.leavesReadableRows = try leavesReadableRows(rows, alone, request.cutoff, survey, db)
        }
    }

    /// The number of rows before the cutoff that stay if all of them are picks of the rule, or nil if they must be counted.
    private func countPicks(_ request: SurveyRequest, _ rows: SurveyRows, _ db: Database) throws -> Int? {
        guard let thinning = request.thinningBeforeCutoff, thinning.among == request.filter,
            request.keepers.keepLast == nil,
            request.keepers.others.isEmpty, request.keepers.holds.isEmpty, rows.group == .always
        else { return nil }
        return try thinnedRows(thinning, rows.scope, db).counts.reduce(0) { $0 + $1.rowCount }
    }

    /// Counts all rows if their number matters.
    func countRows(_ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database) throws {
        let isExpired = survey.expiredAloneCount + survey.kept.byRuleCount > 0
        let needsRows =
            request.counts.all || request.counts.kept && isExpired
            || survey.unreadable.contains { [.wrongType, .notADate].contains($0.reason) }
        if needsRows, survey.rowCount == nil { _ = try countAllRows(rows, into: &survey, db) }
    }

    func countAllRows(_ rows: SurveyRows, into survey: inout Findings, _ db: Database) throws -> Int {
        let rowCount = try count("SELECT count(*) FROM \(rows.scope.from())\(rows.filter.whereClause)", db)
        survey.rowCount = rowCount
        survey.readableCount = rowCount - survey.unreadableCount
        return rowCount
    }

    /// Counts the rows that are not expired instead, if their dates cover less time than the expired ones, and subtracts them. Returns nil
    /// otherwise.
    ///
    /// SQLite counts all rows of a table page by page.
    private func countOthers(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database
    ) throws -> Int? {
        guard rows.group == .always, rows.filter == .always, request.notSpared == nil,
            let oldest = survey.dates.oldest, let newest = survey.dates.newest, oldest < request.cutoff,
            // There must be clearly fewer newer rows.
            Double(newest.microseconds) - Double(request.cutoff.microseconds)
                < 0.4 * (Double(newest.microseconds) - Double(oldest.microseconds)),
            // SQLite trusts NOT NULL and does not look for NULL. In a schema written by hand the column may still contain NULL, in the
            // first rows of the index.
            try edge(rows, .always, newest: false, db) != .null
        else { return nil }
        let stayingCount = try count(select("count(*)", rows, rows.date.readable(notBefore: request.cutoff)), db)
        return try countAllRows(rows, into: &survey, db) - survey.unreadableCount - stayingCount
    }

    private func select(_ columns: String, _ rows: SurveyRows, _ condition: SQLFragment) -> SQLFragment {
        "SELECT \(columns) FROM \(rows.byDate)\(SQLFragment.all([rows.group, condition]).whereClause)"
    }

    /// The oldest or newest stored date among rows.
    private func edge(
        _ rows: SurveyRows, _ condition: SQLFragment, newest: Bool, _ db: Database
    ) throws -> StoreValue? {
        let column = rows.date.column
        let found = select(column, rows, condition)
        return try row("\(found) ORDER BY \(column) \(newest ? "DESC" : "ASC") LIMIT 1", db)?.first
    }

    /// The largest finite number of the column except sentinels, valid or not.
    private func newestValue(_ rows: SurveyRows, _ db: Database) throws -> StoreValue? {
        guard rows.date.affinity != .text else { return nil }
        let conditions = [rows.date.isFinite] + rows.date.date.encoding.sentinels.map(rows.date.isNot)
        let value = try edge(rows, .joined(conditions, by: " AND ", empty: .always), newest: true, db)
        return value == .real(-.infinity) ? nil : value
    }

    /// Whether a readable row stays if only this rule runs.
    private func leavesReadableRows(
        _ rows: SurveyRows, _ deleted: SQLFragment, _ cutoff: Instant, _ survey: Findings, _ db: Database
    ) throws -> Bool {
        if let newest = survey.dates.newestOfEntity, newest >= cutoff { return true }
        return try exists(select("1", rows, .all([rows.date.readable(), "(\(deleted)) IS NOT TRUE"])), db)
    }

    /// Counts the rows at both ends of the index outside the valid dates, and the sentinels between.
    private func countUnreadableByIndex(_ rows: SurveyRows, into survey: inout Findings, _ db: Database) throws {
        let column = rows.date.column
        let isRequired = try rows.scope.attribute(rows.date.date.name, store: name).isRequired
        // One statement for all, because preparing one takes longer than carrying it out.
        var asked: [(reason: Survey.Unreadable, query: SQLFragment)] = []
        func add(_ reason: Survey.Unreadable, _ condition: SQLFragment) {
            let columns = "\(asked.count), count(*), min(\(column))"
            asked.append((reason, select(columns, rows, .all([condition, rows.filter]))))
        }
        if !isRequired { add(.null, "\(column) IS NULL") }
        if rows.date.affinity == .text {
            add(.wrongType, "\(column) IS NOT NULL")
        } else {
            addNumbers(rows, add)
        }
        for found in try self.rows(.joined(asked.map(\.query), by: " UNION ALL ", empty: .always), db) {
            guard case .integer(let place) = found[0], case .integer(let number) = found[1], number > 0 else {
                continue
            }
            survey.survey.add(asked[Int(place)].reason, Int(number), found[2])
        }
    }

    /// Names the numbers that are not valid dates, and values of other types.
    private func addNumbers(_ rows: SurveyRows, _ add: (Survey.Unreadable, SQLFragment) -> Void) {
        let (column, encoding) = (rows.date.column, rows.date.date.encoding)
        add(.wrongType, "\(column) >= ''")
        add(.notADate, "(\(column) = \(bound: Double.infinity) OR \(column) = \(bound: -Double.infinity))")
        let untrusted = rows.date.untrusted
        for value in untrusted { add(.sentinel, "\(column) = \(bound: value)") }
        let isTrusted = untrusted.map { " AND \(rows.date.isNot($0))" as SQLFragment }.reduce("", +)
        // The plain bound serves the index; the negated exact condition decides.
        let first = encoding.lowerBound(rows.date.date.earliest)
        let outer = max(first.real, Double(first.integer).nextUp)
        add(
            .beforeEarliest,
            """
            \(column) <= \(bound: outer) AND \(column) > \(bound: -Double.infinity) \
            AND NOT (\(rows.date.compare(.greaterOrEqual, first)))\(isTrusted)
            """)
        if let latest = rows.date.date.latest {
            let last = encoding.latestBound(latest)
            let outer = min(last.real, Double(last.integer).nextDown)
            add(
                .afterLatest,
                """
                \(column) >= \(bound: outer) AND \(rows.date.isFinite) \
                AND NOT (\(rows.date.compare(.lessOrEqual, last)))\(isTrusted)
                """)
        }
    }
}
