package import PriceStore

/// What a stored value says as the date of a rule.
package enum ReferenceDate {
    case unreadable(Survey.Unreadable)
    case date(Reading)

    /// A date that can be read.
    package struct Reading {
        /// The first instant of its span.
        package var start: Instant
        /// What dates are ordered by: the stored number, or the start.
        package var order: StoreValue
        package var isExpired: Bool

        /// Whether this is the later of two dates.
        package func isNewer(than other: Reading) -> Bool {
            (ReferenceValue.compare(order, other.order) ?? 0) > 0
        }
    }

    package init(_ value: StoreValue, _ date: DateAttribute, cutoff: Instant) {
        self = Self.judge(value, date, cutoff)
    }

    package var reading: Reading? { if case .date(let reading) = self { reading } else { nil } }

    private static func judge(_ value: StoreValue, _ date: DateAttribute, _ cutoff: Instant) -> ReferenceDate {
        let isZero = value == .integer(0) || value == .real(0)
        if isZero, date.encoding != .iso8601, date.encoding.datePattern == nil,
            !(date.trustsZero && date.encoding.isNumeric)
        {
            // Digits of the calendar have no day 0, whoever trusts it.
            return .unreadable(.sentinel)
        }
        switch date.encoding.read(value, zone: date.zone) {
        case .unreadable(let reason): return .unreadable(reason)
        case .span(let start, let end):
            if start < date.earliest { return .unreadable(.beforeEarliest) }
            if let latest = date.latest, start > latest { return .unreadable(.afterLatest) }
            var isExpired = end <= cutoff
            // A double equal to the cutoff in its own unit is at the cutoff, whatever the microseconds it stands for.
            if date.encoding.isNumeric, case .real(let number) = value {
                isExpired = number < date.encoding.cutoffBound(cutoff).real
            }
            let order = date.encoding.isNumeric ? value : .integer(start.microseconds)
            return .date(Reading(start: start, order: order, isExpired: isExpired))
        }
    }
}
