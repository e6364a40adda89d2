import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteFileConnection {
    /// Chooses how a surveyed rule's rows are deleted, and says what else could be asked for.
    func chooseTechnique(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database
    ) throws {
        let table = rows.scope.table
        let byKey: Technique = table.isWithoutRowID ? .keys : .windows
        // A batch of rows that a trigger keeps would be found again by the next one.
        let byDate = survey.isInDateOrder && !table.mayKeepRows ? rows.access : nil
        if request.rollup != nil {
            // Rows of one date go together. Texts of one date may differ, and an index may have others between them.
            let byIndex = rows.date.function == nil ? byDate : nil
            survey.take(byIndex == nil ? .dates : .range)
            survey.possibleTechniques = [survey.technique]
            survey.index = byIndex?.label
            return
        }
        survey.techniqueObstacles = try techniqueObstacles(table, request.relationships, db)
        if byDate == nil {
            let reason =
                table.mayKeepRows
                ? "a trigger may keep rows" : "no index gives the rows in the order of their dates"
            survey.techniqueObstacles[.range] = reason
            survey.techniqueObstacles[.sorted] = reason
        }
        let keepers = request.ownKeepers + request.keptByOthers
        if keepers.contains(where: \.isThinning) {
            survey.techniqueObstacles[.rebuild] = "a copy cannot apply thin"
        } else if keepers.contains(where: { $0.keepsGroups }) {
            survey.techniqueObstacles[.rebuild] = "a copy cannot apply keep_last per group"
        }
        if request.wantsObjectIDs {
            survey.techniqueObstacles[.rebuild] = "a copy does not report the deleted rows, which a digest needs"
        }
        if request.archiveRule != nil {
            survey.techniqueObstacles[.rebuild] = "a copy does not report the deleted rows, which the archive needs"
        }
        survey.possibleTechniques = ([.whole, .range, .sorted, byKey] + Technique.allCases.filter(\.isRebuild))
            .filter { survey.techniqueObstacles[$0] == nil }
        var facts = TechniqueChoice.Facts(
            batches: byDate == nil ? byKey : .range, expiredCount: survey.expiredCount,
            obstacles: survey.techniqueObstacles, maxLock: request.maxLock)
        if survey.expiredCount >= TechniqueChoice.fewestRows {
            facts.isInFileOrder = try byDate == nil || liesInDateOrder(request.date, table, db)
            facts.likelyPart = try max(
                survey.expiredTime(before: request.cutoff),
                rowIDs(of: table, db).map { Double(survey.expiredCount) / $0.length } ?? 0)
        }
        if facts.dependsOnRowCount {
            let rowCount = try survey.rowCount ?? countAllRows(rows, into: &survey, db)
            facts.rowCount = rowCount
            facts.isInUseByOthers = try isInUseByOthers()
            facts.roomObstacle = try roomObstacle(db)
            if facts.mayLock {
                facts.predictedLock = try predictLocks(table, rowCount: rowCount, survey, db)
            }
        }
        let choice = TechniqueChoice(facts)
        survey.technique = choice.technique
        survey.reason = choice.reason
        survey.batches = choice.batches
        survey.predictedLock = choice.predictedLock
        survey.index = byDate?.label
    }

    /// Why strategies that rewrite a part of the store are not possible for a table, as phrases.
    func techniqueObstacles(
        _ table: SQLiteTable, _ relationships: BatchDeleteRequest.RelationshipRule, _ db: Database
    ) throws -> [Technique: String] {
        if let managed = table.managed, let schema = try catalog.coreData(db),
            schema.needsObjects(managed, relationships)
        {
            let reason = "relationships, files or a history of the model decide what is deleted with a row"
            return [.rebuild: reason, .rebuildInPlace: reason]
        }
        var obstacles: [Technique: String] = [:]
        if table.entity.incomingRelationships.contains(where: { $0.source.folded == table.name.folded }) {
            obstacles[.rebuildInPlace] = "its rows refer to each other, and are found through its indexes"
        } else if relationships != .asDeclared, !table.entity.incomingRelationships.isEmpty {
            obstacles[.rebuildInPlace] = "relationships: \(relationships.rawValue) deletes in batches"
        }
        if let reason = try copyObstacle(table, db) {
            obstacles[.rebuild] = reason
        } else if try String.fetchOne(db, sql: "PRAGMA main.journal_mode") != "wal" {
            obstacles[.rebuild] = "the store is not in WAL mode, so its rows could not be read meanwhile"
        }
        return obstacles
    }

    /// Why a copy without the rows would not be what a delete leaves, or nil.
    private func copyObstacle(_ table: SQLiteTable, _ db: Database) throws -> String? {
        if try HistoryTables.exist(db) { return "the store keeps a history, which has to record every row" }
        if let key = table.entity.incomingRelationships.first { return "\(key.source) refers to its rows" }
        if let trigger = table.entity.deleteTriggers.first { return "its trigger \(trigger) would not fire" }
        var reserved: Int32 = -1
        sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
        return reserved == 0 ? nil : "its pages have bytes that belong to an extension of SQLite"
    }

    /// Whether rows lie in the file in the order of their dates, by a sample from across the table: some disorder is as
    /// good as order, since neighbours in time are neighbours in the file all the same.
    private func liesInDateOrder(_ date: DateAttribute, _ table: SQLiteTable, _ db: Database) throws -> Bool {
        guard !table.isWithoutRowID else { return true }
        if table.rowIDAlias == date.name { return true }
        let scope = RowScope(table)
        let dateSQL = try dateSQL(date, scope, db)
        guard let rowIDs = try rowIDs(of: table, db), rowIDs.lowerBound < rowIDs.upperBound else { return true }
        let key = scope.key[0]
        // By the rowid alone, whatever indexes there are: each look is at one page.
        let statement =
            "SELECT \(dateSQL.orderValue) FROM \(scope.target()) NOT INDEXED WHERE \(key) >= ? ORDER BY \(key) LIMIT 1"
        var previous: Double?
        var (found, inversions) = (0, 0)
        for place in rowIDs.spread(over: Self.sampleCount) {
            let next: Double
            switch try row(SQLFragment(statement, [place.databaseValue]), db)?.first {
            case .integer(let value): next = Double(value)
            case .real(let value): next = value
            default: continue
            }
            found += 1
            if let previous, next < previous { inversions += 1 }
            previous = next
        }
        // Newest first is an order, too.
        return Double(min(inversions, found - inversions)) <= Double(found) * Self.mostInversions
    }

    /// The first and the last rowid of a table; nil: it has none, or no row.
    private func rowIDs(of table: SQLiteTable, _ db: Database) throws -> ClosedRange<Int64>? {
        guard let rowID = table.rowID?.quotedIdentifier, !table.isWithoutRowID else { return nil }
        let query = "SELECT (SELECT min(\(rowID)) FROM \(table.sql)), (SELECT max(\(rowID)) FROM \(table.sql))"
        guard let ends = try row(SQLFragment(query), db), case .integer(let first) = ends[0],
            case .integer(let last) = ends[1]
        else { return nil }
        return first...last
    }

    private static let sampleCount = 200
    /// Rows in random order have half of their neighbours the wrong way round.
    private static let mostInversions = 0.15
}

extension StorePredicate {
    /// Whether it spares the newest rows of each of several groups.
    fileprivate var keepsGroups: Bool {
        if case .notKept(let keepLast) = self { !keepLast.groupedBy.isEmpty } else { false }
    }
}

extension ClosedRange<Int64> {
    /// How many numbers are in it; a double, since there may be more than an Int64 holds.
    fileprivate var length: Double { Double(upperBound) - Double(lowerBound) + 1 }
}
