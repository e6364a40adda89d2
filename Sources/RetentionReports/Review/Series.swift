package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// Figures over days: the source of a plot, of its table of numbers, and of JSON.
package struct Series: Sendable {
    /// The figures from one instant up to another: a value for each name, nil if it is unknown.
    struct Point {
        var start: Instant
        var end: Instant
        var values: [Int64?]
        /// Whether the rule was refused in the last run of the time.
        var isRefused = false
        /// In how many days the first figure has arrived, this one being the last: more than 1 after missed nights.
        var arrivedDays = 1

        /// A figure in words; `?`: it is not known.
        func text(_ index: Int, _ format: (Int64) -> String = { Figures.grouped($0) }) -> String {
            let days = index == 0 && arrivedDays > 1 ? " in \(arrivedDays) days" : ""
            return values[index].map { format($0) + days } ?? "?"
        }
    }

    /// The names of the figures, as in JSON.
    let names: [String]
    var points: [Point] = []

    /// Adds the figures of a run to those of its day: the first two are sums, the others those of the last run.
    mutating func add(_ point: Point) {
        var point = point
        if let earlier = points.last, earlier.start == point.start {
            point.arrivedDays = earlier.arrivedDays
            for index in 0...1 {
                point.values[index] = point.values[index].flatMap { more in earlier.values[index].map { $0 + more } }
            }
            points.removeLast()
        }
        points.append(point)
    }

    /// The known values of a name.
    func values(_ index: Int) -> [(instant: Instant, value: Int64)] {
        points.compactMap { point in point.values[index].map { (point.start, $0) } }
    }

    func sum(_ index: Int) -> Int64 { values(index).reduce(0) { $0 + $1.value } }

    /// How a figure has changed up to its last value, which may be that of now: `+120 a day (+12% in 30 days)`, and whether it grew by a tenth
    /// or more and still does. It is measured from a week before if it grew by a tenth in that week, otherwise from the first value. Nil: the
    /// values span less than a week.
    func growth(
        _ index: Int, now: Instant, last: Int64? = nil, _ format: (Int64) -> String
    ) -> (text: String, isLarge: Bool)? {
        let known = values(index) + (last.map { [(now, $0)] } ?? [])
        guard let oldest = known.first, let last = known.last else { return nil }
        func age(_ start: Instant) -> Int64 { Figures.days(last.instant.since(start)) }
        func isLarge(_ value: Int64) -> Bool { value > 0 && last.value - value >= (value + 9) / 10 }
        guard let week = known.last(where: { age($0.instant) >= 7 }) else { return nil }
        let first = isLarge(week.value) ? week : oldest
        guard first.value > 0 else { return nil }
        let (change, days) = (last.value - first.value, age(first.instant))
        func signed(_ value: Int64, _ text: String) -> String { value > 0 ? "+" + text : text }
        func rounded(_ value: Int64, by divisor: Int64) -> Int64 {
            (value * 2 + (value < 0 ? -divisor : divisor)) / (divisor * 2)
        }
        let (aDay, percent) = (rounded(change, by: days), rounded(change * 100, by: first.value))
        let share = signed(percent, "\(percent)% in \(days) days")
        // What has not grown for a week grows no more.
        return ("\(signed(aDay, format(aDay))) a day (\(share))", last.value > week.value && isLarge(first.value))
    }

    var json: JSONText {
        .array(
            points.map { point in
                .object(
                    [.init("from", point.start.json), .init("before", point.end.json)]
                        + zip(names, point.values).map { .init($0, $1.json) })
            })
    }

    /// Counts the rows of a rule by their dates, and those before the cutoff: a point for each calendar day, or for each of some days, up to
    /// today, which is a point of its own. Each takes a count: there are about 30 with an index on the date, otherwise about 8, because each
    /// count reads all rows. Of a refused rule no index is known. Empty: the rule has no readable rows in the report of a dry run.
    package static func dates(
        _ rule: Rule, _ report: RunReport.RuleReport, now: Instant, zone: CalendarZone, _ reader: any StoreReader
    ) throws(StoreError) -> Series {
        var series = Series(names: ["rows", "before_cutoff"])
        guard let date = rule.date(zone: zone), let oldest = report.planned.oldest, let newest = report.planned.newest
        else { return series }
        func count(_ from: Instant, _ before: Instant?) throws(StoreError) -> Int64 {
            let range = DateRange(date, from: from, before: before)
            return Int64(
                try reader.count(StoreFetchRequest(entity: rule.entity, predicate: .date(range) && rule.rows)))
        }
        let most = report.method.index == nil ? 8 : 30
        let starts = starts(oldest: oldest, cutoff: report.cutoff, now: now, most: most, zone: zone)
        for (start, end) in zip(starts, starts.dropFirst()) {
            // A value may represent a span that ends after today.
            let rows = try count(start, end == starts.last && newest < end ? nil : end)
            let isCut = start < report.cutoff && report.cutoff < end
            let before = isCut ? try count(start, report.cutoff) : end <= report.cutoff ? rows : 0
            series.points.append(Point(start: start, end: end, values: [rows, before]))
        }
        return series
    }

    /// The starts of the points, and the end of today. All points but today have the same number of days.
    static func starts(oldest: Instant, cutoff: Instant, now: Instant, most: Int, zone: CalendarZone) -> [Instant] {
        func day(_ instant: Instant) -> Int { zone.civil(of: instant).date.dayNumber }
        let today = day(now)
        var span = max(0, today - day(oldest))
        // The cutoff is shown if that does not squeeze the rows into a corner.
        let age = today - day(cutoff)
        if age > span, age <= 2 * max(span, 15) { span = age }
        let size = max(1, (span + most - 1) / most)
        let days = (0...(span + size - 1) / size).reversed().map { today - $0 * size } + [today + 1]
        return days.map { zone.startOfDay(CivilDate(dayNumber: $0)) }
    }
}
