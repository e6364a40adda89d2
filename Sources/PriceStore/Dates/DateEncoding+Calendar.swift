extension DateEncoding {
    /// Reads UTF-8 text as a date of `iso8601`, `native`, `yyyymmdd`, `yyyymmddhhmmss` or a pattern: microseconds since
    /// 1970-01-01T00:00:00Z, start inclusive, end exclusive. Nil: it is not a date, or the format has no text.
    ///
    /// Allocates nothing; in UTC it costs some tens of nanoseconds.
    package func readText(
        _ utf8: UnsafeBufferPointer<UInt8>, zone: CalendarZone
    ) -> (start: Int64, end: Int64)? {
        switch self {
        case .iso8601, .native:
            var reader = ISO8601Reader(utf8)
            return reader.read(zone: zone)
        case .pattern(let pattern):
            var reader = ISO8601Reader(utf8)
            return reader.read(pattern, zone: zone)
        case .yyyymmdd, .yyyymmddhhmmss:
            guard utf8.count == (self == .yyyymmdd ? 8 : 14) else { return nil }
            var reader = ISO8601Reader(utf8)
            guard let number = reader.digits(utf8.count) else { return nil }
            return readDigits(number, zone: zone)
        default:
            return nil
        }
    }

    /// Reads an integer as a date of `yyyymmdd` or `yyyymmddhhmmss`, as ``readText(_:zone:)`` reads text.
    package func readInteger(_ value: Int64, zone: CalendarZone) -> (start: Int64, end: Int64)? {
        switch self {
        case .yyyymmdd: 10_000_000...99_999_999 ~= value ? readDigits(Int(value), zone: zone) : nil
        case .yyyymmddhhmmss:
            10_000_000_000_000...99_999_999_999_999 ~= value ? readDigits(Int(value), zone: zone) : nil
        default: nil
        }
    }

    private func readDigits(_ number: Int, zone: CalendarZone) -> (start: Int64, end: Int64)? {
        let day = self == .yyyymmdd ? number : number / 1_000_000
        let date = CivilDate(year: day / 10_000, month: day / 100 % 100, day: day % 100)
        guard date.isValid else { return nil }
        if self == .yyyymmdd { return zone.span(from: date.dayNumber, to: date.dayNumber + 1) }
        let (hour, minute, second) = (number / 10_000 % 100, number / 100 % 100, number % 100)
        guard hour <= 23, minute <= 59, second <= 60 else { return nil }
        // A leap second is the instant after it.
        let local = date.dayNumber * 86_400 + hour * 3600 + minute * 60 + second
        let start = Int64(zone.seconds(ofLocal: local, .last)) * 1_000_000
        return (start, start + 1)
    }

    /// The digits of an instant's local day, or local second.
    func digits(of instant: Instant, zone: CalendarZone) -> StoreValue {
        let civil = zone.civil(of: instant)
        let day = Int64((civil.date.year * 100 + civil.date.month) * 100 + civil.date.day)
        if self == .yyyymmdd { return .integer(day) }
        return .integer(((day * 100 + Int64(civil.hour)) * 100 + Int64(civil.minute)) * 100 + Int64(civil.second))
    }
}

extension CalendarZone {
    /// The microseconds of whole local days, from the start of one to the start of another. If a midnight occurs twice, a day begins at the
    /// first one and ends at the later one.
    @inline(__always)
    fileprivate func span(from day: Int, to end: Int) -> (start: Int64, end: Int64) {
        let start = Int64(seconds(ofLocal: day * 86_400, .first)) * 1_000_000
        // A day that the zone skips would be empty.
        return (start, max(Int64(seconds(ofLocal: end * 86_400, .last)) * 1_000_000, start + 1))
    }
}

