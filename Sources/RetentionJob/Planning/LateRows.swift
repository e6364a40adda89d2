package import PriceStore
import RetentionPolicy

/// Expired rows older than the cutoff before which an earlier run left none.
package struct LateRows: Sendable {
    package var rowCount = 0
    package var oldest: Instant?
    package var newest: Instant?
    /// The run that had left none.
    package var run: String
    package var cutoff: Instant
    /// The limit; nil: not needed.
    package var limit: Int?

    /// - Parameter past: the rules that had left none, at least one. No row was of two of them.
    init(
        _ past: [RunMemory.CarriedOut], _ step: Plan.Step, _ request: SurveyRequest, _ entity: Entity,
        asOf: Instant, reader: any RetentionReader
    ) throws {
        let past = past.sorted { $0.cutoff > $1.cutoff }
        (run, cutoff) = (past[0].run, past[0].cutoff)
        let survey = step.survey
        guard survey.expiredCount > 0 else { return }
        for former in past where survey.dates.oldest.map({ $0 < former.cutoff }) != false {
            guard
                let before = former.record.request(
                    in: entity, asOf: asOf, before: former.cutoff, holds: request.keepers.holds)
            else { continue }
            let found = try request.narrowed(to: before.expired, reader, related: true)
            // Rows that `keep_last`, `thin` and holds kept may be expired by now: as many as they no longer keep.
            let kept = former.keptCount == 0 ? 0 : try former.keptCount(request, before.date, reader)
            let released = max(0, former.keptCount - kept)
            let count = max(0, found.expiredCount - released)
            guard count > 0 else { continue }
            if rowCount == 0 { (run, cutoff) = (former.run, former.cutoff) }
            // It is unknown which related rows are deleted with rows no longer kept.
            rowCount += count + (released == 0 ? found.related.cascadedCount : 0)
            oldest = [oldest, found.dates.oldest].compactMap(\.self).min()
            newest = [newest, found.dates.newestExpired].compactMap(\.self).max()
        }
        guard rowCount > 0 else { return }
        if rowCount > Rule.Limits.lateRows {
            let rows =
                try survey.rowCount ?? reader.count(StoreFetchRequest(entity: entity.name, predicate: request.filter))
            limit = max(Rule.Limits.lateRows, rows / 100)
        }
        limit = step.rule.limits.maxLateRows ?? limit
    }
}

extension RunMemory.CarriedOut {
    /// How many rows before the former cutoff `keep_last`, `thin` and holds keep now.
    fileprivate func keptCount(
        _ request: SurveyRequest, _ date: DateAttribute, _ reader: any RetentionReader
    ) throws -> Int {
        let found = try request.narrowed(to: record.rule.rows && .date(DateRange(date, before: cutoff)), reader)
        return found.kept.byRuleCount + found.kept.heldCount
    }
}
