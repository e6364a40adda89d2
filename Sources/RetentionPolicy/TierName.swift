package import PriceStore

extension CalendarUnit {
    /// The name of the tier with buckets of this unit, in a policy and in reports.
    package var tierName: String { self == .day ? "daily" : rawValue + "ly" }

    /// The unit of a tier's name; nil: there is no such tier.
    package init?(tierName: String) {
        guard let unit = Self.allCases.first(where: { $0.tierName == tierName }) else { return nil }
        self = unit
    }
}
