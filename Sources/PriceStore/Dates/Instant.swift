/// A point in time: whole microseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// The range is about ±292,000 years. Arithmetic saturates at ``distantPast`` and ``distantFuture``, so a wrong age cannot wrap around and
/// expire the present.
///
/// ```swift
/// let midnight = Instant(unixSeconds: 1_738_281_600)
/// let text = (midnight + .seconds(90)).rfc3339
/// ```
public struct Instant: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z; negative before it.
    public let microseconds: Int64

    /// Makes an instant from microseconds since 1970-01-01T00:00:00Z.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Makes an instant from whole seconds since 1970-01-01T00:00:00Z, saturating at the ends of the range.
    public init(unixSeconds: Int64) {
        self.init(saturating: Int128(unixSeconds) * 1_000_000)
    }

    /// Makes an instant from any count of microseconds, saturating at the ends of the range.
    package init(saturating microseconds: Int128) {
        self.microseconds = Int64(clamping: microseconds)
    }

    /// The earliest instant.
    public static let distantPast = Instant(microseconds: .min)
    /// The latest instant.
    public static let distantFuture = Instant(microseconds: .max)

    /// Whether this is an end of the range, which stands for what is earlier or later, or is no date.
    package var isEnd: Bool { self == .distantPast || self == .distantFuture }

    /// Orders instants by time.
    public static func < (a: Instant, b: Instant) -> Bool { a.microseconds < b.microseconds }

    /// This instant moved by a number of microseconds, saturating at the ends of the range.
    public func advanced(byMicroseconds delta: Int64) -> Instant {
        Instant(saturating: Int128(microseconds) + Int128(delta))
    }

    /// The instant a duration later, in whole microseconds, saturating at the ends of the range.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (seconds, attoseconds) = duration.components
        return Instant(
            saturating: Int128(instant.microseconds) + Int128(seconds) * 1_000_000
                + Int128(attoseconds / 1_000_000_000_000)
        )
    }

    /// The instant a duration earlier, in whole microseconds, saturating at the ends of the range.
    public static func - (instant: Instant, duration: Duration) -> Instant { instant + (.zero - duration) }

    /// The time from `other` to this instant; negative if this instant is the earlier one.
    public func since(_ other: Instant) -> Duration {
        let delta = Int128(microseconds) - Int128(other.microseconds)
        let (seconds, rest) = delta.quotientAndRemainder(dividingBy: 1_000_000)
        return Duration(
            secondsComponent: Int64(clamping: seconds), attosecondsComponent: Int64(rest) * 1_000_000_000_000)
    }
}
