import PriceStore

extension DateSQL {
    /// What a column is compared with.
    enum Bound {
        /// An instant at or before which the whole span of a row must end.
        case cutoff(Instant)
        /// An instant compared with the first instant of a row, by `<` or `>=`.
        case start(Instant)
        /// The same, by `<=` or `>`.
        case end(Instant)

        var instant: Instant {
            switch self {
            case .cutoff(let instant), .start(let instant), .end(let instant): instant
            }
        }
    }

    /// The column compared with a bound. Only for ordered columns.
    func bound(_ comparison: StorePredicate.Operator, _ bound: Bound) -> SQLFragment {
        if date.encoding.isNumeric { return numberBound(comparison, bound) }
        return switch type {
        case .timestamptz: "\(column) \(comparison.sql) " + .bound(bound.instant.serverText + "+00", "timestamptz")
        case .timestamp: localBound(comparison, bound.instant)
        default: dayBound(comparison, bound)
        }
    }

    private func numberBound(_ comparison: StorePredicate.Operator, _ bound: Bound) -> SQLFragment {
        let number: NumericBound =
            switch bound {
            case .start: date.encoding.lowerBound(bound.instant)
            case .cutoff: date.encoding.cutoffBound(bound.instant)
            case .end: date.encoding.latestBound(bound.instant)
            }
        let sign = comparison.sql
        switch type {
        case .integer: return "\(column) \(sign) " + .bound("\(number.integer)", "int8")
        case .real: return "\(column) \(sign) " + .bound(number.real.serverText, "float8")
        default:
            // Whole numbers are compared with the exact bound, others with the nearest double. The wider of the two bounds serves the
            // index, because a number may lie between two doubles.
            let isUpper = comparison == .less || comparison == .lessOrEqual
            let real = number.real.serverText
            let neighbour = isUpper ? number.real.nextUp : number.real.nextDown
            let wide =
                SQLFragment(isUpper ? "greatest(" : "least(") + .bound("\(number.integer)", "numeric") + ", "
                + .bound(neighbour.serverText, "numeric") + ")"
            let wideSign = isUpper ? "<=" : ">="
            return "\(column) \(wideSign) " + wide + " AND CASE WHEN \(isWholeNumeric) THEN \(column) \(sign) "
                + .bound("\(number.integer)", "int8") + " ELSE \(doubleOfNumeric) \(sign) " + .bound(real, "float8")
                + " END"
        }
    }

    /// Whether a `numeric` is whole and fits in 64 bits.
    var isWholeNumeric: String {
        "\(column) BETWEEN -9223372036854775808 AND 9223372036854775807 AND trunc(\(column)) = \(column)"
    }

    /// A `numeric` as the nearest double. One that no double holds becomes a very large value.
    var doubleOfNumeric: String {
        "least(greatest(\(column), '-1e300'), '1e300')::float8"
    }

    private func localBound(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment {
        // For microseconds, `<=` and `>` are `<` and `>=` of the next one.
        let isInclusive = comparison == .lessOrEqual || comparison == .greater
        let range = LocalRange(before: isInclusive ? instant.advanced(byMicroseconds: 1) : instant, zone: date.zone)
        func bound(_ local: Int64) -> SQLFragment {
            .bound(Instant(microseconds: local).serverText, "timestamp")
        }
        let isBefore = comparison == .less || comparison == .lessOrEqual
        let main = "\(column) \(isBefore ? "<" : ">=") " + bound(range.end)
        guard let hole = range.hole else { return main }
        let inHole =
            "(\(column) >= " + bound(hole.lowerBound) + " AND \(column) < " + bound(hole.upperBound) + ")"
        return isBefore ? main + " AND NOT " + inHole : "(" + main + " OR " + inHole + ")"
    }

    /// A bound for a `date` column, whose value represents the whole local day.
    private func dayBound(_ comparison: StorePredicate.Operator, _ bound: Bound) -> SQLFragment {
        let instant = bound.instant
        let day =
            switch bound {
            // A day is wholly before the instant if the next day begins at or before it, also by the later of two midnights.
            case .cutoff: dayNumber(instant) { endOfDay($0) > instant }
            case .start: dayNumber(instant) { startOfDay($0) >= instant }
            // `<=` and `>` become `<` and `>=` of the first day that begins after the instant.
            case .end: dayNumber(instant) { startOfDay($0) > instant }
            }
        let isBefore = comparison == .less || comparison == .lessOrEqual
        // PostgreSQL's range of dates. A day beyond it is compared with its end.
        let clamped = min(max(day, -2_440_588), 2_145_031_948)
        return "\(column) \(isBefore ? "<" : ">=") " + .bound(CivilDate(dayNumber: clamped).serverText(), "date")
    }

    private func startOfDay(_ number: Int) -> Instant {
        date.zone.startOfDay(CivilDate(dayNumber: number))
    }

    private func endOfDay(_ number: Int) -> Instant {
        date.zone.instant(of: CivilDateTime(CivilDate(dayNumber: number + 1)))
    }

    /// The first day near an instant for which a condition holds. The condition must hold for all later days.
    private func dayNumber(_ instant: Instant, _ isReached: (Int) -> Bool) -> Int {
        let near = date.zone.civil(of: instant).date.dayNumber
        return near - 3 + (near - 3..<near + 3).prefix { !isReached($0) }.count
    }
}
