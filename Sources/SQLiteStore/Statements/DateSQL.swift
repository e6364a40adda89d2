import GRDB
import PriceStore

/// A date column in SQL: conditions on its readable rows, and their order.
///
/// A plain `date < cutoff` would delete rows with unreadable dates, because SQLite sorts numbers before text. Every condition here checks
/// the type and has both bounds.
struct DateSQL {
    let date: DateAttribute
    let column: String
    let affinity: Attribute.Affinity
    /// The functions that read the date, or nil if the format is arithmetic.
    let function: DateFunction?

    /// The sort value: greater for later dates; NULL or meaningless for unreadable ones.
    var orderValue: String { function.map { "\($0.startName)(\(column))" } ?? column }

    /// A range of stored values, in their own order. It replaces the bounds of the date where an index is walked, so that SQLite cannot
    /// choose the wider of two bounds for its search.
    struct Stretch {
        /// The first value, inclusive.
        var from: StoreValue?
        /// The end, exclusive.
        var below: StoreValue?
        /// The only value.
        var at: StoreValue?
    }

    /// The readable rows, limited to those wholly before `before` and to those not wholly before `from`. The first two conditions are the
    /// ends of the index search.
    func readable(from: Instant?, before: Instant?) -> SQLFragment {
        guard let from else { return readable(before: before) }
        guard let function else {
            // These are the dates that are valid from that instant or from the start of its day.
            let day = Int64(86_400_000_000)
            let dayTime = date.encoding == .unixDays ? (from.microseconds % day + day) % day : 0
            let earliest = max(date.earliest, from.advanced(byMicroseconds: -dayTime))
            let date = DateAttribute(
                name: date.name, encoding: date.encoding, zone: date.zone, earliest: earliest, latest: date.latest,
                trustsZero: date.trustsZero)
            return DateSQL(date: date, column: column, affinity: affinity, function: nil).readable(before: before)
        }
        return .all([
            before.flatMap { prefilter(.less, $0) } ?? .always, prefilter(.greaterOrEqual, from) ?? .always,
            readable(before: before),
            "NOT \(function.rangeName)(\(column), \(bound: Int64.min), \(bound: from.microseconds), \(bound: Int64.max))",
        ])
    }

    /// The readable rows, limited to those wholly before `before` and inside the range.
    func readable(before: Instant? = nil, in stretch: Stretch = Stretch()) -> SQLFragment {
        if let function { return parsed(function, before: before, stretch) }
        guard affinity != .text else { return .never }
        let encoding = date.encoding
        var parts: [SQLFragment] = []
        if let at = stretch.at { parts.append("\(column) = \(bound: at)") }
        if let below = stretch.below { parts.append("\(column) < \(bound: below)") }
        // When all rows are scanned, the first condition decides most of them.
        if let before {
            let bound = encoding.cutoffBound(before)
            // The end of a range is a stored value before the cutoff, so the cutoff is redundant unless integers and reals have different
            // bounds.
            if stretch.below == nil && stretch.at == nil || bound.singleParameter == nil && affinity != .real {
                parts.append(compare(.less, bound))
            }
        }
        if let from = stretch.from ?? stretch.at {
            if stretch.at == nil { parts.append("\(column) >= \(bound: from)") }
        } else {
            parts.append(compare(.greaterOrEqual, encoding.lowerBound(date.earliest)))
        }
        if let latest = date.latest, !isBelieved(before: before) {
            parts.append(compare(.lessOrEqual, encoding.latestBound(latest)))
        }
        if before == nil, date.latest == nil { parts.append(isFinite) }
        parts += untrusted(before: before, in: stretch).map(isNot)
        return .joined(parts, by: " AND ", empty: .always)
    }

    /// The condition of all rows from a date on, to walk an index up to an instant, or nil if unreadable rows may be in between.
    func walk(from: StoreValue?, before: Instant) -> SQLFragment? {
        let stretch = Stretch(from: from)
        guard function == nil, affinity != .text, isBelieved(before: before),
            untrusted(before: before, in: stretch).isEmpty
        else { return nil }
        guard let from else { return compare(.greaterOrEqual, date.encoding.lowerBound(date.earliest)) }
        return "\(column) >= \(bound: from)"
    }

    /// Whether the date is wholly before an instant, for formats of numbers.
    func isBefore(_ instant: Instant) -> SQLFragment { compare(.less, date.encoding.cutoffBound(instant)) }

    /// Whether no date before an instant is later than the latest valid one.
    private func isBelieved(before: Instant?) -> Bool {
        guard let latest = date.latest else { return true }
        return before.map { $0 <= latest } ?? false
    }

    /// The readable rows that are not wholly before an instant, which must not be before the earliest valid date. Only for formats of
    /// numbers.
    func readable(notBefore instant: Instant) -> SQLFragment {
        let encoding = date.encoding
        let parts = [
            compare(.greaterOrEqual, encoding.cutoffBound(instant)),
            date.latest.map { compare(.lessOrEqual, encoding.latestBound($0)) } ?? isFinite,
        ]
        return .joined(parts + untrusted.map(isNot), by: " AND ", empty: .always)
    }

