import GRDB
import GRDBSQLite
import PriceStore

extension SQLiteConnection {
    /// Reads every row once and judges it in Swift: for tables without a date index, and for formats that no
    /// comparison in SQL can read.
    ///
    /// Cost: one pass over the table, or over the date index if the format is text; one row is held.
    func surveyByScan(
        _ request: SurveyRequest, _ rows: SurveyRows, into survey: inout Survey, _ db: Database
    ) throws {
        let scope = rows.scope
        let notKept = try request.notKept.map { try condition($0, scope, db) } ?? .always
        let others = try notPreceding(request, scope, db)
        // In the order of the date index, so that it shows whether the text's order is the order of the dates.
        let byDate = rows.access.map { !$0.needsFilter } ?? false
        var query = SQLFragment("SELECT \(rows.date.column)")
        let conditions = [rows.filter, notKept, others]
        let hasConditions = conditions.contains { $0.text != SQLFragment.always.text }
        // One column for all, and none where nothing is asked: each costs a large part of what a row costs.
        if hasConditions {
            query += SQLFragment(", ")
            query += .joined(
                conditions.enumerated().map { bit, condition in
                    SQLFragment("(((") + condition + ") IS TRUE) << \(bit))"
                }, by: " | ", empty: .always)
        }
        query = query + " FROM " + (byDate ? rows.byDate : scope.from())
        if byDate { query = query + " ORDER BY " + rows.date.column }

        var scan = SurveyScan(request, function: rows.date.function, affinity: rows.date.affinity)
        let statement = try statement(query, db)
        let handle = statement.sqliteStatement
        defer { sqlite3_reset(handle) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: scan.read(handle, hasConditions ? sqlite3_column_int(handle, 1) : SurveyScan.allTrue)
            case SQLITE_DONE:
                scan.finish(&survey)
                // A text index is in the order of the dates only if the scan has seen so; a number index always is.
                survey.isInDateOrder = rows.date.function == nil ? rows.access != nil : byDate && scan.isInDateOrder
                return
            default: throw DatabaseError(resultCode: db.lastErrorCode, message: db.lastErrorMessage)
            }
        }
    }
}

/// The counts of a scan, and how one row adds to them. A row has its date, and bits that tell whether it matches the filter,
/// is not kept, and is no earlier rule's.
private struct SurveyScan {
    static let allTrue: Int32 = 7

    private let request: SurveyRequest
    private let function: DateFunction?
    private let isTextColumn: Bool
    private let lower: NumericBound
    private let cutoff: NumericBound
    private let latest: NumericBound?
    private let untrusted: [Double]

    private var rowCount = 0
    private var readableCount = 0
    private var expiredCount = 0
    private var expiredAloneCount = 0
    private var inRangeCount = 0
    private var unreadable: [Survey.Unreadable: (Int, StoreValue)] = [:]
    private var leavesReadableRows = false
    private var oldest: DateKey?
    private var newest: DateKey?
    private var newestExpired: DateKey?
    private var newestOfEntity: DateKey?
    private var newestValue: DateKey?
    private var previous: DateKey?
    private(set) var isInDateOrder = true

    init(_ request: SurveyRequest, function: DateFunction?, affinity: Attribute.Affinity) {
        self.request = request
        self.function = function
        isTextColumn = affinity == .text
        let date = request.date
        let encoding = date.encoding
        if function == nil {
            lower = encoding.lowerBound(date.earliest)
            cutoff = encoding.cutoffBound(request.cutoff)
            latest = date.latest.map(encoding.latestBound)
        } else {
            lower = NumericBound(integer: date.earliest.microseconds, real: 0)
            cutoff = NumericBound(integer: request.cutoff.microseconds, real: 0)
            latest = date.latest.map { NumericBound(integer: $0.microseconds, real: 0) }
        }
        untrusted = encoding.sentinels.map(\.asDouble) + (date.trustsZero ? [] : [0])
    }

    mutating func read(_ row: OpaquePointer, _ bits: Int32) {
        let matches = bits & 1 != 0
        if matches { rowCount += 1 }
        switch judge(row) {
        case .unreadable(let reason):
            guard matches else { return }
            if unreadable[reason] == nil { unreadable[reason] = (0, StoreValue(row, column: 0)) }
            unreadable[reason]?.0 += 1
        case .date(let key, let isExpired):
            raise(&newestOfEntity, to: key)
            if let previous, key < previous { isInDateOrder = false }
            previous = key
            guard matches else {
                leavesReadableRows = true
                return
            }
            readableCount += 1
            raise(&newest, to: key)
            if oldest.map({ key < $0 }) ?? true { oldest = key }
            guard isExpired else {
                leavesReadableRows = true
                return
            }
            inRangeCount += 1
            guard bits & 2 != 0 else {
                leavesReadableRows = true
                return
            }
            expiredAloneCount += 1
            guard bits & 4 != 0 else { return }
            expiredCount += 1
            raise(&newestExpired, to: key)
        }
    }

    private enum Judgement {
        case unreadable(Survey.Unreadable)
        case date(DateKey, isExpired: Bool)
    }

