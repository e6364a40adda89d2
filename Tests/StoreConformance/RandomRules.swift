package import PriceStore
package import TestSupport

/// A random store that makes rules for its tables.
package protocol RandomRules: Choosing {
    /// What rules are made of, the table that most of them are for first.
    var ruleTables: [RuleTable] { get }
    var encoding: DateEncoding { get }
    var zone: CalendarZone { get }
    var cutoff: Instant { get }
}

/// What a rule for a table can be made of.
package struct RuleTable {
    var name: String
    var date: String
    var groups: [String]
    var filters: [(column: String, values: [StoreValue])]
    /// Whether its rows can be thinned.
    var thins: Bool

    /// - Parameters:
    ///   - groups: the columns of which `keepLast` makes groups.
    ///   - filters: columns that a filter compares, with values for them.
    package init(
        _ name: String, date: String, groups: [String], filters: [(column: String, values: [StoreValue])],
        thins: Bool = true
    ) {
        (self.name, self.date, self.groups, self.filters, self.thins) = (name, date, groups, filters, thins)
    }

    package static let symbols: [StoreValue] = ["XAU", "xau", "EUR", "b?", ""].map(StoreValue.text) + [.integer(5)]
    package static let volumes: [StoreValue] = [
        .integer(0), .integer(1), .integer(5), .real(2.5), .real(5.0), .integer(6), .text("5"),
    ]
}

extension RandomRules {
    /// One to four rules on the store's tables, in file order.
    ///
    /// - Parameters:
    ///   - encodings: formats of which a rule has one now and then, whatever the store's is.
    ///   - relationships: what rules do with rows that point at theirs.
    package mutating func rules(
        otherEncodings encodings: [DateEncoding] = [], relationships: [BatchDeleteRequest.RelationshipRule]
    ) -> [SurveyRequest] {
        var rules: [SurveyRequest] = []
        for _ in 0..<pick([1, 1, 2, 3, 4]) { rules.append(rule(after: rules.last, encodings, relationships)) }
        let holds = holds()
        for index in rules.indices {
            rules[index].keepers.holds = holds
            // A policy may not have them.
            let others = rules[..<index].filter { $0.entity == rules[index].entity && $0.keepsRows }
            if !others.allSatisfy({ $0.readsDates(of: rules[index]) }) {
                (rules[index].keepers.keepLast, rules[index].keepers.thinning) = (nil, nil)
            }
        }
        return rules
    }

    /// None to two holds, which are those of all rules.
    private mutating func holds() -> [HeldRows] {
        guard chance(50) else { return [] }
        return (0..<pick([1, 1, 2])).map { number in
            // The last table is often one whose rows go with others.
            let table = chance(40) ? ruleTables[ruleTables.count - 1] : pick(ruleTables)
            var rows = StorePredicate.all
            if chance(50) { rows = condition(table) }
            if chance(40) {
                let date = DateAttribute(
                    name: table.date, encoding: encoding, zone: zone,
                    earliest: Instant(iso8601: "1971-01-01") ?? .distantPast)
                let day: Int64 = 86_400_000_000
                let until = cutoff.advanced(byMicroseconds: pick([-3, 0, 1]) * day)
                rows =
                    rows
                    && .mayBeDated(
                        date, from: chance(60) ? until.advanced(byMicroseconds: -pick([1, 10, 400]) * day) : nil,
                        until: chance(70) ? until : nil)
            }
            return HeldRows(name: "hold\(number)", entity: table.name, rows: rows)
        }
    }

    private mutating func rule(
        after last: SurveyRequest?, _ encodings: [DateEncoding], _ relationships: [BatchDeleteRequest.RelationshipRule]
    ) -> SurveyRequest {
        let table = chance(75) ? ruleTables[0] : pick(ruleTables)
        if var copy = last, chance(30), table.date == copy.date.name {
            // The same words for another entity, as `defaults` make them.
            copy.entity = table.name
            copy.filter = .all
            copy.keepers.keepLast = copy.keepers.keepLast.map {
                KeepLast(count: $0.count, groupedBy: [], among: .all, date: copy.date)
            }
            copy.keepers.thinning = copy.keepers.thinning.flatMap {
                table.thins
                    ? Thinning(tiers: $0.tiers, pick: $0.pick, groupedBy: [], among: .all, date: copy.date) : nil
            }
            return copy
        }
        let encoding = encodings.isEmpty || chance(88) ? self.encoding : pick(encodings)
        let setsEarliest = chance(30)
        let earliest = setsEarliest ? pick(["0001-01-01", "1600-01-01", "1971-01-01", "2026-01-01"]) : "1971-01-01"
        let date = DateAttribute(
            name: table.date, encoding: encoding, zone: zone,
            earliest: Instant(iso8601: earliest, zone: zone) ?? .distantPast,
            latest: chance(25) ? Instant(iso8601: pick(["2026-11-05", "2100-01-01"])) : nil, trustsZero: setsEarliest)
        let filter = chance(55) ? condition(table) : .all
        var cutoff = self.cutoff
        if chance(35) {
            cutoff = cutoff.advanced(
                byMicroseconds: pick([-86_400_000_000, 1, 30 * 86_400_000_000, -1, 3_600_000_000]))
        }
        var keepLast: KeepLast?
        if chance(40) {
            var groups: [String] = []
            if !table.groups.isEmpty, chance(65) { groups = [pick(table.groups)] }
            if table.groups.count > 1, chance(20) {
                groups = Array(table.groups.shuffled(using: &random).prefix(2))
            }
            keepLast = KeepLast(count: pick([1, 1, 2, 3, 10, 100]), groupedBy: groups, among: filter, date: date)
        }
        var request = SurveyRequest(
            entity: table.name, date: date, cutoff: cutoff, filter: filter, keepLast: keepLast,
            relationships: pick(relationships), counts: .init(all: chance(60)))
        if table.thins, chance(35) { request.keepers.thinning = thinning(request, table) }
        return request
    }

    /// One to three tiers, with ages that are longer for longer units.
    private mutating func thinning(_ request: SurveyRequest, _ table: RuleTable) -> Thinning {
        let units = Set(CalendarUnit.allCases.shuffled(using: &random).prefix(pick([1, 2, 2, 3])))
        var since = request.cutoff
        let tiers = CalendarUnit.allCases.filter(units.contains).map { unit in
            let hour: Int64 = 3_600_000_000
            since = since.advanced(byMicroseconds: -pick([0, 1, 20, 24, 24 * 20, 24 * 45, 24 * 200]) * hour)
            return Thinning.Tier(unit, since: chance(25) ? .distantPast : since)
        }
        return Thinning(
            tiers: tiers, pick: pick(Thinning.Pick.allCases),
            groupedBy: chance(60) && !table.groups.isEmpty ? [pick(table.groups)] : [], among: request.filter,
            date: request.date)
    }

    /// A `where` of one or two parts.
    private mutating func condition(_ table: RuleTable) -> StorePredicate {
        let part = comparison(table)
        return chance(30) ? part && comparison(table) : part
    }

    private mutating func comparison(_ table: RuleTable) -> StorePredicate {
        guard !table.filters.isEmpty else { return .all }
        let (column, values) = pick(table.filters)
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: return .compare(column, .equal, pick(values))
        case 2: return .compare(column, pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), pick(values))
        case 3: return .compare(column, .notEqual, pick(values))
        case 4: return .isIn(column, (0..<pick([1, 2, 3])).map { _ in pick(values) })
        default: return chance(50) ? .isNull(column) : .isNotNull(column)
        }
    }
}