    /// The untrusted values that the bounds do not already exclude.
    private func untrusted(before: Instant?, in stretch: Stretch) -> [StoreValue] {
        let earliest = date.encoding.lowerBound(date.earliest)
        let cutoff = before.map(date.encoding.cutoffBound)
        let first = (stretch.at ?? stretch.from).flatMap(DateKey.init)?.asDouble
        // A double may stand for a neighbouring integer, so SQLite compares values near a bound.
        let lower = (first ?? min(earliest.real, Double(earliest.integer))).nextDown
        let upper = cutoff.map { max($0.real, Double($0.integer)).nextUp } ?? .infinity
        return untrusted.filter { (lower...max(lower, upper)).contains($0.asDouble) }
    }

    /// Numbers below infinity; text and blobs sort after every number.
    var isFinite: SQLFragment { "\(column) <= \(bound: Double.greatestFiniteMagnitude)" }

    func isNot(_ value: StoreValue) -> SQLFragment { "\(column) <> \(bound: value)" }

    /// Values in the range of valid dates that are not dates: 0 and the sentinels of the distant past and future.
    var untrusted: [StoreValue] {
        (date.trustsZero ? [] : [.integer(0)]) + date.encoding.sentinels
    }

    /// All rows of a range, whatever their dates.
    func inside(_ stretch: Stretch) -> SQLFragment {
        .all([
            stretch.from.map { "\(column) >= \(bound: $0)" } ?? .always,
            stretch.below.map { "\(column) < \(bound: $0)" } ?? .always,
        ])
    }

    private func parsed(_ function: DateFunction, before: Instant?, _ stretch: Stretch) -> SQLFragment {
        var parts: [SQLFragment] = []
        if let at = stretch.at { parts.append("\(column) = \(bound: at)") }
        if let from = stretch.from { parts.append("\(column) >= \(bound: from)") }
        if let below = stretch.below {
            parts.append("\(column) < \(bound: below)")
        } else if stretch.at == nil, let prefilter = before.flatMap({ prefilter(.less, $0) }) {
            parts.append(prefilter)
        }
        let bounds = [date.earliest, before ?? .distantFuture, date.latest ?? .distantFuture]
        parts.append("\(function.rangeName)(\(column), \(bound: bounds.map { .integer($0.microseconds) }))")
        return .joined(parts, by: " AND ", empty: .always)
    }

    /// A comparison that can use an index. Every row wholly before the instant passes `less`, and every other row passes `greaterOrEqual`:
    /// the local date of a text differs from its UTC date by at most one day, and begins at most a year before its end.
    func prefilter(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment? {
        let days: Int64 = comparison == .less ? 2 : date.encoding == .iso8601 ? -369 : -3
        let civil = CalendarZone.utc.civil(of: instant.advanced(byMicroseconds: days * 86_400_000_000)).date
        guard (1000...9999).contains(civil.year) else { return nil }
        let digits = Int64(civil.year * 10_000 + civil.month * 100 + civil.day)
        let bound: StoreValue
        switch (date.encoding, affinity) {
        case (.iso8601, _):
            bound = .text("\(civil.year)-\(twoDigits(civil.month))-\(twoDigits(civil.day))")
        case (.yyyymmdd, .text): bound = .text("\(digits)")
        case (.yyyymmddhhmmss, .text): bound = .text("\(digits * 1_000_000)")
        case (.pattern, _), (_, .none), (_, .text): return nil
        case (.yyyymmdd, _): bound = .integer(digits)
        default: bound = .integer(digits * 1_000_000)
        }
        return "\(column) \(comparison.sql) \(bound: bound)"
    }

    private func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    // MARK: Comparing numbers of both storage classes

    /// Compares the column with a bound: integers with its integer, doubles with its double.
    func compare(_ comparison: StorePredicate.Operator, _ bound: NumericBound) -> SQLFragment {
        let sign = comparison.sql
        if affinity == .real { return "\(column) \(sign) \(bound: bound.real)" }
        let single =
            comparison == .lessOrEqual || comparison == .greater
            ? bound.singleInclusiveParameter : bound.singleParameter
        if let single { return "\(column) \(sign) \(bound: single)" }
        // The wider of the two bounds serves the index. Then each storage class is compared with its own bound.
        let (real, integer) = (DateKey.real(bound.real), DateKey.integer(bound.integer))
        let realIsWider = comparison == .greaterOrEqual || comparison == .greater ? real < integer : integer < real
        return """
            \(column) \(sign) \(bound: realIsWider ? StoreValue.real(bound.real) : .integer(bound.integer)) AND \
            (typeof(\(column)) = 'integer' AND \(column) \(sign) \(bound: bound.integer) \
            OR typeof(\(column)) = 'real' AND \(column) \(sign) \(bound: bound.real))
            """
    }
}

extension DateAttribute {
    /// The first instant of a value of ``DateSQL/orderValue``, or nil if it cannot be read.
    func instant(_ value: StoreValue) -> Instant? {
        if !encoding.isNumeric, case .integer(let start) = value { return Instant(microseconds: start) }
        return encoding.read(value, zone: zone).start
    }
}
