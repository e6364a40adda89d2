import GRDB
import GRDBSQLite
import PriceStore

/// The counts of a scan. Each row has a date and bits that say whether it matches the filter (1), is not kept (2), and is not deleted by an
/// earlier rule (4).
struct SurveyTally {
    static let allTrue: Int32 = 7

    private let request: SurveyRequest
    private let function: DateFunction?
    private let isText: Bool
    private let lower: NumericBound
    private let cutoff: NumericBound
    private let latest: NumericBound?
    private let untrusted: [Double]

    private var integers: PlainDates<Int64>
    private var reals: PlainDates<Double>
    private var others = Counts()
    private var going = RowIDSpan()
    private var unreadable: [Survey.Unreadable: (Int, StoreValue)] = [:]
    private var newestValue: DateKey?
    private var previous = Int64.min
    private var next = Int64.max
    /// Whether no date followed a later one. Only for parsed formats.
    private(set) var isAscending = true
    /// Whether no date followed an earlier one. Only for parsed formats.
    private(set) var isDescending = true

    /// The counts of readable rows.
    private struct Counts {
        var rows = 0
        var readable = 0
        var inRange = 0
        var expiredAlone = 0
        var expired = 0
        var leavesReadableRows = false
        var oldest: DateKey?
        var newest: DateKey?
        var oldestExpired: DateKey?
        var newestExpired: DateKey?
        var newestOfEntity: DateKey?
    }

    init(_ request: SurveyRequest, function: DateFunction?) {
        self.request = request
        self.function = function
        let date = request.date
        let encoding = date.encoding
        isText = encoding == .iso8601 || encoding.datePattern != nil
        if function == nil {
            lower = encoding.lowerBound(date.earliest)
            cutoff = encoding.cutoffBound(request.cutoff)
            latest = date.latest.map(encoding.latestBound)
            untrusted = encoding.sentinels.map(\.asDouble) + (date.trustsZero ? [] : [0])
        } else {
            lower = NumericBound(integer: date.earliest.microseconds, real: 0)
            cutoff = NumericBound(integer: request.cutoff.microseconds, real: 0)
            latest = date.latest.map { NumericBound(integer: $0.microseconds, real: 0) }
            untrusted = []
        }
        integers = PlainDates(lower.integer, cutoff.integer, latest?.integer ?? .max)
        reals = PlainDates(lower.real, cutoff.real, latest?.real ?? .greatestFiniteMagnitude)
        for value in untrusted {
            reals.leaveOut(value.nextDown, value.nextUp)
            // Beyond 2^53 a double represents several integers.
            integers.leaveOut(
                Int64(clamping: value.nextDown.rounded(.down)), Int64(clamping: value.nextUp.rounded(.up)))
        }
    }

    /// Counts a row. Most rows have a plain date and take the fast path.
    @inline(__always)
    mutating func add(_ value: OpaquePointer, rowID: Int64, _ bits: Int32) {
        if let function {
            guard !isText || sqlite3_value_type(value) == SQLITE_TEXT, let span = function.span(value) else {
                return addUnparsed(value, bits)
            }
            isAscending = isAscending && span.start >= previous
            isDescending = isDescending && span.start <= next
            (previous, next) = (span.start, span.start)
            let isExpired = span.end <= integers.cutoff
            if bits == Self.allTrue, integers.add(span.start, isExpired: isExpired) {
                if isExpired { going.add(rowID) }
                return
            }
            return addDate(.integer(span.start), isExpired: isExpired, value, rowID, bits)
        }
        var (isPlain, isExpired) = (false, false)
        if bits == Self.allTrue {
            switch sqlite3_value_type(value) {
            case SQLITE_FLOAT:
                let date = sqlite3_value_double(value)
                isExpired = date < reals.cutoff
                isPlain = reals.add(date, isExpired: isExpired)
            case SQLITE_INTEGER:
                let date = sqlite3_value_int64(value)
                isExpired = date < integers.cutoff
                isPlain = integers.add(date, isExpired: isExpired)
            default: break
            }
        }
        guard isPlain else { return addNumber(value, rowID, bits) }
        if isExpired { going.add(rowID) }
    }

