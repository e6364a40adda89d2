package import PriceStore

extension Instant {
    /// This instant, rounded down to a second.
    package var toSecond: Instant { floored(to: 1_000_000) }
    /// This instant, rounded down to a millisecond.
    package var toMillisecond: Instant { floored(to: 1000) }

    private func floored(to unit: Int64) -> Instant {
        let rest = microseconds % unit
        return advanced(byMicroseconds: rest < 0 ? -rest - unit : -rest)
    }
}
