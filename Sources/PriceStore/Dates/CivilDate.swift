/// A day of the proleptic Gregorian calendar, without a zone. Year 0 is 1 BC.
package struct CivilDate: Hashable, Sendable {
    /// The year in astronomical numbering.
    package var year: Int
    /// 1 to 12.
    package var month: Int
    /// 1 to ``daysInMonth(year:month:)``.
    package var day: Int

    /// Makes a date from its parts, which are not checked: see ``isValid``.
    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Makes the date that is a number of days after 1970-01-01 (before it, if negative).
    package init(dayNumber: Int) {
        // Eras of 400 years begin on 1 March, so that the leap day is the last day of a year.
        let day = dayNumber + 719_468
        let era = day.flooringDivision(by: 146_097)
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        self.month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        self.day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        self.year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01; negative before it. Years beyond ±1,000,000 count as ±1,000,000.
    package var dayNumber: Int {
        let shiftedYear = min(max(year, -1_000_000), 1_000_000) - (month <= 2 ? 1 : 0)
        let era = shiftedYear.flooringDivision(by: 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    package var isValid: Bool {
        1...12 ~= month && day >= 1 && day <= CivilDate.daysInMonth(year: year, month: month)
    }

    /// How many days a month has: 28 to 31. A month that is not 1 to 12 has 31.
    package static func daysInMonth(year: Int, month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// A day and a time of day on the clocks of some zone.
package struct CivilDateTime: Hashable, Sendable {
    package var date: CivilDate
    /// 0 to 23.
    package var hour: Int
    /// 0 to 59.
    package var minute: Int
    /// 0 to 59; 60, a leap second, is read as the instant after it.
    package var second: Int
    /// 0 to 999,999.
    package var microsecond: Int

    /// Makes a local time from a day and a time of day, which is not checked.
    package init(_ date: CivilDate, hour: Int = 0, minute: Int = 0, second: Int = 0, microsecond: Int = 0) {
        self.date = date
        self.hour = hour
        self.minute = minute
        self.second = second
        self.microsecond = microsecond
    }

    /// Makes the local time that is a number of seconds after 1970-01-01T00:00:00 on the same clocks.
    init(localSeconds: Int, microsecond: Int) {
        let day = localSeconds.flooringDivision(by: 86_400)
        let secondOfDay = localSeconds - day * 86_400
        self.init(
            CivilDate(dayNumber: day), hour: secondOfDay / 3600, minute: secondOfDay / 60 % 60,
            second: secondOfDay % 60, microsecond: microsecond)
    }

    /// Seconds since 1970-01-01T00:00:00 on the same clocks.
    var localSeconds: Int {
        date.dayNumber * 86_400 + hour * 3600 + minute * 60 + second
    }
}

extension BinaryInteger {
    /// The quotient rounded down, also below zero; the divisor must be positive.
    @inline(__always)
    func flooringDivision(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The quotient rounded up, also below zero; the divisor must be positive.
    @inline(__always)
    func ceilingDivision(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder > 0 ? quotient + 1 : quotient
    }
}