    private mutating func addUnparsed(_ value: OpaquePointer, _ bits: Int32) {
        let reason: Survey.Unreadable =
            switch sqlite3_value_type(value) {
            case SQLITE_NULL: .null
            case SQLITE_BLOB: .wrongType
            case SQLITE_TEXT: .notADate
            default: isText ? .wrongType : sqlite3_value_double(value) == 0 ? .sentinel : .notADate
            }
        addUnreadable(reason, value, bits)
    }

    private mutating func addNumber(_ value: OpaquePointer, _ rowID: Int64, _ bits: Int32) {
        let key: DateKey
        switch sqlite3_value_type(value) {
        case SQLITE_NULL: return addUnreadable(.null, value, bits)
        case SQLITE_INTEGER: key = .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: key = .real(sqlite3_value_double(value))
        default: return addUnreadable(.wrongType, value, bits)
        }
        let number = key.asDouble
        guard number.isFinite else { return addUnreadable(.notADate, value, bits) }
        guard !untrusted.contains(number) else {
            if number == 0 { newestValue.raise(to: key) }
            return addUnreadable(.sentinel, value, bits)
        }
        addDate(key, isExpired: !key.isAtLeast(cutoff), value, rowID, bits)
    }

    private mutating func addUnreadable(
        _ reason: Survey.Unreadable, _ value: OpaquePointer, _ bits: Int32
    ) {
        guard bits & 1 != 0 else { return }
        others.rows += 1
        if unreadable[reason] == nil { unreadable[reason] = (0, StoreValue(value)) }
        unreadable[reason]?.0 += 1
    }

    private mutating func addDate(
        _ key: DateKey, isExpired: Bool, _ value: OpaquePointer, _ rowID: Int64, _ bits: Int32
    ) {
        newestValue.raise(to: key)
        guard key.isAtLeast(lower) else { return addUnreadable(.beforeEarliest, value, bits) }
        if let latest, !key.isAtMost(latest) {
            return addUnreadable(.afterLatest, value, bits)
        }
        let matches = bits & 1 != 0
        let goes = matches && isExpired && bits & 2 != 0
        if goes { going.add(rowID) }
        others.newestOfEntity.raise(to: key)
        others.leavesReadableRows = others.leavesReadableRows || !goes
        guard matches else { return }
        others.rows += 1
        others.readable += 1
        others.newest.raise(to: key)
        others.oldest.lower(to: key)
        guard isExpired else { return }
        others.inRange += 1
        guard goes else { return }
        others.expiredAlone += 1
        guard bits & 4 != 0 else { return }
        others.expired += 1
        others.oldestExpired.lower(to: key)
        others.newestExpired.raise(to: key)
    }

    func fill(_ survey: inout Findings) {
        var counts = others
        var newestValue = newestValue
        for plain in [integers.found(DateKey.integer), reals.found(DateKey.real)] {
            counts.rows += plain.expiredCount + plain.keptCount
            counts.readable += plain.expiredCount + plain.keptCount
            counts.inRange += plain.expiredCount
            counts.expiredAlone += plain.expiredCount
            counts.expired += plain.expiredCount
            counts.leavesReadableRows = counts.leavesReadableRows || plain.keptCount > 0
            if let ends = plain.expired {
                counts.oldestExpired.lower(to: ends.oldest)
                counts.newestExpired.raise(to: ends.newest)
            }
            for ends in [plain.expired, plain.kept].compactMap(\.self) {
                counts.oldest.lower(to: ends.oldest)
                counts.newest.raise(to: ends.newest)
                counts.newestOfEntity.raise(to: ends.newest)
                newestValue.raise(to: ends.newest)
            }
        }
        survey.rowCount = counts.rows
        survey.readableCount = counts.readable
        survey.expiredCount = counts.expired
        survey.expiredAloneCount = counts.expiredAlone
        survey.kept.byRuleCount = counts.inRange - counts.expiredAlone
        survey.expiredRowIDs = going.range
        survey.leavesReadableRows = counts.leavesReadableRows
        for reason in Survey.Unreadable.allCases {
            if let (count, example) = unreadable[reason] { survey.survey.add(reason, count, example) }
        }
        survey.dates.oldest = counts.oldest.flatMap(instant)
        survey.dates.newest = counts.newest.flatMap(instant)
        survey.dates.oldestExpired = counts.oldestExpired.flatMap(instant)
        survey.dates.newestExpired = counts.newestExpired.flatMap(instant)
        survey.dates.newestOfEntity = counts.newestOfEntity.flatMap(instant)
        survey.dates.newestValue = newestValue.map { key in
            guard function != nil, case .integer(let start) = key else { return key.storeValue }
            return request.date.encoding.value(of: Instant(microseconds: start), zone: request.date.zone)
        }
    }

