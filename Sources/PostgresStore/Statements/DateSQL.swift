import PriceStore

/// A date column in SQL: which rows are readable, which lie before an instant, and how they are ordered.
///
/// Every condition is bounded on both sides, so that a row is deleted only if its date was read.
struct DateSQL {
    /// How values of the column become dates.
    enum Reading: Hashable {
        /// Never: for example a text column with a numeric format.
        case never
        /// The values are in the order of their dates, so a comparison with a bound is enough.
        case ordered
        /// The query of ``CivilSQL`` parses them.
        case parsed
    }

    let date: DateAttribute
    let column: String
    let type: ColumnType
    let reading: Reading

    init(date: DateAttribute, column: String, type: ColumnType) {
        self.date = date
        self.column = column
        self.type = type
        let isNumber = [.integer, .real, .numeric].contains(type)
        reading =
            switch date.encoding {
            case .native: type.isDate ? .ordered : .never
            case .iso8601, .pattern: type == .text ? .parsed : .never
            case .yyyymmdd, .yyyymmddhhmmss: type == .text || isNumber ? .parsed : .never
            default: isNumber ? .ordered : .never
            }
    }

    /// A value to sort by. It is greater for later dates, and NULL or meaningless for unreadable ones.
    var orderValue: SQLFragment {
        reading == .parsed ? CivilSQL(self).scalar("s") : SQLFragment(column)
    }

    /// The type of ``orderValue`` for a cast.
    var orderType: String {
        guard reading == .ordered else { return "int8" }
        return switch type {
        case .timestamptz: "timestamptz"
        case .timestamp: "timestamp"
        case .date: "date"
        case .real: "float8"
        case .numeric: "numeric"
        default: "int8"
        }
    }

    // MARK: Conditions

    /// The readable rows. With `before`: those wholly before it. With `from`: without those wholly before it.
    func readable(from: Instant? = nil, before: Instant? = nil) -> SQLFragment {
        switch reading {
        case .never: return .never
        case .parsed:
            var parts = [
                "span.s >= " + .bound("\(date.earliest.microseconds)", "int8")
            ]
            if let from { parts.append("span.e > " + .bound("\(from.microseconds)", "int8")) }
            if let before { parts.append("span.e <= " + .bound("\(before.microseconds)", "int8")) }
            if let latest = date.latest { parts.append("span.s <= " + .bound("\(latest.microseconds)", "int8")) }
            return "EXISTS (SELECT 1 FROM " + CivilSQL(self).query + " AS span WHERE "
                + .joined(parts, by: " AND ", empty: .always) + ")"
        case .ordered:
            var parts = [bound(.greaterOrEqual, .start(date.earliest))]
            if let from { parts.append(bound(.greaterOrEqual, .cutoff(from))) }
            if let before { parts.append(bound(.less, .cutoff(before))) }
            if let latest = date.latest {
                parts.append(bound(.lessOrEqual, .end(latest)))
            } else if before == nil {
                parts.append(isFinite)
            }
            parts += untrusted.map { "\(column) <> " + $0 }
            return .all(parts)
        }
    }

    /// The readable rows whose first instant meets a comparison with an instant.
    func readable(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment {
        let isRight: SQLFragment
        switch reading {
        case .never: return .never
        case .parsed:
            isRight = CivilSQL(self).scalar("s") + " \(comparison.sql) " + .bound("\(instant.microseconds)", "int8")
        case .ordered:
            switch comparison {
            case .less, .greaterOrEqual: isRight = bound(comparison, .start(instant))
            case .lessOrEqual, .greater: isRight = bound(comparison, .end(instant))
            case .equal:
                isRight = .all([bound(.greaterOrEqual, .start(instant)), bound(.lessOrEqual, .end(instant))])
            case .notEqual: isRight = .any([bound(.less, .start(instant)), bound(.greater, .end(instant))])
            }
        }
        return .all(["\(column) IS NOT NULL", readable(), isRight])
    }

    /// The code of the first condition that holds; 0 if none does.
    static func code(_ codes: [(condition: SQLFragment, code: Int)]) -> SQLFragment {
        let cases: [SQLFragment] = codes.map { "WHEN " + $0.condition + " THEN \($0.code)" }
        return "CASE " + .joined(cases, by: " ") + " ELSE 0 END"
    }

    /// The code of a row's date, by the first condition that holds: 0 readable, 1 to 6 one of ``unreadableReasons``, 7 readable and before
    /// the instant.
    func codes(before cutoff: Instant) -> [(condition: SQLFragment, code: Int)] {
        var codes: [(condition: SQLFragment, code: Int)] = [("\(column) IS NULL", 1)]
        switch reading {
        case .never: codes.append((.always, 2))
        case .parsed:
            if type != .text { codes.append(("\(column) = 0", 4)) }
            codes.append(("span.s IS NULL", 3))
            codes.append(("span.s < " + .bound("\(date.earliest.microseconds)", "int8"), 5))
            if let latest = date.latest { codes.append(("span.s > " + .bound("\(latest.microseconds)", "int8"), 6)) }
            codes.append(("span.e <= " + .bound("\(cutoff.microseconds)", "int8"), 7))
        case .ordered:
            if type != .integer { codes.append(("NOT (" + isFinite + ")", 3)) }
            let untrusted = untrusted
            if !untrusted.isEmpty {
                codes.append(("\(column) IN (" + .joined(untrusted, by: ", ") + ")", 4))
            }
            codes.append(("NOT (" + bound(.greaterOrEqual, .start(date.earliest)) + ")", 5))
            if let latest = date.latest { codes.append(("NOT (" + bound(.lessOrEqual, .end(latest)) + ")", 6)) }
            codes.append((bound(.less, .cutoff(cutoff)), 7))
        }
        return codes
    }

    /// The reasons of ``codes(before:)``, starting at 1.
    static let unreadableReasons: [Survey.Unreadable] = [
        .null, .wrongType, .notADate, .sentinel, .beforeEarliest, .afterLatest,
    ]

    /// The server has later dates than an ``Instant``; these cannot be read.
    static let endOfDates = "'294247-01-01'"

    /// The condition that a number or date is neither infinite nor NaN.
    var isFinite: SQLFragment {
        switch type {
        case .integer: .always
        case .real, .numeric: "\(column) > '-Infinity' AND \(column) < 'Infinity'"
        case .timestamptz, .timestamp, .date:
            "\(column) > '-infinity' AND \(column) < \(Self.endOfDates)"
        case .text, .other: .never
        }
    }

    /// Values in the valid range of dates that are not dates: 0, distant past and future.
    var untrusted: [SQLFragment] {
        guard date.encoding.isNumeric else { return [] }
        return values((date.trustsZero ? [] : [.integer(0)]) + date.encoding.sentinels)
    }

    /// The values that the column can have. No integer is a distant past in nanoseconds.
    private func values(_ values: [StoreValue]) -> [SQLFragment] {
        values.compactMap { value in
            if type == .integer, case .real = value { return nil }
            return .bound(value.serverText, orderType)
        }
    }

    /// The conditions that a number is finite and stands for a date.
    var isCandidate: SQLFragment {
        .all([isFinite] + values(date.encoding.sentinels).map { "\(column) <> " + $0 })
    }

    /// The values that count as the newest before `earliest` is applied, for a maximum.
    var newestCandidate: SQLFragment {
        guard date.encoding.isNumeric else { return SQLFragment(column) }
        return isCandidate == .always ? SQLFragment(column) : "CASE WHEN " + isCandidate + " THEN \(column) END"
    }
}
