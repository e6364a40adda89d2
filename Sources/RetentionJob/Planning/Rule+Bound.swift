import PriceStore
import RetentionPolicy

extension Policy {
    /// The policy with what the bounds of its rules mean for the rows that the store has now.
    func bounded(asOf: Instant, in reader: any RetentionReader) throws(StoreError) -> Policy {
        var policy = self
        for index in rules.indices where rules[index].isEnabled && rules[index].lacking == nil {
            try policy.rules[index].bound(asOf: asOf, zone: timezone, in: reader)
        }
        return policy
    }
}

extension Rule {
    /// Computes ``bounded``: once, before anything is deleted.
    mutating func bound(asOf: Instant, zone: CalendarZone, in reader: any RetentionReader) throws(StoreError) {
        bounded = nil
        guard let bound, let date = date(zone: zone), let entity = try reader.entity(named: entity),
            entity.kind == .table, rows.allAttributeNames.allSatisfy({ entity.attribute(named: $0) != nil })
        else { return }
        let byAge = cutoff(asOf: asOf, zone: zone)
        let youngest = Cutoff.instant(asOf: asOf, maxAge: bound.neverYoungerThan, align: nil, zone: zone)
        guard byAge < youngest else { return }
        let search = BoundSearch(entity: entity.name, rows: rows, date: date, measure: bound.measure, reader: reader)
        let young = try search.size(from: youngest, before: nil)
        let between = try search.size(from: byAge, before: youngest)
        guard young + between > search.tolerated else { return }
        guard young < search.limit else {
            bounded = (youngest, excess: young > search.limit ? young : nil)
            return
        }
        let cutoff = try search.cutoff(after: byAge, before: youngest, young: young, between: between)
        bounded = (cutoff, excess: nil)
    }

    /// The sentence that a bound moves the cutoff forward; nil: it does not.
    func movedByBound(asOf: Instant, zone: CalendarZone) -> String? {
        guard let bound, let bounded,
            bounded.cutoff >= Cutoff.instant(asOf: asOf, maxAge: maxAge, align: align, zone: zone)
        else { return nil }
        let hours = asOf.since(bounded.cutoff).wholeMicroseconds / 3_600_000_000
        let age = [(hours / 24, "d"), (hours % 24, "h")].filter { $0.0 > 0 }.map { "\($0.0)\($0.1)" }.joined()
        return "max_age \(maxAge.written) became \(age.isEmpty ? "less than 1h" : age) by \(bound.key): \(bound.amount)"
    }

    /// The warning that too many rows are too young for a bound, as a sentence without a full stop; nil: they are not, or there is none.
    var excessOfBound: String? {
        guard let bound, let excess = bounded?.excess else { return nil }
        let found =
            switch bound.measure {
            case .rows: Figures.count(excess, "row")
            case .bytes: "about \(Figures.bytes(Int64(excess)))"
            }
        return
            "\(name) keeps more than \(bound.key): \(bound.amount): \(found) of \(entity) are younger than never_younger_than "
            + "(\(bound.neverYoungerThan.written))"
    }
}

extension Plan.Step {
    /// The warnings that a bound is not met, each as a sentence without a full stop: rows are too young, or something keeps older ones.
    func excessOfBound(_ reader: any RetentionReader) throws -> [String] {
        let young = [rule.excessOfBound].compactMap(\.self)
        let (held, kept) = (survey.kept.heldCount, survey.kept.heldCount + survey.kept.byRuleCount)
        guard let bound = rule.bound, let request, kept > 0 else { return young }
        let search = BoundSearch(
            entity: request.entity, rows: rule.rows, date: request.date, measure: bound.measure, reader: reader)
        let older =
            search.isInBytes
            ? try search.size(from: nil, before: cutoff) / (kept + survey.expiredAloneCount) * kept : kept
        guard try search.size(from: cutoff, before: nil) + older > search.tolerated else { return young }
        let keepers = (held > 0 ? ["holds"] : []) + (kept > held ? [rule.keepLast != nil ? "keep_last" : "thin"] : [])
        let rows = Figures.count(kept, "older row", "stays", "stay")
        return young + [
            "\(rule.name) keeps more than \(bound.key): \(bound.amount): \(rows) because of \(keepers.listed("and"))"
        ]
    }
}

