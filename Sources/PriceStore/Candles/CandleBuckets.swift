/// The periods that become one candle each: minutes of a session, or the sessions of a day, a week or a month.
///
/// A session lasts from one start to the next, for 23 to 25 hours. It belongs to the calendar day that contains most of it. A session that
/// starts after noon belongs to the next day, so the week that begins with Monday's session may begin on Sunday evening.
package struct CandleBuckets: Hashable, Sendable {
    /// How long a bucket is.
    package enum Length: Hashable, Sendable {
        /// A number of minutes that divides a day, counted from the start of each session.
        case minutes(Int)
        /// Whole sessions: those of a day, a week or a month.
        case unit(CalendarUnit)
    }

    package let length: Length
    package let zone: CalendarZone
    /// When a session starts: seconds after midnight on the clocks of the zone, from 0 to 86,399.
    package let sessionStart: Int

    package init(_ length: Length, zone: CalendarZone, sessionStart: Int = 0) {
        self.length = length
        self.zone = zone
        self.sessionStart = sessionStart
    }

    package func bucket(at instant: Instant) -> Range<Instant> {
        switch length {
        case .unit(let unit): return stretch(of: unit, at: instant)
        case .minutes(let count):
            let day = stretch(of: .day, at: instant)
            let length = Int64(count) * 60_000_000
            let elapsed = instant.microseconds - day.lowerBound.microseconds
            let start = day.lowerBound.advanced(byMicroseconds: elapsed / length * length)
            // On a day that a clock change shortens, the last bucket ends with the day.
            return start..<min(start.advanced(byMicroseconds: length), day.upperBound)
        }
    }

    private func stretch(of unit: CalendarUnit, at instant: Instant) -> Range<Instant> {
        let dayStart = sessionStart > 43_200 ? sessionStart - 86_400 : sessionStart
        let bounds = zone.buckets(of: unit, from: instant, through: instant, dayStart: dayStart)
        return bounds[0]..<bounds[1]
    }
}
