package import PriceStore

extension CalendarUnit {
    /// The name of the tier with buckets of this unit, in a policy and in reports.
    package var tierName: String { self == .day ? "daily" : rawValue + "ly" }

    package init?(tierName: String) {
        guard let unit = Self.allCases.first(where: { $0.tierName == tierName }) else { return nil }
        self = unit
    }
}
