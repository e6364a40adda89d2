package import PriceStore

/// The sampled values of an attribute, read in one format. Pure: the clock is an argument. No delete depends on it.
package struct FormatReading: Hashable, Sendable {
    package var encoding: DateEncoding
    /// Values that are plausible dates: from 1990 to 20 years after the clock. A written-out date is plausible in any year.
    package var plausibleCount = 0
    /// Plausible dates at most a day after the clock.
    package var pastCount = 0
    /// Values that are dates from 1971 to 20 years after the clock: enough to doubt another format.
    package var possibleCount = 0
    /// The oldest and the newest plausible date; nil if there is none.
    package var oldest: Instant?
    package var newest: Instant?
    /// The newest plausible date at most a day after the clock; nil: all are later.
    package var newestPast: Instant?
    /// Values that stand for "no date" in this format, such as 9999-12-31.
    package var sentinels: [StoreValue] = []
    /// Values that are implausible dates in this format.
    package var outliers: [StoreValue] = []
    /// The ``outliers`` that are possible dates.
    package var doubtful: [StoreValue] = []
    /// Values that this format cannot read.
    package var unread: [StoreValue] = []

    /// Values that are probably dates in this format.
    package var regularCount: Int { plausibleCount + outliers.count + unread.count }

    /// Whether at least this many tenths of the regular values are plausible.
    func covers(tenths: Int) -> Bool { plausibleCount * 10 >= regularCount * tenths && plausibleCount > 0 }

    /// Reads values in one format; nil: none is a plausible date.
    ///
    /// - Parameter values: distinct values without NULL and without any ``isFiller(_:)``.
    init?(_ encoding: DateEncoding, _ values: [StoreValue], clock: Instant) {
        self.encoding = encoding
        for value in values {
            switch encoding.read(value, zone: .utc) {
            case .unreadable(.sentinel): sentinels.append(value)
            case .unreadable: unread.append(value)
            case .span(let date, _): add(date, value, clock: clock)
            }
        }
        guard plausibleCount > 0 || possibleCount > 0, sentinels.count * 2 <= values.count else { return nil }
    }

    private mutating func add(_ date: Instant, _ value: StoreValue, clock: Instant) {
        if Self.standsForNoDate(date) { return sentinels.append(value) }
        let end = clock.advanced(byMicroseconds: 20 * Self.year)
        let isSmall = isApple && (Self.appleEpoch - Self.year...Self.appleEpoch + Self.year).contains(date.microseconds)
        let isPossible = !isSmall && date >= Self.firstPossible && date <= end
        if isPossible { possibleCount += 1 }
        let isWritten = encoding == .iso8601 && Self.isWrittenOut(value)
        guard isWritten || isPossible && date >= Self.firstPlausible else {
            if isPossible { doubtful.append(value) }
            return outliers.append(value)
        }
        plausibleCount += 1
        (oldest, newest) = (min(oldest ?? date, date), max(newest ?? date, date))
        guard date <= clock.advanced(byMicroseconds: Self.day) else { return }
        pastCount += 1
        newestPast = max(newestPast ?? date, date)
    }

    /// The formats that read at least one value as a date, the best explanation first.
    static func all(_ values: [StoreValue], clock: Instant) -> [FormatReading] {
        let lately = clock.advanced(byMicroseconds: -400 * day)
        // A better explanation covers more values, recent ones, and past ones.
        func rank(_ reading: FormatReading) -> (Int, Int, Int, Int64) {
            let isCurrent = reading.newestPast.map { $0 >= lately } ?? false
            let share = reading.plausibleCount * 20 / max(1, reading.regularCount)
            return (
                share, isCurrent ? 1 : 0, reading.pastCount * 4 / max(1, reading.regularCount),
                (reading.newestPast ?? .distantPast).microseconds
            )
        }
        return (DateEncoding.allCases.filter { $0 != .native } + patterns)
            .compactMap { FormatReading($0, values, clock: clock) }
            .sorted { rank($0) > rank($1) }
    }

    /// Patterns that many programs write: `|` between forms of a day, and before the forms of a time.
    private static let patterns: [DateEncoding] = [
        ("%Y/%m/%d|%d/%m/%Y|%m/%d/%Y|%d.%m.%Y|%Y.%m.%d|%d-%m-%Y|%m-%d-%Y", "| %H:%M| %H:%M:%S| %H:%M:%S.%f"),
        ("%d %b %Y|%d-%b-%Y|%b %d, %Y", "| %H:%M| %H:%M:%S"), ("%Y%m%d", " %H:%M:%S| %H%M%S"),
        ("%Y-%m-%d %H:%M:%S|%Y-%m-%d %H:%M:%S.%f", " %z| %z %Z| %Z"),
        ("%a, %d %b %Y|%d %b %Y", " %H:%M:%S %z| %H:%M:%S %Z"),
    ].flatMap { (days: String, times: String) -> [DateEncoding] in
        days.split(separator: "|").flatMap { day in
            times.split(separator: "|", omittingEmptySubsequences: false).compactMap { time in
                DatePattern(String(day + time)).map(DateEncoding.pattern)
            }
        }
    }

    /// The pattern that has the day and the month in the other order; nil: programs write none.
    static func otherOrder(of encoding: DateEncoding) -> DateEncoding? {
        guard let text = encoding.datePattern?.text else { return nil }
        let letters = text.map { letter -> Character in letter == "d" ? "m" : letter == "m" ? "d" : letter }
        return DatePattern(String(letters)).map(DateEncoding.pattern).flatMap { patterns.contains($0) ? $0 : nil }
    }

    private var isApple: Bool { encoding == .appleSeconds || encoding == .appleNanoseconds }

    /// Whether every value has a written year, month and day, so that it is almost certainly a date.
    var isWrittenOut: Bool {
        switch encoding {
        case .iso8601, .yyyymmdd, .yyyymmddhhmmss, .pattern: true
        default: false
        }
    }

    /// The values that are plausible dates, among those read.
    func plausible(of values: [StoreValue]) -> [StoreValue] {
        let others = Set(unread + outliers + sentinels)
        return values.filter { !others.contains($0) }
    }

    /// Whether both formats count the same unit from different epochs, so that they can be confused.
    func hasUnit(of other: FormatReading) -> Bool {
        let units = [self, other].map { $0.encoding.rawValue.split(separator: "_").last }
        return encoding.isNumeric && units[0] == units[1]
    }

    // MARK: Values that mean "no date"

    /// Whether a value stands for "no date" in every format: 0, -1, the largest and smallest number of a type, and words for it.
    static func isFiller(_ value: StoreValue) -> Bool {
        switch value {
        case .null: true
        case .integer(let number): fillers.contains(number)
        case .real(let number):
            !number.isFinite || number.magnitude >= 0x1p63 || Int64(exactly: number).map(fillers.contains) ?? false
        case .text(let text):
            ["", "0", "-1", "-", "null", "none", "never", "n/a", "infinity", "-infinity"].contains(text.lowercased())
                || text.hasPrefix("0000-00-00")
        case .blob(let bytes): bytes.isEmpty
        }
    }

    /// Includes Core Data's distant past and future in seconds.
    private static let fillers: Set<Int64> = [
        0, -1, .min, .max, Int64(Int32.min), Int64(Int32.max), Int64(UInt32.max), -63_114_076_800, 63_113_904_000,
    ]

    /// Whether a date is in the year 9999 or at the beginning of the calendar, which programs use for "never".
    private static func standsForNoDate(_ date: Instant) -> Bool {
        let seconds = date.microseconds / 1_000_000
        return (253_370_764_800...253_402_473_600).contains(seconds)
            || (-62_135_769_600 ... -62_135_424_000).contains(seconds)
    }

    /// Whether a text has at least a year and a month, with a dash between them.
    static func isWrittenOut(_ value: StoreValue) -> Bool {
        if case .text(let text) = value { text.utf8.count >= 7 } else { false }
    }

    static let day: Int64 = 86_400_000_000
    static let year: Int64 = 365 * day
    private static let appleEpoch: Int64 = 978_307_200_000_000
    /// 1990-01-01.
    static let firstPlausible = Instant(unixSeconds: 631_152_000)
    /// 1971-01-01.
    private static let firstPossible = Instant(unixSeconds: 31_536_000)
}
