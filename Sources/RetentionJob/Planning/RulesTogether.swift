import PriceStore
import RetentionPolicy

/// The enabled rules of each entity where at least one has `thin` or `keep_last`: these keep rows from each other, even those that `--rule`
/// leaves out, see ``SurveyRequest/keepApart(from:)``.
struct RulesTogether: Sendable {
    /// By entity name, each rule with its request, without an instant and without the rows that it keeps.
    private var rules: [String: [(rule: Rule, request: SurveyRequest)]] = [:]
    private var zone = CalendarZone.utc

    init() {}

    init(_ policy: Policy, reader: any RetentionReader) throws(StoreError) {
        zone = policy.timezone
        guard policy.rules.contains(where: { $0.isEnabled && $0.keepsRows }) else { return }
        for rule in policy.rules where rule.isEnabled {
            guard let entity = try reader.entity(named: rule.entity), let date = rule.date(zone: zone) else { continue }
            var request = SurveyRequest(
                entity: entity.name, date: date, cutoff: .distantPast, filter: rule.considered)
            request.take(rule.rollupRequest(date))
            rules[entity.name, default: []].append((rule, request))
        }
        rules = rules.filter { $0.value.contains { $0.rule.keepsRows } }
    }

    /// Sets which expired rows a rule and other rules keep at an instant.
    func keepRows(_ request: inout SurveyRequest, of rule: Rule, asOf: Instant) {
        request.keepRows(of: rule, asOf: asOf)
        keepApart(&request, of: rule, asOf)
    }

    private func keepApart(_ request: inout SurveyRequest, of rule: Rule, _ asOf: Instant) {
        guard rule.keepsRows, let all = rules[request.entity] else { return }
        request.keepApart(from: all.filter { $0.rule.name != rule.name }.map { self.request($1, of: $0, asOf) })
    }

    /// The rules that keep rows, with the rows that each keeps at an instant.
    func keepers(asOf: Instant) -> [(rule: Rule, request: SurveyRequest)] {
        rules.values.joined().filter { $0.rule.keepsRows }.map { rule, its in
            var request = request(its, of: rule, asOf)
            keepApart(&request, of: rule, asOf)
            return (rule, request)
        }.sorted { $0.rule.name < $1.rule.name }
    }

    private func request(_ request: SurveyRequest, of rule: Rule, _ asOf: Instant) -> SurveyRequest {
        var request = request
        request.cutoff = rule.cutoff(asOf: asOf, zone: zone)
        request.keepRows(of: rule, asOf: asOf)
        return request
    }
}

extension Rule {
    /// The rows with a price, if the rule is about prices; nil: all.
    func isPriced(_ date: DateAttribute) -> StorePredicate? {
        rollupRequest(date)?.isPriced ?? thin?.pick.isPriced
    }

    /// The rows of `where`, with `pick: ohlc` those with a price: another row is neither kept nor deleted.
    var considered: StorePredicate { thin?.pick.isPriced.map { rows && $0 } ?? rows }
}

extension SurveyRequest {
    /// Sets which expired rows the rule itself keeps.
    mutating func keepRows(of rule: Rule, asOf: Instant) {
        let date = date
        keepers.keepLast = rule.keepLast.map {
            KeepLast(count: $0.count, groupedBy: $0.per, among: rule.considered, date: date)
        }
        keepers.thinning = rule.thin.map { thin in
            let tiers = thin.tiers.map { tier in
                Thinning.Tier(
                    tier.unit,
                    since: tier.age.map {
                        Cutoff.instant(asOf: asOf, maxAge: $0, align: rule.align, zone: date.zone)
                    } ?? .distantPast)
            }
            return Thinning(tiers: tiers, pick: thin.pick, groupedBy: thin.per, among: rule.considered, date: date)
        }
    }
}
