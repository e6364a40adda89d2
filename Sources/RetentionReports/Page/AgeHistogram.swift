package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// The number of a rule's rows by age. The cutoff is one of the edges.
package struct AgeHistogram: Hashable, Sendable {
    /// The rows of one period.
    package struct Bucket: Hashable, Sendable {
        /// Inclusive.
        package var start: Instant
        /// Exclusive.
        package var end: Instant
        package var rowCount: Int
    }

    package var rule: String
    package var cutoff: Instant
    /// The buckets in order of time, without gaps; empty: the rule has no readable rows.
    package var buckets: [Bucket]

    package init(rule: String, cutoff: Instant, buckets: [Bucket]) {
        self.rule = rule
        self.cutoff = cutoff
        self.buckets = buckets
    }

    /// Counts the rows of a rule by age. Each bucket takes one count: there are about 30 with an index on the date, otherwise about 8,
    /// because each count reads all rows.
    ///
    /// - Parameters:
    ///   - report: the result of the rule in a dry run.
    ///   - zone: the zone of the policy.
    package static func read(
        _ rule: Rule, _ report: RunReport.RuleReport, zone: CalendarZone, _ reader: any StoreReader
    ) throws(StoreError) -> AgeHistogram {
        var histogram = AgeHistogram(rule: rule.name, cutoff: report.cutoff, buckets: [])
        guard let date = rule.date(zone: zone), let oldest = report.planned.oldest, let newest = report.planned.newest
        else {
            return histogram
        }
        let edges = edges(
            oldest: oldest, newest: newest, cutoff: report.cutoff, count: report.method.index == nil ? 8 : 30)
        for (index, (start, end)) in edges.enumerated() {
            // The newest value may represent a span that ends after the last edge.
            let inside = DateRange(date, from: start, before: index == edges.count - 1 ? nil : end)
            let count = try reader.count(
                StoreFetchRequest(entity: rule.entity, predicate: .date(inside) && rule.filter))
            histogram.buckets.append(Bucket(start: start, end: end, rowCount: count))
        }
        return histogram
    }

    /// Periods of one length from the oldest row to the newest, and to the cutoff if that is not far away. The cutoff is an edge.
    static func edges(oldest: Instant, newest: Instant, cutoff: Instant, count: Int) -> [(Instant, Instant)] {
        let range = max(Int128(newest.microseconds) - Int128(oldest.microseconds), 60_000_000)
        // A cutoff far from all rows would squeeze them into a corner.
        let (low, high) = (Int128(oldest.microseconds) - range, Int128(newest.microseconds) + range)
        let anchor = min(max(Int128(cutoff.microseconds), low), high)
        let first = min(Int128(oldest.microseconds), anchor)
        let last = max(Int128(newest.microseconds), anchor)
        let width = max((last - first) / Int128(count), 1_000_000)
        func floorDivided(_ a: Int128) -> Int128 { a >= 0 ? a / width : -((-a + width - 1) / width) }
        let from = floorDivided(first - anchor)
        let through = floorDivided(last - anchor)
        guard through >= from else { return [] }
        return (from...through).map { step in
            let start = anchor + step * width
            return (
                Instant(microseconds: Int64(clamping: start)), Instant(microseconds: Int64(clamping: start + width))
            )
        }
    }
}
