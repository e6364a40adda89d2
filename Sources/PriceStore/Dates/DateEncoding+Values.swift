extension DateEncoding {
    /// The date of a stored value.
    ///
    /// Numeric formats read INTEGER and finite REAL and round down to microseconds; `iso8601` and patterns read text; `yyyymmdd…`
    /// read INTEGER, whole REAL and text; `native` reads the ISO 8601 text that a store with date types returns. The zone is that of texts
    /// without an offset, and of calendar dates.
    package func read(_ value: StoreValue, zone: CalendarZone) -> DateReading {
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
        case (_, .text(var text)): span = text.withUTF8 { readText($0, zone: zone) }
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

    /// The first instant that a stored value represents; nil: it is not a date of the format.
    ///
    /// - Parameters:
    ///   - value: the stored value.
    ///   - zone: the zone of texts without an offset, and of calendar dates.
    public func instant(of value: StoreValue, zone: CalendarZone = .utc) -> Instant? { read(value, zone: zone).start }

    /// The stored value of an instant.
    ///
    /// `iso8601` gives text in UTC with a `Z`, and a fraction only if it is not 0. Counts are INTEGER if they are whole
    /// and fit 64 bits, otherwise the nearest REAL; `julian_day` is always REAL. Days are those that contain the
    /// instant. `native` gives the same text as `iso8601`, which the store converts to its own type. A pattern with an offset gives UTC, and
    /// what it has no letter for is lost.
    /// - Parameters:
    ///   - instant: the instant to store.
    ///   - zone: the zone of `yyyymmdd…`, and of patterns without an offset.
    public func value(of instant: Instant, zone: CalendarZone = .utc) -> StoreValue {
        if let scale { return count(of: instant, scale) }
        return switch self {
        case .iso8601, .native: .text(instant.text(separator: "T", end: "Z", shortensFraction: false))
        case .yyyymmdd, .yyyymmddhhmmss: digits(of: instant, zone: zone)
        case .pattern(let pattern): .text(pattern.text(of: instant, zone: zone))
        default: .null
        }
    }

    /// The stored value of an instant, which is read back as a date; nil: the format has none, or the instant is an end of the range.
    package func readableValue(of instant: Instant, zone: CalendarZone = .utc) -> StoreValue? {
        let value = value(of: instant, zone: zone)
        return instant.isEnd || self.instant(of: value, zone: zone) == nil ? nil : value
    }
}
