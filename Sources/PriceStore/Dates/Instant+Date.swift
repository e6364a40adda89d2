public import struct Foundation.Date

/// Microseconds from 1970-01-01T00:00:00Z to Foundation's reference date, 2001-01-01T00:00:00Z.
private let reference: Int64 = 978_307_200_000_000

extension Instant {
    /// The instant of a Foundation date, to the nearest microsecond, saturating at the ends of the range.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded()
        // A date that is not a number becomes the distant past, so it deletes nothing.
        guard !microseconds.isNaN else {
            self = .distantPast
            return
        }
        let limit = 0x1p80
        self.init(saturating: Int128(min(max(microseconds, -limit), limit)) + Int128(reference))
    }
}

extension Date {
    /// The Foundation date of an instant. A date is a double, so far from 2001 it is less exact than an instant.
    public init(_ instant: Instant) {
        self.init(
            timeIntervalSinceReferenceDate: Double(Int128(instant.microseconds) - Int128(reference)) / 1_000_000)
    }
}

extension StorePredicate {
    /// Matches rows whose date is wholly before a date, in the format that the store declares for the attribute.
    public static func date(_ attribute: String, before date: Date) -> StorePredicate {
        .date(attribute, before: Instant(date))
    }

    /// Matches rows whose date, in the given format, is wholly before a date. A stored 0 is not a date.
    public static func date(_ attribute: String, _ encoding: DateEncoding, before date: Date) -> StorePredicate {
        .date(attribute, encoding, before: Instant(date))
    }
}
