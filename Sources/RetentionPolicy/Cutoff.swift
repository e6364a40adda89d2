package import PriceStore

/// The instant before which rows are expired.
package enum Cutoff {
    /// The cutoff of a max age: years and months are subtracted first (clamped to the end of the month), then weeks and
    /// days, in local time, then hours, minutes and seconds as exact time.
    ///
    /// Never later than `asOf`. An age that reaches before all dates gives ``Instant/distantPast``, before which
    /// nothing is expired.
    /// - Parameters:
    ///   - align: Moves the cutoff back to the latest start of an hour, day, week (Monday) or month in the zone; nil:
    ///     it is not moved.
    ///   - zone: The zone of the calendar units and of `align`.
    package static func instant(
        asOf: Instant, maxAge: MaxAge, align: Rule.Alignment?, zone: CalendarZone
    ) -> Instant {
        var cutoff = asOf
        let months = Int128(maxAge.years) * 12 + Int128(maxAge.months)
        let days = Int128(maxAge.weeks) * 7 + Int128(maxAge.days)
        // Without calendar units no local time is involved: one that is repeated in autumn could become another instant.
        if months != 0 || days != 0 {
            var civil = zone.civil(of: asOf)
            guard let date = civil.date.before(months: months, days: days) else { return .distantPast }
            civil.date = date
            cutoff = min(asOf, zone.instant(of: civil))
        }
        let seconds = Int128(maxAge.hours) * 3600 + Int128(maxAge.minutes) * 60 + Int128(maxAge.seconds)
        cutoff = Instant(saturating: Int128(cutoff.microseconds) - seconds * 1_000_000)
        guard let align else { return cutoff }
        return start(of: align, at: cutoff, zone: zone)
    }

    /// The instant at which something that began then has reached an age: years and months are added first (clamped to the
    /// end of the month), then weeks and days, in local time, then hours, minutes and seconds as exact time.
    ///
    /// Never earlier than `instant`.
    package static func end(of age: MaxAge, from instant: Instant, zone: CalendarZone) -> Instant {
        var end = instant
        let months = Int128(age.years) * 12 + Int128(age.months)
        let days = Int128(age.weeks) * 7 + Int128(age.days)
        if months != 0 || days != 0 {
            var civil = zone.civil(of: instant)
            guard let date = civil.date.before(months: -months, days: -days) else { return instant }
            civil.date = date
            end = max(instant, zone.instant(of: civil))
        }
        let seconds = Int128(age.hours) * 3600 + Int128(age.minutes) * 60 + Int128(age.seconds)
        return Instant(saturating: Int128(end.microseconds) + seconds * 1_000_000)
    }

    /// The latest start of a calendar unit that is not after an instant.
    ///
    /// If clocks are set back across the start of a unit, the local time alone would say that the earlier unit has
    /// begun again, and a longer age could give a later cutoff. So the next start is tried first, then this one, then
    /// the one before.
    private static func start(of unit: Rule.Alignment, at instant: Instant, zone: CalendarZone) -> Instant {
        let civil = zone.civil(of: instant)
        for step in [1, 0, -1] {
            let start = zone.instant(of: civil.start(of: unit, moved: step))
            if start <= instant { return start }
        }
        return instant
    }
}

extension CivilDate {
    /// The date that is some months, then some days, earlier; nil if it is too early.
    fileprivate func before(months: Int128, days: Int128) -> CivilDate? {
        let month = Int128(year) * 12 + Int128(self.month - 1) - months
        guard month >= -12 * 300_000 else { return nil }
        var date = CivilDate(year: 0, month: 1, day: 1).moved(byMonths: Int(month))
        date.day = min(day, CivilDate.daysInMonth(year: date.year, month: date.month))
        let dayNumber = Int128(date.dayNumber) - days
        guard dayNumber >= -366 * 300_000 else { return nil }
        return CivilDate(dayNumber: Int(dayNumber))
    }

    /// The date with the same day in another month; the day is not clamped.
    fileprivate func moved(byMonths months: Int) -> CivilDate {
        var month = (self.month - 1 + months) % 12
        if month < 0 { month += 12 }
        let year = self.year + (self.month - 1 + months - month) / 12
        return CivilDate(year: year, month: month + 1, day: day)
    }
}

extension CivilDateTime {
    /// The start of the unit that holds this local time, moved by a number of units.
    fileprivate func start(of unit: Rule.Alignment, moved count: Int) -> CivilDateTime {
        switch unit {
        case .hour:
            let hours = date.dayNumber * 24 + hour + count
            let hour = ((hours % 24) + 24) % 24
            return CivilDateTime(CivilDate(dayNumber: (hours - hour) / 24), hour: hour)
        case .day:
            return CivilDateTime(CivilDate(dayNumber: date.dayNumber + count))
        case .week:
            // 1970-01-01 was a Thursday, three days after Monday.
            let daysSinceMonday = (((date.dayNumber + 3) % 7) + 7) % 7
            return CivilDateTime(CivilDate(dayNumber: date.dayNumber - daysSinceMonday + count * 7))
        case .month:
            return CivilDateTime(CivilDate(year: year, month: month, day: 1).moved(byMonths: count))
        }
    }
}