    private func instant(_ key: DateKey) -> Instant? { request.date.instant(key.storeValue) }
}

/// The first and last of a set of rowids.
private struct RowIDSpan {
    private var first = Int64.max
    private var last = Int64.min

    @inline(__always)
    mutating func add(_ rowID: Int64) {
        if rowID < first { first = rowID }
        if rowID > last { last = rowID }
    }

    /// The range from first to last, or nil if there is none.
    var range: ClosedRange<Int64>? { first <= last ? first...last : nil }
}

/// Plain dates of one storage class: within the valid range and away from every value that means "no date".
private struct PlainDates<Value: Comparable> {
    private var lower: Value
    let cutoff: Value
    private var upper: Value
    private var expiredCount = 0
    private var keptCount = 0
    private var expired: (oldest: Value, newest: Value)
    private var kept: (oldest: Value, newest: Value)

    /// Dates from `lower` to `upper`, both inclusive.
    init(_ lower: Value, _ cutoff: Value, _ upper: Value) {
        self.lower = lower
        self.cutoff = cutoff
        self.upper = upper
        // The first date replaces these ends.
        expired = (upper, lower)
        kept = (upper, lower)
    }

    /// Excludes the values between two bounds and everything beyond them as seen from the cutoff.
    mutating func leaveOut(_ below: Value, _ above: Value) {
        if above <= cutoff { lower = max(lower, above) } else { upper = min(upper, below) }
    }

    /// Counts the date if it is plain, and returns whether it is.
    @inline(__always)
    mutating func add(_ date: Value, isExpired: Bool) -> Bool {
        guard date >= lower, date <= upper else { return false }
        if isExpired {
            expiredCount += 1
            if date < expired.oldest { expired.oldest = date }
            if date > expired.newest { expired.newest = date }
        } else {
            keptCount += 1
            if date < kept.oldest { kept.oldest = date }
            if date > kept.newest { kept.newest = date }
        }
        return true
    }

    /// The counts, with ends only where something was counted.
    func found(_ key: (Value) -> DateKey) -> (
        expiredCount: Int, keptCount: Int, expired: (oldest: DateKey, newest: DateKey)?,
        kept: (oldest: DateKey, newest: DateKey)?
    ) {
        (
            expiredCount, keptCount, expiredCount > 0 ? (key(expired.oldest), key(expired.newest)) : nil,
            keptCount > 0 ? (key(kept.oldest), key(kept.newest)) : nil
        )
    }
}

/// A date as a number: the stored one, or microseconds for parsed formats.
enum DateKey: Comparable {
    case integer(Int64)
    case real(Double)

    var asDouble: Double { storeValue.asDouble }

    var storeValue: StoreValue {
        switch self {
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        }
    }

    /// The number of a value, or nil if it is not a number.
    init?(_ value: StoreValue) {
        switch value {
        case .integer(let number): self = .integer(number)
        case .real(let number): self = .real(number)
        default: return nil
        }
    }

    static func < (a: DateKey, b: DateKey) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.real(let a), .real(let b)): a < b
        // Two doubles are not compared: beyond 2^53 different integers would be equal.
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
    /// A number as a double, or 0 if the value is not a number.
    var asDouble: Double {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: 0
        }
    }
}

extension DateKey? {
    fileprivate mutating func raise(to key: DateKey) {
        if map({ $0 < key }) ?? true { self = key }
    }

    fileprivate mutating func lower(to key: DateKey) {
        if map({ key < $0 }) ?? true { self = key }
    }
}

extension Int64 {
    /// The nearest integer of 64 bits.
    fileprivate init(clamping value: Double) {
        self = Int64(exactly: value) ?? (value < 0 ? .min : .max)
    }
}
