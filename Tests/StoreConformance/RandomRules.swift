package import PriceStore
package import TestSupport

/// A random store that makes rules for its tables.
package protocol RandomRules: Choosing {
    /// What rules are made of, the table that most of them are for first.
    var ruleTables: [RuleTable] { get }
    var encoding: DateEncoding { get }
    var zone: CalendarZone { get }
    var cutoff: Instant { get }
    /// Another way to write a date, or another type of value.
    mutating func written(_ instant: Instant, _ value: StoreValue) -> StoreValue
    /// What is no date, or an unlikely one.
    mutating func mess() -> StoreValue
}

extension DateEncoding {
    /// The formats of random stores: all but the store's own, and patterns.
    package static let written: [DateEncoding] =
        allCases.filter { $0 != .native }
        + [
            "%d.%m.%Y %H:%M", "%m/%d/%Y", "%Y%m%d %H%M%S", "%a, %d %b %Y %H:%M:%S %z", "%Y-%m-%d %H:%M:%S.%f %z %Z",
        ].compactMap { DatePattern($0).map(DateEncoding.pattern) }
}

extension SeededRandom {
    /// An instant where a day, a month or a year begins, where clocks change, or none of these.
    package mutating func cutoff() -> Instant {
        let cutoffs = [
            "2026-10-22T13:14:15.123456Z", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z", "2026-11-01T05:59:59.5Z", "2026-10-22T00:00:00Z", "2026-10-21T22:00:00Z",
            "1999-12-31T23:59:59Z", "2024-02-29T12:00:00Z", "2026-03-08T07:15:00Z",
        ]
        return Instant(iso8601: cutoffs.randomElement(using: &self) ?? "") ?? .distantPast
    }

    package mutating func zone() -> CalendarZone {
        ["UTC", "UTC", "Europe/Berlin", "America/New_York"].randomElement(using: &self)
            .flatMap { CalendarZone(identifier: $0) } ?? .utc
    }
}

extension Relationship {
    /// A foreign key of one column, by its words after `ON DELETE`.
    package init(_ source: String, _ attribute: String, to destination: String, _ key: String, on action: String) {
        let rules: [String: DeleteRule] = [
            "CASCADE": .cascade, "SET NULL": .nullify, "SET DEFAULT": .setDefault, "RESTRICT": .restrict,
        ]
        self.init(
            source: source, sourceAttributes: [attribute], destination: destination, destinationAttributes: [key],
            deleteRule: rules[action] ?? .noAction, isIndexed: false)
    }
}

// MARK: Dates

extension RandomRules {
    /// Dates of the store's format around the cutoff and far from it, and now and then what is no date.
    package mutating func dateValues(count: Int) -> [StoreValue] {
        var values: [StoreValue] = []
        let isMessy = chance(60)
        let hour: Int64 = 3_600_000_000
        let deltas: [Int64] = [-24 * hour, -hour, -1_000_000, -1000, -1, 0, 1, 1000, 1_000_000, hour, 24 * hour]
        for _ in 0..<max(4, count * 2) {
            let instant = cutoff.advanced(
                byMicroseconds: chance(45)
                    ? pick(deltas) : Int64.random(in: -400 * 24 * hour...60 * 24 * hour, using: &random))
            var value = encoding.value(of: instant, zone: zone)
            if chance(30) { value = written(instant, value) }
            if isMessy, chance(20) { value = mess() }
            values.append(value)
        }
        return values
    }

    /// The local day and the time of an instant, as a text has them.
    package func dayAndTime(_ instant: Instant) -> (day: String, time: String) {
        let civil = zone.civil(of: instant)
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return (
            civil.date.description,
            "\(two(civil.hour)):\(two(civil.minute)):\(two(civil.second))"
        )
    }

    /// Other ways to write a date as text, and local times that clocks skip or repeat.
    package mutating func spelling(_ instant: Instant, _ text: String) -> StoreValue {
        let (day, time) = dayAndTime(instant)
        if encoding.datePattern != nil {
            // Without zeros, with other names and offsets, impossible days and hours.
            let texts = [
                (".0", "."), (" 0", " "), ("/0", "/"), ("0", "3"), ("+0000", "-0130"), ("Oct", "okt"), ("2", "31"),
            ].map {
                text.replacing($0.0, with: $0.1, maxReplacements: 1)
            }
            return .text(pick(texts + [text + " ", text.uppercased(), text.lowercased(), day]))
        }
        return .text(
            pick([
                day, "\(day) \(time)", "\(day)T\(time)", "\(day.dropLast(3))", "\(day.prefix(4))",
                "\(day)T\(time)+14:00", "\(day) \(time)-1130", "\(day)T\(time).999999999Z", text.lowercased(),
                "\(day)T\(time.prefix(2))", "2026-03-29 02:30:00", "2026-10-25 02:30", "2026-10-25T02:30:00,5",
            ]))
    }
}

/// What a rule for a table can be made of.
package struct RuleTable {
    var name: String
    var date: String
    var groups: [String]
    var filters: [(column: String, values: [StoreValue])]
    /// A column of numbers.
    var price: String?
    /// Whether its rows can be thinned.
    var thins: Bool

    /// - Parameters:
    ///   - groups: the columns of which `keepLast` makes groups.
    ///   - filters: columns that a filter compares, with values for them.
    package init(
        _ name: String, date: String, groups: [String], filters: [(column: String, values: [StoreValue])],
        price: String? = nil, thins: Bool = true
    ) {
        (self.name, self.date, self.groups, self.filters) = (name, date, groups, filters)
        (self.price, self.thins) = (price, thins)
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
                    ? Thinning(
                        tiers: $0.tiers, pick: $0.pick.price == nil ? $0.pick : .last, groupedBy: [], among: .all,
                        date: copy.date) : nil
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
        let price = table.thins && chance(20) ? table.price : nil
        var filter = chance(55) ? condition(table) : .all
        if let price { filter = filter && .isNumber(price) }
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
        if price != nil || table.thins && chance(30) {
            request.keepers.thinning = thinning(
                request, price.map { .ohlc(price: $0) } ?? pick([.last, .first]), table)
        }
        return request
    }

    /// One to three tiers, with ages that are longer for longer units.
    private mutating func thinning(_ request: SurveyRequest, _ pick: Thinning.Pick, _ table: RuleTable) -> Thinning {
        let units = Set(CalendarUnit.allCases.shuffled(using: &random).prefix(self.pick([1, 2, 2, 3])))
        var since = request.cutoff
        let tiers = CalendarUnit.allCases.filter(units.contains).map { unit in
            let hours: Int64 = self.pick([0, 1, 20, 24, 480, 1080, 4800])
            since = since.advanced(byMicroseconds: -3_600_000_000 * hours)
            return Thinning.Tier(unit, since: chance(25) ? .distantPast : since)
        }
        return Thinning(
            tiers: tiers, pick: pick,
            groupedBy: chance(60) && !table.groups.isEmpty ? [self.pick(table.groups)] : [], among: request.filter,
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
