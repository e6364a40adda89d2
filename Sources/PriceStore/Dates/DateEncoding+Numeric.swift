extension DateEncoding {
    /// A count of units of equal length since an epoch.
    struct Scale {
        /// The length of a unit in microseconds is `multiplier / divisor`; one of the two is 1.
        var multiplier: Int128
        var divisor: Int128
        /// Microseconds from 1970-01-01T00:00:00Z to the epoch.
        var epoch: Int128

        /// The exact count of units at a number of microseconds since 1970-01-01T00:00:00Z.
        func count(at microseconds: Int128) -> ExactRatio {
            ExactRatio(numerator: (microseconds - epoch) * divisor, denominator: multiplier)
        }
    }

    static let microsecondsOfDay: Int128 = 86_400_000_000

    var scale: Scale? {
        let apple: Int128 = 978_307_200_000_000
        let from1601: Int128 = -11_644_473_600_000_000
        return switch self {
        case .unixSeconds: Scale(multiplier: 1_000_000, divisor: 1, epoch: 0)
        case .unixMilliseconds: Scale(multiplier: 1000, divisor: 1, epoch: 0)
        case .unixMicroseconds: Scale(multiplier: 1, divisor: 1, epoch: 0)
        case .unixNanoseconds: Scale(multiplier: 1, divisor: 1000, epoch: 0)
        case .appleSeconds: Scale(multiplier: 1_000_000, divisor: 1, epoch: apple)
        case .appleNanoseconds: Scale(multiplier: 1, divisor: 1000, epoch: apple)
        case .webkitMicroseconds: Scale(multiplier: 1, divisor: 1, epoch: from1601)
        case .windowsFiletime: Scale(multiplier: 1, divisor: 10, epoch: from1601)
        case .dotnetTicks: Scale(multiplier: 1, divisor: 10, epoch: -62_135_596_800_000_000)
        case .julianDay:
            // The epoch is noon, 2,440,587.5 days before 1970.
            Scale(multiplier: DateEncoding.microsecondsOfDay, divisor: 1, epoch: -210_866_760_000_000_000)
        case .unixDays: Scale(multiplier: DateEncoding.microsecondsOfDay, divisor: 1, epoch: 0)
        case .iso8601, .yyyymmdd, .yyyymmddhhmmss, .native, .pattern: nil
        }
    }

    /// Whether values are counts of units since an epoch, which compare as their dates do.
    public var isNumeric: Bool { scale != nil }

    /// The values that programs store in this format for "no date": Core Data's distant past and distant future in the `apple_…` formats,
    /// none in others. In nanoseconds they are doubles, because they do not fit an Int64.
    public var sentinels: [StoreValue] {
        guard let (past, future) = distantDates else { return [] }
        return [past, future].map { value in Int64(exactly: value).map(StoreValue.integer) ?? .real(value) }
    }

    private var distantDates: (past: Double, future: Double)? {
        switch self {
        case .appleSeconds: (-63_114_076_800, 63_113_904_000)
        case .appleNanoseconds: (-63_114_076_800e9, 63_113_904_000e9)
        default: nil
        }
    }

    private func isSentinel(_ value: Double) -> Bool { distantDates.map { value == $0 || value == $1 } ?? false }

    func readCount(_ value: Int64, _ scale: Scale) -> DateReading {
        if isSentinel(Double(value)) { return .unreadable(.sentinel) }
        let microseconds = (Int128(value) * scale.multiplier).flooringDivision(by: scale.divisor) + scale.epoch
        return span(from: microseconds)
    }

    func readCount(_ value: Double, _ scale: Scale) -> DateReading {
        guard value.isFinite else { return .unreadable(.notADate) }
        if isSentinel(value) { return .unreadable(.sentinel) }
        guard value.magnitude < 0x1p80 else {
            return span(from: value < 0 ? Int128.min / 2 : Int128.max / 2)
        }
        if self == .unixDays {
            return span(from: Int128(value.rounded(.down)) * scale.multiplier + scale.epoch)
        }
        var microseconds = ExactRatio.floor(of: value, times: scale.multiplier, over: scale.divisor) + scale.epoch
        // A double that represents a whole microsecond may be slightly less than it; it is then the nearest double. Doubles of `julian_day`
        // are about 40 µs apart: the one nearest to a whole millisecond represents that millisecond, as SQLite writes it.
        let step: Int128 = self == .julianDay ? 1000 : 1
        let whole = (microseconds + step - step / 2).flooringDivision(by: step) * step
        if microseconds.magnitude < 1 << 64, self == .julianDay || scale.count(at: microseconds).nearestDouble != value,
            scale.count(at: whole).nearestDouble == value
        {
            microseconds = whole
        }
        return span(from: microseconds)
    }

    private func span(from microseconds: Int128) -> DateReading {
        let length = self == .unixDays ? DateEncoding.microsecondsOfDay : 1
        return .span(start: Instant(saturating: microseconds), end: Instant(saturating: microseconds + length))
    }

    /// The count of units at an instant: INTEGER if it is whole, otherwise the nearest REAL.
    func count(of instant: Instant, _ scale: Scale) -> StoreValue {
        let count = scale.count(at: Int128(instant.microseconds))
        if self == .unixDays { return .integer(Int64(clamping: count.floor)) }
        if self != .julianDay, let whole = count.integer, let integer = Int64(exactly: whole) {
            return .integer(integer)
        }
        return .real(count.nearestDouble)
    }
}

extension DateEncoding {
    /// A stored value `v` is at or after the instant if and only if `v >= bound`. In other formats than numeric ones no value passes.
    ///
    /// Infinities are not dates. The bound of ``Instant/distantPast`` excludes −∞.
    package func lowerBound(_ instant: Instant) -> NumericBound {
        guard let scale else { return NumericBound(integer: .max, real: .infinity) }
        // Dates that are too early for an instant are also read as the distant past.
        if instant == .distantPast { return NumericBound(integer: .min, real: -.greatestFiniteMagnitude) }
        let count = scale.count(at: Int128(instant.microseconds))
        let whole = count.ceiling
        return NumericBound(
            integer: Int64(clamping: whole),
            real: self == .unixDays ? Double(whole) : count.nearestDouble)
    }

    /// A stored value `v` represents a time wholly before the instant if and only if `v < bound`. In other formats than numeric ones no
    /// value passes. Use it together with a lower bound, because −∞ is below every bound.
    package func cutoffBound(_ instant: Instant) -> NumericBound {
        guard let scale else { return NumericBound(integer: .min, real: -.infinity) }
        guard self == .unixDays, instant != .distantPast else { return lowerBound(instant) }
        let whole = scale.count(at: Int128(instant.microseconds)).floor
        return NumericBound(integer: Int64(clamping: whole), real: Double(whole))
    }

    /// A stored value `v` is at or before the instant if and only if `v <= bound`. In other formats than numeric ones no value passes.
    package func latestBound(_ instant: Instant) -> NumericBound {
        guard let scale else { return NumericBound(integer: .min, real: -.infinity) }
        if instant == .distantFuture { return NumericBound(integer: .max, real: .greatestFiniteMagnitude) }
        let microseconds = Int128(instant.microseconds)
        if self == .unixDays {
            let whole = scale.count(at: microseconds).floor
            return NumericBound(integer: Int64(clamping: whole), real: Double(whole + 1).nextDown)
        }
        // Everything below the next microsecond begins in this one.
        let next = scale.count(at: microseconds + 1)
        return NumericBound(
            integer: Int64(clamping: next.ceiling - 1),
            real: max(scale.count(at: microseconds).nearestDouble, next.nearestDouble.nextDown))
    }
}
