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

extension SurveyRequest {
    /// Takes over what a rule keeps of its expired rows.
    mutating func keepRows(of rule: Rule, asOf: Instant) {
        let date = date
        keepLast = rule.keepLast.map {
            KeepLast(count: $0.count, groupedBy: $0.per, among: rule.filter, date: date)
        }
        thinning = rule.thin.map { thin in
            let tiers = thin.tiers.map { tier in
                Thinning.Tier(
                    tier.unit,
                    since: tier.age.map {
                        Cutoff.instant(asOf: asOf, maxAge: $0, align: rule.align, zone: date.zone)
                    } ?? .distantPast)
            }
            return Thinning(tiers: tiers, pick: thin.pick, groupedBy: thin.per, among: rule.filter, date: date)
        }
    }
}
