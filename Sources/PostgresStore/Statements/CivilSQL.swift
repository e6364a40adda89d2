import PriceStore

/// The query that parses a calendar date. It gives one row with `s` and `e`: the span of the value in microseconds since
/// 1970-01-01T00:00:00Z, with an inclusive start and an exclusive end. If the value is not a date, both are NULL or there is no row.
///
/// It accepts the same texts as ``DateEncoding/readText(_:zone:)``, with the same arithmetic. The server's own parser accepts more
/// ("yesterday"), and its zones treat repeated times differently.
struct CivilSQL {
    private let date: DateSQL

    init(_ date: DateSQL) { self.date = date }

    func scalar(_ name: String) -> SQLFragment { "(SELECT span.\(name) FROM " + query + " AS span)" }

    /// The query in parentheses, for a FROM clause. It may refer to preceding rows.
    var query: SQLFragment {
        // A date that represents a span has neither fraction nor offset.
        let instant =
            "(CASE WHEN zone IS NULL THEN " + seconds("local_start", .last)
            + " ELSE local_start - zone END) * 1000000 + fraction"
        let start = seconds("local_start", .first) + " * 1000000"
        let end = seconds("local_end", .last) + " * 1000000"
        return "(SELECT CASE WHEN precision = 4 THEN " + instant + " ELSE " + start
            + " END AS s, CASE WHEN precision = 4 THEN " + instant + " + 1 ELSE greatest(" + end + ", " + start
            + " + 1) END AS e FROM (SELECT zone, fraction, precision, "
            + "(\(Self.day("y", "mo", "d"))) * 86400 + seconds AS local_start, CASE precision WHEN 1 THEN "
            + "(\(Self.day("y + 1", "1", "1"))) WHEN 2 THEN (\(Self.day("y + mo / 12", "mo % 12 + 1", "1"))) ELSE "
            + "(\(Self.day("y", "mo", "d"))) + 1 END * 86400 AS local_end FROM " + parts
            + " AS parts WHERE mo BETWEEN 1 AND 12 AND d >= 1 AND d <= \(Self.daysInMonth) AND isright) AS local)"
    }

    /// Seconds since 1970-01-01T00:00:00Z at a local time.
    private func seconds(_ local: String, _ occurrence: CalendarZone.Occurrence) -> SQLFragment {
        Self.utc(local, in: date.date.zone, occurrence)
    }

    /// The time in UTC at a local time, in the same unit.
    ///
    /// - Parameter unit: how many of them are a second.
    static func utc(
        _ local: String, in zone: CalendarZone, _ occurrence: CalendarZone.Occurrence, unit: Int64 = 1
    ) -> SQLFragment {
        guard !zone.isUTC else { return SQLFragment(local) }
        let pieces = zone.offsetPieces(from: firstChange, to: lastChange, occurrence)
        func list(_ seconds: [Int64]) -> SQLFragment { .list(seconds.map { $0 * unit }, "int8") }
        return "(\(local) - (" + list(pieces.map(\.offset)) + ")[width_bucket(\(local)::int8, "
            + list(pieces.dropFirst().map(\.localStart)) + ") + 1])"
    }

    /// The parts of the date: `y`, `mo`, `d`, `seconds` of the day, `fraction` in microseconds, `zone` in seconds (NULL if none is named),
    /// `precision` (1 year, 2 month, 3 day, 4 instant), and `isright`: whether the time of day exists. A leap second is the instant after
    /// it.
    private var parts: SQLFragment {
        switch date.date.encoding {
        case .yyyymmdd:
            let n = number(digits: 8)
            return
                "(SELECT (n / 10000)::int AS y, (n / 100 % 100)::int AS mo, (n % 100)::int AS d, 0::int8 AS seconds, "
                + "0::int8 AS fraction, NULL::int8 AS zone, 3 AS precision, TRUE AS isright FROM (SELECT " + n
                + " AS n OFFSET 0) AS digits WHERE n IS NOT NULL)"
        case .yyyymmddhhmmss:
            let n = number(digits: 14)
            return
                "(SELECT (n / 10000000000)::int AS y, (n / 100000000 % 100)::int AS mo, (n / 1000000 % 100)::int AS d, "
                + "n / 10000 % 100 * 3600 + n / 100 % 100 * 60 + n % 100 AS seconds, 0::int8 AS fraction, "
                + "NULL::int8 AS zone, 4 AS precision, n / 10000 % 100 <= 23 AND n / 100 % 100 <= 59 AND n % 100 <= 60 "
                + "AS isright FROM (SELECT " + n + " AS n OFFSET 0) AS digits WHERE n IS NOT NULL)"
        default:
            let (text, source) = self.text
            return
                """
                (SELECT m[1]::int AS y, coalesce(m[2]::int, 1) AS mo, coalesce(m[3]::int, 1) AS d,
                coalesce(m[4]::int8, 0) * 3600 + coalesce(m[5]::int8, 0) * 60 + coalesce(m[6]::int8, 0) AS seconds,
                coalesce(rpad(left(m[7], 6), 6, '0')::int8, 0) AS fraction,
                CASE WHEN m[8] IN ('Z', 'z') THEN 0::int8 WHEN m[8] IS NOT NULL THEN
                    CASE WHEN left(m[8], 1) = '-' THEN -1 ELSE 1 END * (substr(m[8], 2, 2)::int8 * 3600
                    + CASE WHEN length(m[8]) > 3 THEN right(m[8], 2)::int8 * 60 ELSE 0 END) END AS zone,
                CASE WHEN m[4] IS NOT NULL THEN 4 WHEN m[3] IS NOT NULL THEN 3 WHEN m[2] IS NOT NULL THEN 2 ELSE 1 END
                    AS precision,
                coalesce(m[4]::int, 0) <= 23 AND coalesce(m[5]::int, 0) <= 59 AND coalesce(m[6]::int, 0) <= 60
                    AND CASE WHEN m[8] IS NULL OR m[8] IN ('Z', 'z') THEN TRUE WHEN length(m[8]) <= 3
                    THEN substr(m[8], 2, 2)::int <= 23 ELSE substr(m[8], 2, 2)::int <= 23 AND right(m[8], 2)::int <= 59
                    END AS isright
                FROM (SELECT regexp_match((\(text)) COLLATE "C", '\(Self.pattern)') AS m\(source) OFFSET 0) AS found
                WHERE m IS NOT NULL)
                """
        }
    }

