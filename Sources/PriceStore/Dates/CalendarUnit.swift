/// A unit of the calendar. Units of one kind divide time into buckets. `allCases` begins with the smallest.
package enum CalendarUnit: String, Hashable, Sendable, CaseIterable {
    /// An hour of the clock. An hour that the clock repeats is two.
    case hour
    /// From midnight to midnight: 23 to 25 hours.
    case day
    /// Begins on Monday.
    case week
    /// Begins on the first day.
    case month
    /// Begins in January, April, July and October.
    case quarter
    /// Begins in January.
    case year
}

extension CalendarZone {
    /// The latest start of a calendar unit that is not after an instant.
    ///
    /// If clocks are set back across the start of a unit, the local time alone would say that the earlier unit has begun again, and a
    /// longer age could give a later cutoff. So the next start is tried first, then this one, then the one before.
    package func start(of unit: CalendarUnit, at instant: Instant) -> Instant {
        let civil = civil(of: instant)
        for step in [1, 0, -1] {
            let start = self.instant(of: civil.start(of: unit, moved: step), .first)
            if start <= instant { return start }
        }
        return instant
    }

    /// The starts of the buckets from the one that holds the first instant to the one that holds the last, and the end of the latter.
    ///
    /// A day of 23 or 25 hours is one day. An hour that clocks repeat is two.
    ///
    /// - Parameter dayStart: the start of a day in seconds after local midnight, for units from a day on; below 0: on the day before.
    package func buckets(
        of unit: CalendarUnit, from first: Instant, through last: Instant, dayStart: Int = 0
    ) -> [Instant] {
        if unit == .hour { return hours(from: first, through: last) }
        let civil = civil(of: first).moved(bySeconds: -dayStart)
        var starts: [Instant] = []
        var step = -1
        while true {
            let start = instant(of: civil.start(of: unit, moved: step).moved(bySeconds: dayStart), .first)
            // A skipped day has no length.
            if start <= first { starts = [start] } else if starts.last != start { starts.append(start) }
            if start > last { return starts }
            step += 1
        }
    }

    private func hours(from first: Instant, through last: Instant) -> [Instant] {
        let end = Int(last.microseconds).flooringDivision(by: 1_000_000)
        var second = Int(first.microseconds).flooringDivision(by: 1_000_000)
        second = startOfHour(at: second)
        var starts = [Instant(unixSeconds: Int64(second))]
        while second <= end {
            second = endOfHour(from: second)
            starts.append(Instant(unixSeconds: Int64(second)))
        }
        return starts
    }

    /// The start of the hour that the clocks show, or of the offset that they have in it.
    private func startOfHour(at second: Int) -> Int {
        guard let offsets else { return second - second.remainder(of: 3600) }
        let segment = offsets.segment(at: second)
        let start = second - (second + segment.offset).remainder(of: 3600)
        // The same offset may begin before the segment.
        if start >= segment.start || offsets.segment(at: start).offset == segment.offset { return start }
        return segment.start
    }

    private func endOfHour(from start: Int) -> Int {
        guard let offsets else { return start + 3600 }
        let segment = offsets.segment(at: start)
        let end = start + 3600 - (start + segment.offset).remainder(of: 3600)
        if end <= segment.end || offsets.segment(at: segment.end).offset == segment.offset { return end }
        return segment.end
    }
}

extension CivilDateTime {
    /// The start of the unit that contains this local time, moved by a number of units.
    fileprivate func start(of unit: CalendarUnit, moved count: Int) -> CivilDateTime {
        switch unit {
        case .hour:
            let hours = date.dayNumber * 24 + hour + count
            let hour = hours.remainder(of: 24)
            return CivilDateTime(CivilDate(dayNumber: (hours - hour) / 24), hour: hour)
        case .day:
            return CivilDateTime(CivilDate(dayNumber: date.dayNumber + count))
        case .week:
            // 1970-01-01 was a Thursday, three days after Monday.
            let daysSinceMonday = (date.dayNumber + 3).remainder(of: 7)
            return CivilDateTime(CivilDate(dayNumber: date.dayNumber - daysSinceMonday + count * 7))
        case .month: return firstDay(month: date.month, moved: count)
        case .quarter: return firstDay(month: date.month - (date.month - 1) % 3, moved: count * 3)
        case .year: return firstDay(month: 1, moved: count * 12)
        }
    }

    /// The local time a number of seconds later on the same clocks.
    fileprivate func moved(bySeconds seconds: Int) -> CivilDateTime {
        seconds == 0 ? self : CivilDateTime(localSeconds: localSeconds + seconds, microsecond: microsecond)
    }

    private func firstDay(month: Int, moved count: Int) -> CivilDateTime {
        CivilDateTime(CivilDate(year: date.year, month: month, day: 1).moved(byMonths: count))
    }
}

extension CivilDate {
    /// The same day of another month. The day is not clamped.
    package func moved(byMonths months: Int) -> CivilDate {
        let months = year * 12 + month - 1 + months
        return CivilDate(
            year: months.flooringDivision(by: 12), month: months.remainder(of: 12) + 1, day: day)
    }
}

extension Int {
    /// The remainder of the division rounded down; never negative.
    fileprivate func remainder(of divisor: Int) -> Int { self - flooringDivision(by: divisor) * divisor }
}
