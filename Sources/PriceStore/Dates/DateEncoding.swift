/// The format in which a stored value represents a date: the `date_format` of a rule.
///
/// ```swift
/// let stored = DateEncoding.unixMilliseconds.value(of: midnight)
/// let read = DateEncoding.unixMilliseconds.instant(of: stored)
/// ```
public enum DateEncoding: Hashable, Sendable, CaseIterable {
    /// Text of ISO 8601: a date, or a date and a time.
    case iso8601
    /// Seconds since 1970-01-01T00:00:00Z.
    case unixSeconds
    /// Milliseconds since 1970-01-01T00:00:00Z.
    case unixMilliseconds
    /// Microseconds since 1970-01-01T00:00:00Z.
    case unixMicroseconds
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    case unixNanoseconds
    /// Seconds since 2001-01-01T00:00:00Z.
    case appleSeconds
    /// Nanoseconds since 2001-01-01T00:00:00Z.
    case appleNanoseconds
    /// Microseconds since 1601-01-01T00:00:00Z.
    case webkitMicroseconds
    /// Units of 100 nanoseconds since 1601-01-01T00:00:00Z.
    case windowsFiletime
    /// Units of 100 nanoseconds since 0001-01-01T00:00:00Z.
    case dotnetTicks
    /// Days since noon of 24 November 4714 BC (Gregorian), an instant.
    case julianDay
    /// Days since 1970-01-01; each represents the whole day in UTC.
    case unixDays
    /// Eight digits; each value represents the whole day in the zone.
    case yyyymmdd
    /// Fourteen digits, a local time in the zone.
    case yyyymmddhhmmss
    /// The store's own date type; only engines that have one take it.
    case native
    /// Text as a pattern writes it.
    case pattern(DatePattern)

    /// What a policy calls the formats without a pattern.
    private static let names: [(format: DateEncoding, name: String)] = [
        (.iso8601, "iso8601"), (.unixSeconds, "unix_seconds"), (.unixMilliseconds, "unix_milliseconds"),
        (.unixMicroseconds, "unix_microseconds"), (.unixNanoseconds, "unix_nanoseconds"),
        (.appleSeconds, "apple_seconds"), (.appleNanoseconds, "apple_nanoseconds"),
        (.webkitMicroseconds, "webkit_microseconds"), (.windowsFiletime, "windows_filetime"),
        (.dotnetTicks, "dotnet_ticks"), (.julianDay, "julian_day"), (.unixDays, "unix_days"), (.yyyymmdd, "yyyymmdd"),
        (.yyyymmddhhmmss, "yyyymmddhhmmss"), (.native, "native"),
    ]

    /// The formats without a pattern.
    public static let allCases = names.map(\.format)

    /// The name in a policy, such as `unix_seconds`, or the text of the pattern.
    public var rawValue: String { datePattern?.text ?? Self.names.first { $0.format == self }?.name ?? "" }

    /// The format with a name, or of the text of a pattern; nil: there is none.
    public init?(rawValue: String) {
        let known = Self.names.first { $0.name == rawValue }?.format
        guard let format = known ?? DatePattern(rawValue).map(DateEncoding.pattern) else { return nil }
        self = format
    }

    package var datePattern: DatePattern? { if case .pattern(let pattern) = self { pattern } else { nil } }

    /// The value of `date_format` in a policy.
    package var setting: String { datePattern.map { "{ pattern: \"\($0.text)\" }" } ?? rawValue }
}