    private mutating func judge(_ row: OpaquePointer) -> Judgement {
        let type = sqlite3_column_type(row, 0)
        guard type != SQLITE_NULL else { return .unreadable(.null) }
        guard let function else { return judgeNumber(row, type) }
        let isText = request.date.encoding == .iso8601
        guard type != SQLITE_BLOB, isText == false || type == SQLITE_TEXT else { return .unreadable(.wrongType) }
        if !isText, type != SQLITE_TEXT, sqlite3_column_double(row, 0) == 0 { return .unreadable(.sentinel) }
        guard let value = sqlite3_column_value(row, 0), let span = function.span(value) else {
            return .unreadable(.notADate)
        }
        raise(&newestValue, to: .integer(span.start))
        if span.start < lower.integer { return .unreadable(.beforeEarliest) }
        if let latest, span.start > latest.integer { return .unreadable(.afterLatest) }
        return .date(.integer(span.start), isExpired: span.end <= cutoff.integer)
    }

    private mutating func judgeNumber(_ row: OpaquePointer, _ type: Int32) -> Judgement {
        let key: DateKey
        switch type {
        case SQLITE_INTEGER: key = .integer(sqlite3_column_int64(row, 0))
        case SQLITE_FLOAT: key = .real(sqlite3_column_double(row, 0))
        default: return .unreadable(.wrongType)
        }
        let value = key.asDouble
        guard value.isFinite else { return .unreadable(.notADate) }
        if untrusted.contains(value) {
            if value == 0 { raise(&newestValue, to: key) }
            return .unreadable(.sentinel)
        }
        raise(&newestValue, to: key)
        guard key.isAtLeast(lower) else { return .unreadable(.beforeEarliest) }
        if let latest, !key.isAtMost(latest) { return .unreadable(.afterLatest) }
        return .date(key, isExpired: !key.isAtLeast(cutoff))
    }

    private func raise(_ newest: inout DateKey?, to key: DateKey) {
        if newest.map({ $0 < key }) ?? true { newest = key }
    }

    func finish(_ survey: inout Survey) {
        survey.rowCount = rowCount
        survey.readableCount = readableCount
        survey.expiredCount = expiredCount
        survey.expiredAloneCount = expiredAloneCount
        survey.keptByRuleCount = inRangeCount - expiredAloneCount
        survey.leavesReadableRows = leavesReadableRows || expiredAloneCount == 0
        for reason in Survey.Unreadable.allCases {
            if let (count, example) = unreadable[reason] { survey.add(reason, count, example) }
        }
        survey.oldest = oldest.flatMap(instant)
        survey.newest = newest.flatMap(instant)
        survey.newestExpired = newestExpired.flatMap(instant)
        survey.newestOfEntity = newestOfEntity.flatMap(instant)
        survey.newestValue = newestValue.map { key in
            guard function != nil, case .integer(let start) = key else { return key.storeValue }
            return request.date.encoding.value(of: Instant(microseconds: start), zone: request.date.zone)
        }
    }

    private func instant(_ key: DateKey) -> Instant? {
        if function != nil, case .integer(let start) = key { return Instant(microseconds: start) }
        guard case .span(let start, _) = request.date.encoding.read(key.storeValue, zone: request.date.zone) else {
            return nil
        }
        return start
    }
}

/// A date as a number: the stored one, or microseconds for formats that are parsed.
private enum DateKey {
    case integer(Int64)
    case real(Double)

    var asDouble: Double {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        }
    }

    var storeValue: StoreValue {
        switch self {
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        }
    }

    static func < (a: DateKey, b: DateKey) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.real(let a), .real(let b)): a < b
        // Not both as doubles: beyond 2^53 that would make different integers equal.
        case (.integer(let a), .real(let b)): b >= 0x1p63 || b >= -0x1p63 && a < Int64(b.rounded(.up))
        case (.real(let a), .integer(let b)): a < -0x1p63 || a < 0x1p63 && Int64(a.rounded(.down)) < b
        }
    }

    func isAtLeast(_ bound: NumericBound) -> Bool {
        switch self {
        case .integer(let value): value >= bound.integer
        case .real(let value): value >= bound.real
        }
    }

    func isAtMost(_ bound: NumericBound) -> Bool {
        switch self {
        case .integer(let value): value <= bound.integer
        case .real(let value): value <= bound.real
        }
    }
}

extension StoreValue {
    /// A number as a double; 0 for what is no number.
    var asDouble: Double {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: 0
        }
    }

    /// A column of the row that a statement stands on.
    init(_ row: OpaquePointer, column: Int32) {
        switch sqlite3_column_type(row, column) {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(row, column))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(row, column))
        case SQLITE_TEXT:
            let count = Int(sqlite3_column_bytes(row, column))
            let bytes = UnsafeBufferPointer(start: sqlite3_column_text(row, column), count: count)
            self = .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(row, column))
            self = .blob([UInt8](UnsafeRawBufferPointer(start: sqlite3_column_blob(row, column), count: count)))
        default: self = .null
        }
    }
}
