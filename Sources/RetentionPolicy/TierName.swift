package import PriceStore

extension CalendarUnit {
    /// The name of the tier with buckets of this unit, in a policy and in reports.
    package var tierName: String { self == .day ? "daily" : rawValue + "ly" }
}
