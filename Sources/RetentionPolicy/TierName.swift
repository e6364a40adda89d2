package import PriceStore

extension CalendarUnit {
    /// The name of the tier with buckets of this unit, as a policy and the reports have it.
    package var tierName: String { self == .day ? "daily" : rawValue + "ly" }

    /// The unit of a tier's name; nil: there is no such tier.
    package init?(tierName: String) {
        guard let unit = Self.allCases.first(where: { $0.tierName == tierName }) else { return nil }
        self = unit
    }
}
