import GRDB
import PriceStore

/// A date column in SQL: which of its rows can be read and lie before an instant, and in which order they come.
///
/// A plain `date < cutoff` would delete rows that it never read, since numbers sort before text and NULL-like values
/// before everything. Every condition here is bounded on both sides and typed.
struct DateSQL {
    let date: DateAttribute
    let column: String
    let affinity: Attribute.Affinity
    /// The functions that read the date; nil: the format is arithmetic and needs none.
    let function: DateFunction?

    /// A value to sort by: greater for later dates, NULL or meaningless for unreadable ones.
    var orderValue: String { function.map { "\($0.startName)(\(column))" } ?? column }

    /// The readable rows; with `before`, those that lie wholly before it.
    func readable(before: Instant? = nil) -> SQLFragment {
        if let function { return parsed(function, before: before) }
        guard affinity != .text else { return .never }
        var parts = [compare(.greaterOrEqual, date.encoding.lowerBound(date.earliest))]
        if let before { parts.append(compare(.less, date.encoding.cutoffBound(before))) }
        if let latest = date.latest { parts.append(compare(.lessOrEqual, date.encoding.latestBound(latest))) }
        if before == nil, date.latest == nil { parts.append(isFinite) }
        parts += untrusted.map { SQLFragment("\(column) <> ?", [$0.databaseValue]) }
        return .joined(parts, by: " AND ", empty: .always)
    }

    /// Numbers below infinity; text and blobs sort after every number.
    var isFinite: SQLFragment {
        SQLFragment("\(column) <= ?", [Double.greatestFiniteMagnitude.databaseValue])
    }

    /// Values in the range of believed dates that are no dates: 0, distant past and future.
    var untrusted: [StoreValue] {
        (date.trustsZero ? [] : [.integer(0)]) + date.encoding.sentinels
    }

    private func parsed(_ function: DateFunction, before: Instant?) -> SQLFragment {
        var fragment = before.flatMap(prefilter) ?? SQLFragment("")
        fragment += SQLFragment(
            "\(function.rangeName)(\(column), ?, ?, ?)",
            [
                date.earliest.microseconds.databaseValue, (before ?? .distantFuture).microseconds.databaseValue,
                (date.latest ?? .distantFuture).microseconds.databaseValue,
            ])
        return fragment
    }

    /// A comparison that an index can answer and that no row before the instant fails: the local date of a text is at
    /// most one day after its date in UTC.
    private func prefilter(_ before: Instant) -> SQLFragment? {
        let civil = CalendarZone.utc.civil(of: before.advanced(byMicroseconds: 2 * 86_400_000_000)).date
        guard (1000...9999).contains(civil.year) else { return nil }
        let digits = Int64(civil.year * 10_000 + civil.month * 100 + civil.day)
        let bound: StoreValue
        switch (date.encoding, affinity) {
        case (.iso8601, _):
            bound = .text("\(civil.year)-\(twoDigits(civil.month))-\(twoDigits(civil.day))")
        case (.yyyymmdd, .text): bound = .text("\(digits)")
        case (.yyyymmddhhmmss, .text): bound = .text("\(digits * 1_000_000)")
        case (_, .none), (_, .text): return nil
        case (.yyyymmdd, _): bound = .integer(digits)
        default: bound = .integer(digits * 1_000_000)
        }
        return SQLFragment("\(column) < ? AND ", [bound.databaseValue])
    }

    private func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    // MARK: Comparing numbers of both storage classes

    enum Comparison: String {
        case less = "<"
        case lessOrEqual = "<="
        case greaterOrEqual = ">="

        func holds(_ value: Double, _ bound: Double) -> Bool {
            switch self {
            case .less: value < bound
            case .lessOrEqual: value <= bound
            case .greaterOrEqual: value >= bound
            }
        }
    }

    /// The column compared with a bound: integers with its integer, doubles with its double.
    func compare(_ comparison: Comparison, _ bound: NumericBound) -> SQLFragment {
        let sign = comparison.rawValue
        if affinity == .real { return SQLFragment("\(column) \(sign) ?", [bound.real.databaseValue]) }
        if let single = singleParameter(comparison, bound) {
            return SQLFragment("\(column) \(sign) ?", [single.databaseValue])
        }
        // The wider of the two bounds serves the index; then each storage class is held to its own.
        let realIsWider = comparison == .greaterOrEqual
            ? bound.real < Double(bound.integer) : bound.real > Double(bound.integer)
        let outer = realIsWider ? bound.real.databaseValue : bound.integer.databaseValue
        return SQLFragment(
            "\(column) \(sign) ? AND (typeof(\(column)) = 'integer' AND \(column) \(sign) ? "
                + "OR typeof(\(column)) = 'real' AND \(column) \(sign) ?)",
            [outer, bound.integer.databaseValue, bound.real.databaseValue])
    }

    private func singleParameter(_ comparison: Comparison, _ bound: NumericBound) -> StoreValue? {
        guard comparison == .lessOrEqual else { return bound.singleParameter }
        if Int64(exactly: bound.real) == bound.integer { return .integer(bound.integer) }
        return Int64(exactly: bound.real.rounded(.down)) == bound.integer ? .real(bound.real) : nil
    }

}
