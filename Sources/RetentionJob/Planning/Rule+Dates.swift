package import PriceStore
package import RetentionPolicy

extension Rule {
    /// The date attribute with everything that is needed to read it; nil if the rule has no format.
    ///
    /// Dates before 1971-01-01 in the zone are invalid unless the rule sets `earliest`. Only then is a stored 0 a date.
    package func date(zone: CalendarZone) -> DateAttribute? {
        dateFormat.map {
            DateAttribute(
                name: dateName ?? dateAttribute, encoding: $0, zone: zone,
                earliest: earliest ?? Self.defaultEarliest(zone),
                latest: latest, trustsZero: earliest != nil)
        }
    }
}
