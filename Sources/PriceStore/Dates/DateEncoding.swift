/// The format in which a stored value represents a date: the `date_format` of a rule.
///
/// ```swift
/// let stored = DateEncoding.unixMilliseconds.value(of: midnight)
/// let read = DateEncoding.unixMilliseconds.instant(of: stored)
/// ```
public enum DateEncoding: String, Hashable, Sendable, CaseIterable {
    /// Text of ISO 8601: a date, or a date and a time.
    case iso8601
    /// Seconds since 1970-01-01T00:00:00Z.
    case unixSeconds = "unix_seconds"
    /// Milliseconds since 1970-01-01T00:00:00Z.
    case unixMilliseconds = "unix_milliseconds"
    /// Microseconds since 1970-01-01T00:00:00Z.
    case unixMicroseconds = "unix_microseconds"
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    case unixNanoseconds = "unix_nanoseconds"
    /// Seconds since 2001-01-01T00:00:00Z.
    case appleSeconds = "apple_seconds"
    /// Nanoseconds since 2001-01-01T00:00:00Z.
    case appleNanoseconds = "apple_nanoseconds"
    /// Microseconds since 1601-01-01T00:00:00Z.
    case webkitMicroseconds = "webkit_microseconds"
    /// Units of 100 nanoseconds since 1601-01-01T00:00:00Z.
    case windowsFiletime = "windows_filetime"
    /// Units of 100 nanoseconds since 0001-01-01T00:00:00Z.
    case dotnetTicks = "dotnet_ticks"
    /// Days since noon of 24 November 4714 BC (Gregorian), an instant.
    case julianDay = "julian_day"
    /// Days since 1970-01-01; each represents the whole day in UTC.
    case unixDays = "unix_days"
    /// Eight digits; each value represents the whole day in the zone.
    case yyyymmdd
    /// Fourteen digits, a local time in the zone.
    case yyyymmddhhmmss
    /// The store's own date type; only engines that have one take it.
    case native
}