    /// Before this instant, a zone is assumed not to change.
    private static let firstChange = Instant(unixSeconds: -5_364_662_400)
    /// From this instant on, a zone is assumed not to change.
    private static let lastChange = Instant(unixSeconds: 7_258_118_400)

    /// The text of the value, or the ISO 8601 text of one that a pattern writes; NULL: it does not fit. Its parts come from `source`, because
    /// Citus knows no query for a single value here.
    private var text: (text: String, source: String) {
        guard let pattern = date.date.encoding.datePattern else { return ("\(date.column)::text", "") }
        var found: [DatePattern.Field: String] = [:]
        let expression = pattern.expression { field, isFixed in
            found[field] = "m[\(found.count + 1)]"
            if let names = field.names {
                return "(" + names.map { $0.map { "[\($0.uppercased())\($0)]" }.joined() }.joined(separator: "|") + ")"
            }
            return switch field {
            case .year: "([0-9]{4})"
            case .fraction: "([0-9]+)"
            case .offset: pattern.isUTC ? "(Z|z|[+-]00(?::?00)?)" : "(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)"
            default: isFixed ? "([0-9]{2})" : "([0-9]{1,2})"
            }
        }
        if let name = found[.monthName], let months = DatePattern.Field.monthName.names {
            found[.month] = "array_position('{\(months.joined(separator: ","))}'::text[], lower(\(name)))::text"
        }
        if pattern.isUTC { found[.offset] = "'Z'" }
        if !pattern.isDay, found[.minute] == nil { found[.minute] = "'00'" }
        let padded: [(String, DatePattern.Field)] = [
            ("-", .month), ("-", .day), ("T", .hour), (":", .minute), (":", .second),
        ]
        let parts =
            [found[.year]] + padded.map { mark, field in found[field].map { "'\(mark)' || lpad(\($0), 2, '0')" } }
            + [found[.fraction].map { "'.' || \($0)" }, found[.offset]]
        return (
            parts.compactMap(\.self).joined(separator: " || "),
            " FROM (SELECT regexp_match(\(date.column)::text COLLATE \"C\", '^\(expression)$') AS m OFFSET 0) AS written"
        )
    }

    private static let pattern =
        "^([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
        + "(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?$"

    /// The value as a number with a given number of digits; NULL if it is not one.
    private func number(digits: Int) -> SQLFragment {
        let column = date.column
        let (least, greatest) = digits == 8 ? ("10000000", "99999999") : ("10000000000000", "99999999999999")
        if date.type == .text {
            return "CASE WHEN \(column)::text COLLATE \"C\" ~ '^[0-9]{\(digits)}$' THEN \(column)::text::int8 END"
        }
        let isWhole = date.type == .integer ? "" : " AND trunc(\(column)) = \(column)"
        return "CASE WHEN \(column) BETWEEN \(least) AND \(greatest)\(isWhole) THEN \(column)::int8 END"
    }

    /// Days since 1970-01-01, as in ``CivilDate/dayNumber``. Four centuries are added so that no dividend is negative.
    private static func day(_ y: String, _ mo: String, _ d: String) -> String {
        let year = "((\(y)) + 400 - ((\(mo)) <= 2)::int)"
        let era = "(\(year) / 400)"
        let yearOfEra = "(\(year) - \(era) * 400)"
        let month = "((\(mo)) + CASE WHEN (\(mo)) > 2 THEN -3 ELSE 9 END)"
        let dayOfYear = "((153 * \(month) + 2) / 5 + (\(d)) - 1)"
        return "(\(era)::int8 * 146097 + \(yearOfEra) * 365 + \(yearOfEra) / 4 - \(yearOfEra) / 100 + \(dayOfYear) "
            + "- 719468 - 146097)"
    }

    private static let daysInMonth =
        "CASE WHEN mo = 2 THEN 28 + (y % 4 = 0 AND (y % 100 <> 0 OR y % 400 = 0))::int "
        + "WHEN mo IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
}
