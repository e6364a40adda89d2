import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteFile {
    /// Reads every row once and classifies it in Swift, for tables without a date index and for formats that SQL cannot compare.
    ///
    /// It takes one pass over the table, or over the date index if the format is text, and keeps no row in memory. An aggregate function
    /// takes the dates, because stepping a statement for each row costs more than all the work on it.
    func surveyByScan(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Findings, _ db: Database
    ) throws {
        let scope = rows.scope
        var notSpared = try request.notSpared.map { try condition($0, scope, db) } ?? .always
        if notSpared != .always, rows.date.function == nil {
            // Looking up whether a row is kept costs more than everything else, so only rows before the cutoff are looked up.
            notSpared = "NOT (\(rows.date.isBefore(request.cutoff))) OR (\(notSpared))"
        }
        let others = try notPreceding(request, scope, db)
        // The scan follows the date index to find out whether the order of the texts is the order of the dates.
        let walked = rows.access.flatMap { $0.needsFilter ? nil : $0 }
        // Rowids are useful only if the table itself is read. Reading them costs a tenth of the scan.
        let rowID = walked == nil && !scope.table.isWithoutRowID ? scope.key.first : nil
        let conditions = [rows.filter, notSpared, others]
        // The conditions are bits of one number, because each column costs a large part of the time of a row.
        let bits: SQLFragment =
            conditions.contains { $0 != .always }
            ? .joined(conditions.enumerated().map { "(((\($1)) IS TRUE) << \($0))" }, by: " | ", empty: .always)
            : "\(SurveyTally.allTrue)"
        let source = walked == nil ? scope.from() : rows.walked

        let tally = try functions.tally(db).tally(request, rows.date) {
            _ = try row(
                "SELECT \(TallyFunction.name)(\(rows.date.column), \(rowID ?? "NULL"), \(bits)) FROM \(source)", db)
        }
        tally.fill(&survey)
        if rowID == nil { survey.expiredRowIDs = nil }
        // A text index is in date order only if the scan has shown it; a number index always is.
        survey.index.isInDateOrder =
            rows.date.function == nil
            ? rows.access != nil
            : walked.map { $0.isDescending ? tally.isDescending : tally.isAscending } ?? false
        if let walked, !survey.index.isInDateOrder {
            survey.index.obstacle =
                "the index \(walked.label) exists, but the order of its values is not the order of their dates, since "
                + "they differ in shape or offset"
        }
    }
}

/// An aggregate function of a connection that counts dates: `retention_tally(date, rowid, bits)`, with the bits of ``SurveyTally``. Its SQL
/// result is NULL.
final class TallyFunction {
    static let name = "retention_tally"

    /// The counts. SQLite holds this address.
    private let place = UnsafeMutablePointer<SurveyTally?>.allocate(capacity: 1)

    /// Registers the function with a connection, which must keep this object as long as it is open.
    init(_ db: Database) throws {
        place.initialize(to: nil)
        let flags = SQLITE_UTF8 | 0x0008_0000 /* SQLITE_DIRECTONLY, a macro that is not imported */
        let code = sqlite3_create_function_v2(
            db.sqliteConnection, Self.name, 3, flags, place, nil, addRow, { sqlite3_result_null($0) }, nil)
        try requireResult(code)
    }

    deinit {
        place.deinitialize(count: 1)
        place.deallocate()
    }

    /// Returns what the function counts while a query calls it once for each row.
    func tally(
        _ request: SurveyRequest, _ date: DateSQL, during query: () throws -> Void
    ) rethrows -> SurveyTally {
        let empty = SurveyTally(request, function: date.function)
        place.pointee = empty
        defer { place.pointee = nil }
        try query()
        return place.pointee ?? empty
    }
}

private func addRow(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    if let values, let date = values[0] {
        sqlite3_user_data(context)?.assumingMemoryBound(to: SurveyTally?.self).pointee?
            .add(date, rowID: sqlite3_value_int64(values[1]), sqlite3_value_int(values[2]))
    }
}
