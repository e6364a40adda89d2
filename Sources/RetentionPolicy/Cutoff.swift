package import PriceStore

/// The arithmetic of ages: the instant that is an age before or after another one. ``Rule/cutoff(asOf:zone:)`` gives the end of what a rule
/// deletes.
package enum Cutoff {
    /// The cutoff of a max age. Years and months are subtracted first (clamped to the end of the month), then weeks and days, in local
    /// time, then hours, minutes and seconds as exact time.
    ///
    /// It is never later than `asOf`. An age that reaches before all dates gives ``Instant/distantPast``, before which nothing is expired.
    /// - Parameter align: moves the cutoff back to the latest start of such a unit in the zone; nil: it is not moved.
    package static func instant(
        asOf: Instant, maxAge: MaxAge, align: CalendarUnit?, zone: CalendarZone
    ) -> Instant {
        var cutoff = asOf
        // Without calendar units local time is not used: a local time that is repeated in autumn could become another instant.
        if maxAge.months != 0 || maxAge.days != 0 {
            var civil = zone.civil(of: asOf)
            guard let date = civil.date.before(months: maxAge.months, days: maxAge.days) else { return .distantPast }
            civil.date = date
            // A local time that occurs twice means the first one, before which fewer rows are.
            cutoff = min(asOf, zone.instant(of: civil, .first))
        }
        cutoff = Instant(saturating: Int128(cutoff.microseconds) - maxAge.seconds * 1_000_000)
        return align.map { zone.start(of: $0, at: cutoff) } ?? cutoff
    }

    /// The instant at which something that began at `instant` has reached an age. Years and months are added first (clamped to the end of
    /// the month), then weeks and days, in local time, then hours, minutes and seconds as exact time.
    ///
    /// It is never earlier than `instant`. A local time that occurs twice means the later one.
    package static func end(of age: MaxAge, from instant: Instant, zone: CalendarZone) -> Instant {
        var end = instant
        if age.months != 0 || age.days != 0 {
            var civil = zone.civil(of: instant)
            guard let date = civil.date.before(months: -age.months, days: -age.days) else { return instant }
            civil.date = date
            end = max(instant, zone.instant(of: civil))
        }
        return Instant(saturating: Int128(end.microseconds) + age.seconds * 1_000_000)
    }
}

extension Rule {
    /// The instant before which rows are expired, by age or by ``bound``. Rows that become candles, or are in an aggregate, expire together with their bucket.
    package func cutoff(asOf: Instant, zone: CalendarZone) -> Instant {
        let latest = cutoffWithoutAggregates(asOf: asOf, zone: zone)
        var cutoff = latest
        // The start of a bucket may be inside a bucket of another aggregate. If no two starts meet, as of days in two zones, the store refuses.
        for _ in 0..<100 {
            let earlier = aggregates.reduce(startOfCandle(cutoff)) { $1.start(at: $0) }
            if earlier == cutoff { return cutoff }
            cutoff = earlier
        }
        return latest
    }

    /// The cutoff before it is moved back to the start of a bucket of ``aggregates``.
    package func cutoffWithoutAggregates(asOf: Instant, zone: CalendarZone) -> Instant {
        let byAge = Cutoff.instant(asOf: asOf, maxAge: maxAge, align: align, zone: zone)
        guard let bySize = bounded?.cutoff else { return startOfCandle(byAge) }
        return startOfCandle(max(byAge, align.map { zone.start(of: $0, at: bySize) } ?? bySize))
    }

    private func startOfCandle(_ cutoff: Instant) -> Instant {
        guard let rollup, cutoff > .distantPast else { return cutoff }
        return rollup.buckets.bucket(at: cutoff).lowerBound
    }
}

extension CivilDate {
    /// The date that is some months, then some days, earlier; nil: it is too early.
    fileprivate func before(months: Int128, days: Int128) -> CivilDate? {
        let month = Int128(year) * 12 + Int128(self.month - 1) - months
        guard month >= -12 * 300_000 else { return nil }
        var date = CivilDate(year: 0, month: 1, day: 1).moved(byMonths: Int(month))
        date.day = min(day, CivilDate.daysInMonth(year: date.year, month: date.month))
        let dayNumber = Int128(date.dayNumber) - days
        guard dayNumber >= -366 * 300_000 else { return nil }
        return CivilDate(dayNumber: Int(dayNumber))
    }
}
