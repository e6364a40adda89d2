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
