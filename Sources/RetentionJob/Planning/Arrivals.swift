import PriceStore
import RetentionPolicy

/// Whether rows arrive for a rule: one that matches no row, or gets no new ones, is probably not what its author wanted.
enum Arrivals {
    private static let day: Int64 = 86_400_000_000
    /// How many gaps between rows are looked at.
    private static let mostGaps = 9

    /// A warning about a rule; nil: rows arrive, or that cannot be judged.
    ///
    /// A gap is the time from a row to the newest row that is more than a day older. The usual gap is the longest of the newest
    /// nine gaps; with fewer than two there is none. So the shortest usual gap is a day, and a rule whose newest row is at most three days
    /// old costs nothing.
    ///
    /// - Parameter now: the instant at which ages are computed, but not later than the clock.
    static func warning(
        _ rule: Rule, _ request: SurveyRequest, _ survey: Survey, now: Instant, reader: any RetentionReader
    ) throws(StoreError) -> Plan.Warning? {
        guard survey.unsupported == nil else { return nil }
        if rule.filter != .all, survey.newest == nil, survey.newestOfEntity != nil {
            let isMatched: Bool
            if let rowCount = survey.rowCount {
                isMatched = rowCount > 0
            } else {
                let rows = StoreFetchRequest(entity: request.entity, predicate: rule.filter, fetchLimit: 1)
                isMatched = try reader.count(rows) > 0
            }
            return isMatched
                ? nil
                : Plan.Warning(
                    title: "no row matches",
                    text: "\(rule.name) deletes nothing, because no row of \(rule.entity) matches its `where`")
        }
        guard let newest = survey.newest else { return nil }
        let age = now.since(newest).wholeMicroseconds
        guard age > 3 * day, let usual = try usualGap(before: newest, below: age / 3, request, reader),
            age > 3 * usual.longest
        else { return nil }
        return Plan.Warning(
            title: "no new rows",
            text: "the newest row of \(rule.name) in \(rule.entity) is dated \(Figures.instant(newest.toSecond)), "
                + "\(days(age)) ago, more than three times the longest of its last \(usual.count) gaps (\(days(usual.longest))). "
                + "Do new rows still arrive?")
    }

    /// The longest of the newest gaps and their number; nil: there are fewer than two, or one is at least as long as a bound.
    private static func usualGap(
        before newest: Instant, below bound: Int64, _ request: SurveyRequest, _ reader: any RetentionReader
    ) throws(StoreError) -> (longest: Int64, count: Int)? {
        var (later, longest, count) = (newest, Int64(0), 0)
        while count < mostGaps {
            let old = DateRange(request.date, before: later.advanced(byMicroseconds: -day))
            let rows = StoreFetchRequest(
                entity: request.entity, predicate: .date(old) && request.filter,
                sortDescriptors: [StoreSortDescriptor(request.date.name, ascending: false)], fetchLimit: 1)
            guard let value = try reader.fetch(rows, attributes: [request.date.name]).first?.first,
                let earlier = request.date.encoding.read(value, zone: request.date.zone).start
            else { break }
            let gap = later.since(earlier).wholeMicroseconds
            guard gap < bound else { return nil }
            (later, longest, count) = (earlier, max(longest, gap), count + 1)
        }
        return count < 2 ? nil : (longest, count)
    }

    private static func days(_ microseconds: Int64) -> String { Figures.count(Int(microseconds / day), "day") }
}
