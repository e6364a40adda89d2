import PriceStore

/// The bounds of a range partition of one column, from the catalog.
struct PartitionBounds: Hashable {
    /// The lower bound, inclusive, in the server's text format.
    let lower: String
    let upper: String
}

extension DateSQL {
    /// The bounds for which a condition on `bounds.low` and `bounds.high` holds. It holds for no unknown bounds.
    func areTrue(
        _ condition: SQLFragment, of bounds: [PartitionBounds?], _ session: PostgresDatabase
    ) throws -> [Bool] {
        let (lows, highs) = (bounds.map { $0?.lower }, bounds.map { $0?.upper })
        let places =
            "unnest(" + .list(lows, orderType) + ", " + .list(highs, orderType)
            + ") WITH ORDINALITY AS bounds (low, high, place)"
        return try session.rows("SELECT " + condition + " AS holds FROM " + places + " ORDER BY place").map {
            try $0.isTrue("holds")
        }
    }

    private var low: DateSQL { DateSQL(date: date, column: "bounds.low", type: type) }
    private var high: DateSQL { DateSQL(date: date, column: "bounds.high", type: type) }

    /// The condition that all values from `bounds.low` to `bounds.high` are readable and before an instant.
    func isWhollyBefore(_ instant: Instant) -> SQLFragment {
        guard reading == .ordered else { return .never }
        // A value that is not a whole microsecond, day or number cannot lie between the last value and the end.
        // `v < high <= cutoff` holds if it holds for the value just below the end, or for the end itself.
        return .all(
            areTrusted + [
                .any([high.bound(.less, .cutoff(instant)), endsAt(instant)]), "bounds.low < bounds.high",
            ])
    }

    /// The conditions that all values are in the valid range of dates, and are dates.
    private var areTrusted: [SQLFragment] {
        [low.bound(.greaterOrEqual, .start(date.earliest))]
            + (date.latest.map { [high.bound(.lessOrEqual, .end($0))] } ?? [])
            + untrusted.map { "NOT (bounds.low <= " + $0 + " AND " + $0 + " < bounds.high)" }
    }

    /// The condition that all values from `bounds.low` to `bounds.high` are readable and none is before an instant.
    func isWhollyReadableAfter(_ instant: Instant) -> SQLFragment {
        // Around a clock change, local times are not in the order of their instants.
        guard reading == .ordered, type != .timestamp || LocalRange(before: instant, zone: date.zone).hole == nil else {
            return .never
        }
        var conditions = areTrusted + ["NOT (" + low.bound(.less, .cutoff(instant)) + ")"]
        if type.isDate { conditions.append("bounds.high <= \(Self.endOfDates)") }
        if type == .real || type == .numeric { conditions.append("bounds.high < 'Infinity'") }
        return .all(conditions)
    }

    /// The condition that a delete of the readable values before an instant searches the values from `bounds.low` to `bounds.high`.
    func mayBeBefore(_ instant: Instant) -> SQLFragment {
        .all([low.bound(.less, .cutoff(instant)), high.bound(.greater, .start(date.earliest))])
    }

    /// Whether the end of the bounds is exactly the cutoff.
    private func endsAt(_ instant: Instant) -> SQLFragment {
        guard !date.encoding.isNumeric else {
            let number = date.encoding.cutoffBound(instant)
            return type == .integer ? "bounds.high = " + .bound("\(number.integer)", "int8") : .never
        }
        switch type {
        case .timestamptz: return "bounds.high = " + .bound(instant.serverText + "+00", "timestamptz")
        case .timestamp:
            let range = LocalRange(before: instant, zone: date.zone)
            guard range.hole == nil else { return .never }
            return "bounds.high = " + .bound(Instant(microseconds: range.end).serverText, "timestamp")
        default:
            // The last day wholly before the instant is the day before the end.
            return DateSQL(date: date, column: "(bounds.high - 1)", type: .date).bound(.less, .cutoff(instant))
        }
    }
}
