package import PriceStore

extension Instant {
    /// The whole second that this instant lies in.
    package var toSecond: Instant { floored(to: 1_000_000) }
    /// The whole millisecond that this instant lies in.
    package var toMillisecond: Instant { floored(to: 1000) }

    private func floored(to unit: Int64) -> Instant {
        let rest = microseconds % unit
        return advanced(byMicroseconds: rest < 0 ? -rest - unit : -rest)
    }
}
