extension Instant {
    /// Reads an ISO 8601 date, or date and time; nil: the text is neither. See ``DateEncoding/iso8601`` for the forms.
    ///
    /// A date without a time gives its first instant, as does a month or a year.
    /// - Parameters:
    ///   - text: the text, with nothing around it.
    ///   - zone: the zone of a text without an offset.
    public init?(iso8601 text: String, zone: CalendarZone = .utc) {
        guard case .span(let start, _) = DateEncoding.iso8601.read(.text(text), zone: zone) else { return nil }
        self = start
    }

    /// The local time in UTC.
    package var civil: CivilDateTime { CalendarZone.utc.civil(of: self) }

    /// The instant in UTC after RFC 3339, such as `2026-11-20T00:00:00Z`, with a fraction of 3 or 6 digits if it is not 0. Years outside 0
    /// to 9999, which RFC 3339 does not support, have a sign or more digits.
    public var rfc3339: String { text(separator: "T", end: "Z") }

    /// The instant in UTC for tables, such as `2026-11-20 00:00:00`, with a fraction of 3 or 6 digits if it is not 0.
    public var plain: String { text(separator: " ", end: "") }

    func text(separator: String, end: String, shortensFraction: Bool = true) -> String {
        let civil = self.civil
        let time = "\(civil.hour.padded(2)):\(civil.minute.padded(2)):\(civil.second.padded(2))"
        var text = civil.date.description + separator + time
        if civil.microsecond != 0 {
            let isShort = shortensFraction && civil.microsecond % 1000 == 0
            text += "." + (isShort ? (civil.microsecond / 1000).padded(3) : civil.microsecond.padded(6))
        }
        return text + end
    }
}

extension CivilDate: CustomStringConvertible {
    /// The date after ISO 8601, such as `2026-11-20`.
    public var description: String {
        (year < 0 ? "-" : "") + "\(abs(year).padded(4))-\(month.padded(2))-\(day.padded(2))"
    }
}

extension BinaryInteger {
    /// The text of a non-negative number, with leading zeros up to a number of digits.
    package func padded(_ digits: Int, radix: Int = 10) -> String {
        let text = String(self, radix: radix)
        return String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
    }
}