extension SizeBound {
    fileprivate var amount: String {
        switch measure {
        case .rows(let count): Figures.grouped(count)
        case .bytes(let count): Self.size(count)
        }
    }

    /// A size in the largest unit that gives a whole number.
    private static func size(_ bytes: Int) -> String {
        let units = ["TB", "GB", "MB", "kB"].enumerated().flatMap { index, unit in
            [1000, 1024].map { base in
                (
                    size: (0..<(4 - index)).reduce(1) { size, _ in size * base },
                    name: base == 1000 ? unit : unit.prefix(1).uppercased() + "iB"
                )
            }
        }
        guard let unit = units.first(where: { bytes % $0.size == 0 }) else { return "\(bytes) B" }
        return "\(bytes / unit.size) \(unit.name)"
    }
}

/// Finds the cutoff from which on the rows are as many as a bound allows, by halves of the time between two cutoffs.
private struct BoundSearch {
    let entity: String
    let rows: StorePredicate
    let date: DateAttribute
    let measure: SizeBound.Measure
    let reader: any RetentionReader

    /// The most that may stay: rows, or bytes.
    var limit: Int {
        switch measure {
        case .rows(let count), .bytes(let count): count
        }
    }
    var isInBytes: Bool { if case .bytes = measure { true } else { false } }
    /// Up to here nothing is deleted. The bytes are computed, and differ a little after each run.
    var tolerated: Int { isInBytes ? limit + limit / 50 : limit }

    private func request(_ from: Instant?, _ before: Instant?) -> StoreFetchRequest {
        StoreFetchRequest(entity: entity, predicate: .date(DateRange(date, from: from, before: before)) && rows)
    }

    /// The size of the rows from one instant, and before another one; nil: of all readable ones on that side.
    func size(from: Instant?, before: Instant?) throws(StoreError) -> Int {
        let request = request(from, before)
        guard isInBytes else { return try reader.count(request) }
        guard let bytes = try reader.compactBytes(of: request) else {
            throw reader.unsupported(
                "max_size cannot be used for \(entity): the store does not know how much space its rows take; write newest_rows"
            )
        }
        return bytes
    }

    /// The latest cutoff from which on the rows reach the limit: the date of the last row that stays. For bytes it may be a thousandth early.
    ///
    /// - Parameters:
    ///   - early: a cutoff from which on they are more.
    ///   - late: a cutoff from which on they are less.
    ///   - young: the size of the rows from `late` on.
    ///   - between: the size of the rows between the two.
    func cutoff(after early: Instant, before late: Instant, young: Int, between: Int) throws(StoreError) -> Instant {
        var (low, high) = (early, late)
        var (missing, between) = (limit - young, between)
        while between > (isInBytes ? limit / 1000 : Self.mostRead), high.microseconds - low.microseconds > 1 {
            let middle = Instant(microseconds: low.microseconds + (high.microseconds - low.microseconds) / 2)
            let found = try size(from: middle, before: high)
            if found >= missing {
                (low, between) = (middle, found)
            } else {
                (high, missing, between) = (middle, missing - found, between - found)
            }
        }
        guard !isInBytes, between <= Self.mostRead else { return low }
        // A row is before a cutoff if all of its date is.
        let ends = try reader.fetch(request(low, high), attributes: [date.name]).compactMap { row -> Instant? in
            if case .span(_, let end) = date.encoding.read(row[0], zone: date.zone) { end } else { nil }
        }.sorted(by: >)
        return missing <= ends.count ? ends[missing - 1].advanced(byMicroseconds: -1) : low
    }

    /// The most rows whose dates are read.
    private static let mostRead = 10_000
}
