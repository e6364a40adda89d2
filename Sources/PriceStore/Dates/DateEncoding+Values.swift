extension DateEncoding {
    /// What a stored value says as a date.
    ///
    /// Numeric formats take INTEGER and finite REAL, and a part below a microsecond is left out (rounded down);
    /// `iso8601` takes text; `yyyymmdd…` take INTEGER, whole REAL and text; `native` the text in which a store with date types
    /// hands them out, which is ISO 8601.
    /// - Parameters:
    ///   - value: what the store holds.
    ///   - zone: the zone of texts that name none, and of calendar dates.
    public func read(_ value: StoreValue, zone: CalendarZone) -> DateReading {
        if value.isNull { return .unreadable(.null) }
        if let scale {
            return switch value {
            case .integer(let count): readCount(count, scale)
            case .real(let count): readCount(count, scale)
            case .null, .text, .blob: .unreadable(.wrongType)
            }
        }
        let span: (start: Int64, end: Int64)?
        switch (self, value) {
        case (.native, .text(var text)):
            span = text.withUTF8 { DateEncoding.iso8601.readText($0, zone: zone) }
        case (.iso8601, .text(var text)), (.yyyymmdd, .text(var text)), (.yyyymmddhhmmss, .text(var text)):
            span = text.withUTF8 { readText($0, zone: zone) }
        case (.yyyymmdd, .integer(let number)), (.yyyymmddhhmmss, .integer(let number)):
            span = readInteger(number, zone: zone)
        case (.yyyymmdd, .real(let number)), (.yyyymmddhhmmss, .real(let number)):
            span = Int64(exactly: number).flatMap { readInteger($0, zone: zone) }
        default:
            return .unreadable(.wrongType)
        }
        guard let span else { return .unreadable(.notADate) }
        return .span(start: Instant(microseconds: span.start), end: Instant(microseconds: span.end))
    }

    /// The value that tells an instant, as it is written to a store.
    ///
    /// `iso8601` gives text in UTC with a `Z`, and a fraction only if it is not 0. Counts are INTEGER where they are
    /// whole and fit 64 bits, else the nearest REAL; `julian_day` is always REAL. Days are those that hold the instant.
    /// `native` gives the same text as `iso8601`, of which the store makes its own type.
    /// - Parameters:
    ///   - instant: the instant to tell.
    ///   - zone: the zone of `yyyymmdd…`.
    public func value(of instant: Instant, zone: CalendarZone) -> StoreValue {
        if let scale { return count(of: instant, scale) }
        return switch self {
        case .iso8601, .native: .text(instant.text(separator: "T", end: "Z", shortensFraction: false))
        case .yyyymmdd, .yyyymmddhhmmss: digits(of: instant, zone: zone)
        default: .null
        }
    }
}
