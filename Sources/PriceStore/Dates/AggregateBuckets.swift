/// The buckets of an aggregate that a store keeps over the rows of an entity: stretches of equal length on the clocks of a zone.
///
/// A refresh makes a bucket from the rows that are left in it. So no bucket may have both deleted rows and rows that stay.
package struct AggregateBuckets: Hashable, Sendable {
    /// How long a bucket is.
    package enum Length: Hashable, Sendable {
        /// A number of months, of which one begins in January 2000.
        case months(Int)
        case microseconds(Int64)
    }

    package let name: String
    /// How long a bucket is, above 0.
    package let length: Length
    /// A start of a bucket in microseconds after 1970-01-01T00:00:00 on the clocks of the zone. For months: how much later than a month
    /// each bucket begins.
    package let origin: Int64
    /// The zone whose clocks divide the time.
    package let zone: CalendarZone

    package init(name: String, length: Length, origin: Int64, zone: CalendarZone) {
        self.name = name
        self.length = length
        self.origin = origin
        self.zone = zone
    }

    /// The latest instant that is not after `instant`, and that no bucket has on both sides.
    ///
    /// Clocks that are set back show each time twice, and both belong to one bucket. Then it is the start of the repeated time, or earlier.
    package func start(at instant: Instant) -> Instant {
        guard let start = localStart(at: instant) else { return instant }
        let found = min(instant, zone.instant(of: start, .first))
        guard let repeated = zone.repeatedTime(around: found), repeated.lowerBound < found else { return found }
        return self.start(at: repeated.lowerBound)
    }

    /// The local start of the bucket of an instant; nil: it is before all dates.
    private func localStart(at instant: Instant) -> CivilDateTime? {
        guard instant > .distantPast else { return nil }
        let civil = zone.civil(of: instant)
        let elapsed = Int128(civil.localSeconds) * 1_000_000 + Int128(civil.microsecond) - Int128(origin)
        switch length {
        case .microseconds(let length):
            return Self.local(elapsed.flooringDivision(by: Int128(length)) * Int128(length) + Int128(origin))
        case .months(let count):
            let month = Self.local(elapsed).date
            let place = (month.year - 2000) * 12 + month.month - 1
            let first = CivilDate(year: 2000, month: 1, day: 1)
                .moved(byMonths: place.flooringDivision(by: count) * count)
            return Self.local(Int128(first.dayNumber) * DateEncoding.microsecondsOfDay + Int128(origin))
        }
    }

    private static func local(_ microseconds: Int128) -> CivilDateTime {
        let seconds = microseconds.flooringDivision(by: 1_000_000)
        return CivilDateTime(localSeconds: Int(seconds), microsecond: Int(microseconds - seconds * 1_000_000))
    }
}

extension DateEncoding {
    /// The length of a number of units, and the instant of another number, in microseconds since 1970; nil: the numbers have no equal
    /// units, or the length or the instant is no whole number of microseconds.
    package func buckets(width: Int64, origin: Int64) -> (length: Int64, origin: Int64)? {
        guard let scale, self != .julianDay else { return nil }
        func microseconds(_ count: Int64) -> Int64? {
            let (quotient, remainder) = (Int128(count) * scale.multiplier).quotientAndRemainder(
                dividingBy: scale.divisor)
            return remainder == 0 ? Int64(exactly: quotient) : nil
        }
        guard let length = microseconds(width), let start = microseconds(origin), length > 0,
            let shifted = Int64(exactly: Int128(start) + scale.epoch)
        else { return nil }
        return (length, shifted)
    }
}
