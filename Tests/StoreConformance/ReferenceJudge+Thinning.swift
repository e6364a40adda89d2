import PriceStore

extension ReferenceJudge {
    /// The picks that a rule keeps, with the tier that each counts for: every bucket of every tier as a list of its rows, in
    /// the order of their dates and keys.
    ///
    /// - Parameter gone: rows that are no picks.
    func pickedRows(
        _ request: SurveyRequest, _ table: ReferenceStore.Table, besides gone: Set<Int64>
    ) -> [Int64: (unit: CalendarUnit, isExpired: Bool)] {
        guard let thinning = request.keepers.thinning else { return [:] }
        var kept: [Int64: (unit: CalendarUnit, isExpired: Bool)] = [:]
        for tier in thinning.tiers {
            var buckets: [Bucket: [(row: ReferenceStore.Row, reading: ReferenceDate.Reading)]] = [:]
            var groups: [[StoreValue]] = []
            for row in table.rows where truth(request.filter, row, table) == true && !gone.contains(row.id) {
                guard let reading = reading(row, request, before: request.cutoff) else { continue }
                let key = thinning.groupedBy.map { row[$0] }
                let known = groups.firstIndex { group in
                    zip(group, zip(key, thinning.groupedBy)).allSatisfy {
                        ReferenceValue.isSame($0, $1.0, table.collation($1.1))
                    }
                }
                if known == nil { groups.append(key) }
                let bucket = Bucket(
                    group: known ?? groups.count - 1,
                    parts: Self.bucket(tier.unit, reading.start, request.date.zone))
                buckets[bucket, default: []].append((row, reading))
            }
            for (bucket, rows) in buckets {
                let ordered = rows.sorted { a, b in
                    if b.reading.isNewer(than: a.reading) { return true }
                    if a.reading.isNewer(than: b.reading) { return false }
                    return table.place(of: a.row) < table.place(of: b.row)
                }
                for pick in picks(thinning.pick, of: ordered) {
                    guard let former = reading(pick.row, request, before: tier.since) else { continue }
                    var isYoung = !former.isExpired
                    if thinning.pick != .last {
                        // Its bucket has not ended by then.
                        isYoung =
                            isYoung || pick.reading.start >= tier.since
                            || bucket.parts == Self.bucket(tier.unit, tier.since, request.date.zone)
                    }
                    if isYoung { kept[pick.row.id] = (tier.unit, pick.reading.isExpired) }
                }
            }
        }
        return kept
    }

    private typealias Dated = (row: ReferenceStore.Row, reading: ReferenceDate.Reading)

    /// The picks among the rows of a bucket in the order of their dates.
    private func picks(_ pick: Thinning.Pick, of rows: [Dated]) -> [Dated] {
        guard let price = pick.price else { return [pick == .last ? rows.last : rows.first].compactMap(\.self) }
        let ends = [-1, 1].compactMap { sign in
            rows.first { row in
                rows.allSatisfy { (ReferenceValue.compare(row.row[price], $0.row[price]) ?? 0) * sign >= 0 }
            }
        }
        return ends + [rows.first, rows.last].compactMap(\.self)
    }

    private struct Bucket: Hashable {
        var group: Int
        var parts: [Int]
    }

    private func reading(
        _ row: ReferenceStore.Row, _ request: SurveyRequest, before instant: Instant
    ) -> ReferenceDate.Reading? {
        ReferenceDate(row[request.date.name], request.date, cutoff: instant).reading
    }

    /// What clocks and calendars show throughout a bucket, and at no other time.
    static func bucket(_ unit: CalendarUnit, _ instant: Instant, _ zone: CalendarZone) -> [Int] {
        let civil = zone.civil(of: instant)
        if unit == .hour {
            let offset = CalendarZone.utc.instant(of: civil).since(instant)
            return [civil.date.year, civil.date.month, civil.date.day, civil.hour, Int(offset.components.seconds)]
        }
        var day = civil.date
        // Where clocks are set back over midnight, a day that has begun goes on.
        let next = CivilDate(dayNumber: day.dayNumber + 1)
        if zone.startOfDay(next) <= instant { day = next }
        return switch unit {
        case .hour, .day: [day.dayNumber]
        // Day 4 was a Monday.
        case .week: [Int((Double(day.dayNumber - 4) / 7).rounded(.down))]
        case .month: [day.year, day.month]
        case .quarter: [day.year, (day.month + 2) / 3]
        case .year: [day.year]
        }
    }
}
