import PriceStore

extension RandomStore {
    /// One to three rules on the store's tables, in file order.
    mutating func rules() -> [SurveyRequest] {
        var rules: [SurveyRequest] = []
        for _ in 0..<pick([1, 1, 2, 3]) { rules.append(rule(after: rules.last)) }
        return rules
    }

    private mutating func rule(after last: SurveyRequest?) -> SurveyRequest {
        let table = chance(75) ? main : pick(tables)
        if var copy = last, chance(30), table.column(.date)?.name == copy.date.name {
            // The same words for another entity, as `defaults` make them.
            copy.entity = table.name
            copy.filter = .all
            copy.keepLast = copy.keepLast.map {
                KeepLast(count: $0.count, groupedBy: [], among: .all, date: copy.date)
            }
            return copy
        }
        let encoding = chance(88) ? self.encoding : pick(DateEncoding.allCases.filter { $0 != .native })
        let setsEarliest = chance(30)
        let earliest =
            setsEarliest
            ? pick(["0001-01-01", "1600-01-01", "1971-01-01", "2026-01-01"]) : "1971-01-01"
        let date = DateAttribute(
            name: table.column(.date)?.name ?? "", encoding: encoding, zone: zone,
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
            let names = table.columns.filter { [.symbol, .volume, .generated, .up].contains($0.role) }.map(\.name)
            var groups: [String] = []
            if !names.isEmpty, chance(65) { groups = [pick(names)] }
            if names.count > 1, chance(20) { groups = Array(names.shuffled(using: &random).prefix(2)) }
            keepLast = KeepLast(count: pick([1, 1, 2, 3, 10, 100]), groupedBy: groups, among: filter, date: date)
        }
        return SurveyRequest(
            entity: table.name, date: date, cutoff: cutoff, filter: filter, keepLast: keepLast,
            relationships: pick([.asDeclared, .asDeclared, .deny, .cascade, .nullify]),
            countsAllRows: chance(60))
    }

    /// A `where` of one or two parts.
    private mutating func condition(_ table: Table) -> Predicate {
        let part = comparison(table)
        return chance(30) ? part && comparison(table) : part
    }

    private mutating func comparison(_ table: Table) -> Predicate {
        let columns = table.columns.filter { [.symbol, .volume, .generated, .up].contains($0.role) }
        guard !columns.isEmpty else { return .all }
        let column = pick(columns)
        let values: [StoreValue] =
            switch column.role {
            case .volume: [.integer(0), .integer(1), .integer(5), .real(2.5), .real(5.0), .integer(6), .text("5")]
            case .up: [.integer(11), .integer(48), .text("k48"), .integer(85)]
            default: [.text("XAU"), .text("xau"), .text("EUR"), .text("b?"), .text(""), .integer(5)]
            }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: return .compare(column.name, .equal, pick(values))
        case 2: return .compare(column.name, pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), pick(values))
        case 3: return .compare(column.name, .notEqual, pick(values))
        case 4: return .isIn(column.name, (0..<pick([1, 2, 3])).map { _ in pick(values) })
        default: return chance(50) ? .isNull(column.name) : .isNotNull(column.name)
        }
    }
}
