import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteFile {
    /// Chooses how a surveyed rule's rows are deleted: by ranges of the date index if the table is stored in date order, otherwise by
    /// windows of its key. A few rows are always cheaper to find by date.
    func chooseMethod(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database
    ) throws {
        let table = rows.scope.table
        let byDate = survey.index.isInDateOrder ? rows.access : nil
        if request.deleting.rollup != nil {
            // Rows of one date are deleted together. Texts of one date may differ, with others between them in an index.
            let byIndex = rows.date.function == nil ? byDate : nil
            survey.take(byIndex == nil ? .dates : .range)
            survey.possibleMethods = [survey.method]
            survey.index.name = byIndex?.label
            return
        }
        let byKey: DeleteMethod = table.isWithoutRowID ? .keys : .windows
        let isMany = survey.expiredCount >= Self.fewestRows
        let isInFileOrder = try !isMany || byDate == nil || liesInDateOrder(request.date, table, db)
        survey.method = byDate == nil ? byKey : .range
        if !isInFileOrder, try part(survey, of: table, db) >= Self.windowsPart {
            survey.method = byKey
            survey.reason = "rows are not stored in the order of their dates"
        }
        survey.index.name = byDate?.label
        survey.possibleMethods = (byDate == nil ? [] : [.range]) + [byKey]
        // All tables are checked only where it matters.
        let isAsked = request.deleting.method == DeleteMethod.rebuild.rawValue
        var work = DeleteWork(BatchDeleteRequest(request))
        work.archiveRule = request.deleting.archiveRule
        if let reason = try rebuildObstacle(work, table, db) ?? (isAsked || isMany ? obstacleToCopies(db) : nil) {
            survey.methodObstacles[.rebuild] = reason
            return
        }
        survey.possibleMethods.append(.rebuild)
        let rebuildPart = isInFileOrder ? Self.orderedRebuildPart : Self.randomRebuildPart
        survey.rebuildPays =
            try isMany && survey.rowCount.map { Double(survey.expiredCount) >= Double($0) * rebuildPart } == true
            && roomObstacle(db) == nil
    }

    /// The expired part of the rows, from 0 to 1. If rows were not counted, each rowid counts as a row.
    private func part(_ survey: Findings, of table: SQLiteTable, _ db: Database) throws -> Double {
        // As doubles, because their difference may exceed an Int64.
        let rowIDs = try rowIDs(of: table, db).map { Double($0.upperBound) - Double($0.lowerBound) }
        return Double(survey.expiredCount) / max(1, survey.rowCount.map(Double.init) ?? rowIDs ?? 1)
    }

    /// Why a copy of the store without the rows would differ from the store after a delete, as a phrase, or nil if it would not.
    func rebuildObstacle(_ work: DeleteWork, _ table: SQLiteTable, _ db: Database) throws -> String? {
        if work.fetchRequest.predicate.isThinning { return "a copy cannot apply thin" }
        if work.fetchRequest.predicate.keptRows.contains(where: { !$0.groupedBy.isEmpty }) {
            return "a copy cannot apply keep_last per group"
        }
        if work.archiveRule != nil { return "a copy does not report the deleted rows, which the archive needs" }
        if let managed = table.managed, let schema = try catalog.coreData(db),
            schema.needsObjects(managed)
        {
            return "the model's relationships or history affect what is deleted with a row"
        }
        if try HistoryTables.exist(db) {
            return "the store keeps a history, which has to record every row"
        }
        if let key = table.entity.incomingRelationships.first { return "\(key.source) refers to its rows" }
        if let trigger = table.entity.deleteTriggers.first { return "its trigger \(trigger) would not fire" }
        if try !hasWAL(db) {
            return "the store is not in WAL mode, so its rows could not be read meanwhile"
        }
        var reserved: Int32 = -1
        sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
        return reserved == 0 ? nil : "its pages have bytes that belong to an extension of SQLite"
    }

    /// Why a table cannot be copied, as a phrase, or nil: its columns hide its rowid, or it needs functions or collations that this program
    /// lacks.
    func obstacleToCopies(_ db: Database) throws -> String? {
        for entry in try catalog.schema(db).entries where entry.isStoredTable && entry.name != SchemaEntry.sequences {
            do {
                // A read-only connection does not compile CHECK constraints.
                let statements =
                    [try CopiedTable(entry.name, self, db).copyAll(to: "main")]
                    + SchemaText.checks(entry.sql).map {
                        "SELECT 1 FROM main.\(entry.name.quotedIdentifier) WHERE \($0)"
                    }
                if let flaw = try Self.flaw(of: statements, db) { return "\(entry.name) cannot be copied: \(flaw)" }
            } catch let error as StoreError {
                return error.message
            }
        }
        return nil
    }

    /// Whether rows are stored in date order, by a sample from across the table. Some disorder is harmless, because neighbours in time are
    /// still neighbours in the file.
    private func liesInDateOrder(_ date: DateAttribute, _ table: SQLiteTable, _ db: Database) throws -> Bool {
        let scope = RowScope(table)
        let dateSQL = try dateSQL(date, scope, db)
        guard let rowIDs = try rowIDs(of: table, db), rowIDs.lowerBound < rowIDs.upperBound else { return true }
        let key = scope.key[0]
        // Read by rowid, whatever indexes there are, each lookup reads one page.
        let rows = "\(scope.target()) NOT INDEXED"
        var previous: DateKey?
        var (found, inversions) = (0, 0)
        for place in rowIDs.spread(over: Self.sampleCount) {
            let value = try row(
                "SELECT \(dateSQL.orderValue) FROM \(rows) WHERE \(key) >= \(bound: place) ORDER BY \(key) LIMIT 1", db)?
                .first
            guard let next = value.flatMap({ DateKey($0) }) else { continue }
            found += 1
            if let previous, next < previous { inversions += 1 }
            previous = next
        }
        // Newest first counts as an order.
        return Double(min(inversions, found - inversions)) <= Double(found) * Self.mostInversions
    }

    /// The first and last rowid of a table, or nil if it has none or no row.
    func rowIDs(of table: SQLiteTable, _ db: Database) throws -> ClosedRange<Int64>? {
        guard let rowID = table.rowID?.quotedIdentifier else { return nil }
        let ends = try row(
            "SELECT (SELECT min(\(rowID)) FROM \(table.sql)), (SELECT max(\(rowID)) FROM \(table.sql))", db)
        guard let ends, case .integer(let first) = ends[0], case .integer(let last) = ends[1] else { return nil }
        return first...last
    }

    /// The fewest rows for which the choice pays. Fewer rows are deleted by date before another method has begun.
    private static let fewestRows = 50_000
    /// The expired part from which windows are used. Below it, the few rows of each page are cheaper to find by date.
    private static let windowsPart = 0.02
    /// The expired parts from which copying the other rows is cheaper than deleting. Source: docs/decisions/0012-rebuilds.md.
    private static let orderedRebuildPart = 0.62
    private static let randomRebuildPart = 0.2
    private static let sampleCount = 200
    /// The largest part of inversions in an order. In random order half of the neighbours are inverted.
    private static let mostInversions = 0.15
}
