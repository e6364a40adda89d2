import PriceStore
import RetentionPolicy

extension Plan {
    /// Counts the rows that a rule will delete soon and that no rule deletes now; nil: the rule was not surveyed.
    ///
    /// - Parameters:
    ///   - clock: the system clock, by which holds end.
    ///   - due: when the next run is due; nil: the rows up to then are not counted.
    func forecast(
        of index: Int, asOf: Instant, clock: Instant, due: Instant? = nil, zone: CalendarZone,
        reader: any RetentionReader
    ) throws -> Forecast? {
        guard let request = steps[index].surveyRequest, steps[index].survey.unsupported == nil else { return nil }
        let day: Int64 = 86_400_000_000
        /// The request of a rule some microseconds later.
        func later(_ request: SurveyRequest, of step: Step, by time: Int64) -> SurveyRequest {
            var request = request
            let asOf = asOf.advanced(byMicroseconds: time)
            request.cutoff = step.rule.cutoff(asOf: asOf, zone: zone)
            together.keepRows(&request, of: step.rule, asOf: asOf)
            let then = clock.advanced(byMicroseconds: time)
            let ended = Set(holds.inForce.map(\.hold).filter { $0.hasEnded(at: then) }.map(\.name))
            request.keepers.holds.removeAll { ended.contains($0.name) }
            return request
        }
        // Rules on other rows are left out: with a thousand rules, building their conditions would cost more than the counts.
        let related: [(place: Int, step: Step, request: SurveyRequest)] = steps.enumerated().compactMap { place, step in
            guard let own = step.surveyRequest, own.entity == request.entity, step.survey.unsupported == nil,
                !request.filter.isDisjoint(from: step.rule.rows)
            else { return nil }
            return (place, step, own)
        }
        func count(from first: Int64, to last: Int64) throws -> Int {
            let now = later(request, of: steps[index], by: first)
            let then = later(request, of: steps[index], by: last)
            // Rows before the current cutoff are deleted now, or are kept in any case unless a tier or a hold keeps them only for some time.
            let isReleased =
                steps[index].rule.thin != nil || !request.keepers.others.isEmpty
                || then.keepers.holds != now.keepers.holds
            let others =
                related.filter { isReleased || $0.place != index }.map { later($0.request, of: $0.step, by: first) }
                + related.filter { $0.place < index }.map { later($0.request, of: $0.step, by: last) }
            let rows = StoreFetchRequest(
                entity: request.entity, predicate: then.expired(from: isReleased ? nil : now.cutoff))
            return try reader.count(rows.besides(others.map(\.expired)))
        }
        var forecast = Forecast(nextDay: try count(from: 0, to: day), nextWeek: try count(from: day, to: 8 * day))
        if let due, due > asOf { forecast.untilDue = try count(from: 0, to: due.since(asOf).wholeMicroseconds) }
        return forecast
    }
}

extension Plan.Step {
    /// Up to `count` of the oldest and of the newest rows that would be deleted, and of the first rows that stay; nil: the rule was not
    /// surveyed.
    func sample(_ count: Int, before earlier: ArraySlice<Plan.Step>, reader: any RetentionReader) throws -> RowSample? {
        guard let request = surveyRequest, survey.unsupported == nil,
            let entity = try reader.entity(named: request.entity)
        else { return nil }
        var sample = RowSample(columns: entity.attributes.map(\.name))
        let others = earlier.compactMap(\.request).filter { $0.entity == request.entity }.map(\.expired)
        func rows(_ predicate: StorePredicate, from offset: Int = 0, _ limit: Int) throws -> [[StoreValue]] {
            var rows = StoreFetchRequest(entity: request.entity, predicate: predicate).besides(others)
            rows.sortDescriptors = [StoreSortDescriptor(request.date.name)]
            (rows.fetchLimit, rows.fetchOffset) = (limit, offset)
            return limit > 0 ? try reader.fetch(rows, attributes: sample.columns) : []
        }
        sample.oldest = try rows(request.expired, count)
        // Rows of one date are in key order: only their place in that order distinguishes them.
        let left = min(count, survey.expiredCount - sample.oldest.count)
        sample.newest = try rows(request.expired, from: survey.expiredCount - left, left)
        let stays = StorePredicate.date(DateRange(request.date)) && request.filter
        sample.kept = try rows(
            stays && .notTrue(.date(DateRange(request.date, before: request.cutoff))), count)
        return sample
    }
}