/// Reads the bytes of an ISO 8601 date, or date and time, or of a date as a pattern writes it, front to back.
struct ISO8601Reader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Reads `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, the last also with a time, and nothing before or after it.
    mutating func read(zone: CalendarZone) -> (start: Int64, end: Int64)? {
        guard let year = digits(4) else { return nil }
        var date = CivilDate(year: year, month: 1, day: 1)
        if isAtEnd { return span(zone, date, CivilDate(year: year + 1, month: 1, day: 1)) }
        guard take("-"), let month = digits(2), 1...12 ~= month else { return nil }
        date.month = month
        if isAtEnd {
            return span(zone, date, CivilDate(year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1))
        }
        guard take("-"), let day = digits(2) else { return nil }
        date.day = day
        guard date.isValid else { return nil }
        let dayNumber = date.dayNumber
        if isAtEnd { return zone.span(from: dayNumber, to: dayNumber + 1) }
        guard take("T") || take(" ") || take("t") else { return nil }
        return time(on: dayNumber, zone: zone)
    }

    private func span(_ zone: CalendarZone, _ first: CivilDate, _ next: CivilDate) -> (start: Int64, end: Int64) {
        zone.span(from: first.dayNumber, to: next.dayNumber)
    }

    private mutating func time(on dayNumber: Int, zone: CalendarZone) -> (start: Int64, end: Int64)? {
        guard let hour = digits(2), hour <= 23, take(":"), let minute = digits(2), minute <= 59 else { return nil }
        var local = dayNumber * 86_400 + hour * 3600 + minute * 60
        var microsecond = 0
        if take(":") {
            // A leap second is the instant after it.
            guard let second = digits(2), second <= 60 else { return nil }
            local += second
            if take(".") || take(",") {
                guard let fraction = fraction() else { return nil }
                microsecond = fraction
            }
        }
        let seconds: Int
        if isAtEnd {
            seconds = zone.seconds(ofLocal: local, .last)
        } else {
            guard let offset = offset(), isAtEnd else { return nil }
            seconds = local - offset
        }
        let start = Int64(seconds) * 1_000_000 + Int64(microsecond)
        return (start, start + 1)
    }

    /// One digit or more. Digits after the sixth are ignored.
    private mutating func fraction() -> Int? {
        let first = position
        var microsecond = 0
        var weight = 100_000
        while position < bytes.count, 48...57 ~= bytes[position] {
            microsecond += Int(bytes[position] - 48) * weight
            weight /= 10
            position += 1
        }
        return position > first ? microsecond : nil
    }

    /// An offset in seconds: `Z`, `±HH`, `±HHMM` or `±HH:MM`.
    private mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isNegative = take("-")
        guard isNegative || take("+"), let hour = digits(2), hour <= 23 else { return nil }
        var offset = hour * 3600
        if take(":") || position < bytes.count && 48...57 ~= bytes[position] {
            guard let minute = digits(2), minute <= 59 else { return nil }
            offset += minute * 60
        }
        return isNegative ? -offset : offset
    }

    private var isAtEnd: Bool { position == bytes.count }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
        position += 1
        return true
    }

    mutating func digits(_ count: Int) -> Int? {
        guard bytes.count - position >= count else { return nil }
        var number = 0
        for index in position..<position + count {
            let digit = bytes[index] &- 48
            guard digit <= 9 else { return nil }
            number = number * 10 + Int(digit)
        }
        position += count
        return number
    }
}

extension ISO8601Reader {
    mutating func read(_ pattern: DatePattern, zone: CalendarZone) -> (start: Int64, end: Int64)? {
        var date = CivilDate(year: 0, month: 0, day: 0)
        var (seconds, microsecond) = (0, 0)
        var offset: Int?
        for part in pattern.parts {
            switch part {
            case .byte(let byte):
                guard position < bytes.count, bytes[position] == byte else { return nil }
                position += 1
            case .field(let field, let isFixed):
                guard let value = value(of: field, isFixed) else { return nil }
                switch field {
                case .year: date.year = value
                case .month, .monthName: date.month = value
                case .day: date.day = value
                case .dayName: break
                case .hour: seconds += value * 3600
                case .minute: seconds += value * 60
                case .second: seconds += value
                case .fraction: microsecond = value
                case .offset, .utc:
                    // UTC has no other offset.
                    guard offset ?? 0 == value || !pattern.isUTC else { return nil }
                    offset = value
                }
            }
        }
        guard position == bytes.count, date.isValid else { return nil }
        if pattern.isDay { return zone.span(from: date.dayNumber, to: date.dayNumber + 1) }
        let local = date.dayNumber * 86_400 + seconds
        let start = Int64(offset.map { local - $0 } ?? zone.seconds(ofLocal: local, .last)) * 1_000_000
        return (start + Int64(microsecond), start + Int64(microsecond) + 1)
    }

    private mutating func value(of field: DatePattern.Field, _ isFixed: Bool) -> Int? {
        switch field {
        case .year: return digits(4)
        case .fraction: return fraction()
        case .offset: return offset()
        case .utc: return name(in: Self.utc).map { _ in 0 }
        case .dayName: return name(in: Self.weekdays)
        case .monthName: return name(in: Self.months).map { $0 + 1 }
        case .month, .day, .hour, .minute, .second:
            guard let number = digits(2) ?? (isFixed ? nil : digits(1)) else { return nil }
            // A leap second is the instant after it.
            let most = field == .hour ? 23 : field == .second ? 60 : 59
            return number <= most ? number : nil
        }
    }

    /// The names of fields, each as one number.
    private static let (months, weekdays, utc) = (codes(.monthName), codes(.dayName), codes(.utc))

    private static func codes(_ field: DatePattern.Field) -> [UInt32] {
        (field.names ?? []).map { $0.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// The place of the next three letters, in any case, among names.
    private mutating func name(in codes: [UInt32]) -> Int? {
        guard bytes.count - position >= 3 else { return nil }
        let code: UInt32 = bytes[position..<position + 3].reduce(0) { $0 << 8 | UInt32($1 | 32) }
        position += 3
        return codes.firstIndex(of: code)
    }
}
