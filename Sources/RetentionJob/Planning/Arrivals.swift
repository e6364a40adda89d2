import PriceStore
import RetentionPolicy

/// Whether rows arrive: a rule that has never matched a row, and an entity that gets no new ones, are probably not what the author of
/// the policy wanted.
enum Arrivals {
    private static let day: Int64 = 86_400_000_000
    /// How many gaps between rows are looked at.
    private static let mostGaps = 9
    /// How many warnings of a kind have a line of their own; more are one line.
    private static let mostLines = 3
    /// How many names such a line has.
    private static let mostNames = 10

    /// Warnings about the rules of a plan, and about their entities.
    ///
    /// Rules for candles are left out: their newest candle is as old as the `max_age` of its rows.
    ///
    /// - Parameter now: the instant at which ages are computed, but not later than the clock.
    static func warnings(
        _ plan: Plan, _ policy: Policy, _ memory: RunMemory, now: Instant, reader: any RetentionReader
    ) throws(StoreError) -> [Plan.Warning] {
        let steps = plan.steps.filter {
            $0.survey.unsupported == nil && $0.survey.newestOfEntity != nil && !policy.makesCandles($0.rule.entity)
        }
        return withoutMatches(steps, memory) + (try withoutNewRows(steps, now, reader))
    }

    // MARK: Rules that match no row

    /// Whether a row matches the `where` of a rule, readable or not. Another query is needed only where the survey leaves rows out
    /// that other rules delete.
    static func isMatched(
        _ rule: Rule, _ request: SurveyRequest, _ survey: Survey, reader: any RetentionReader
    ) throws(StoreError) -> Bool {
        if survey.newest != nil || survey.unreadableCount > 0 { return true }
        guard request.filter != rule.filter, survey.newestOfEntity != nil else { return false }
        return try reader.count(
            StoreFetchRequest(entity: request.entity, predicate: rule.filter, fetchLimit: 1)) > 0
    }

    private static func withoutMatches(_ steps: [Plan.Step], _ memory: RunMemory) -> [Plan.Warning] {
        let steps = steps.filter { !$0.isMatched && $0.record.map(memory.hasMatched) == false }
        let title = "no row matches"
        guard steps.count > mostLines, let first = steps.first else {
            return steps.map {
                Plan.Warning(
                    title: title,
                    text: "\($0.rule.name) deletes nothing, because no row of \($0.rule.entity) matches its `where`",
                    mark: $0.rule.marks.value("entity"))
            }
        }
        return [
            Plan.Warning(
                title: title,
                text: "\(Figures.count(steps.count, "rule")) delete nothing, because no row matches their `where`: "
                    + list(steps.map(\.rule.name)),
                mark: first.rule.marks.value("entity"))
        ]
    }

    // MARK: Entities without new rows

    /// An entity whose newest row is older than three times its usual gap.
    private struct Stale {
        /// One of its rules.
        var rule: Rule
        var newest: Instant
        /// How long ago that was, and the usual gap, in microseconds.
        var age: Int64
        var gap: (longest: Int64, count: Int)
        /// Whether there are newer rows, all in the future.
        var hasFutureRows: Bool
    }

    private static func withoutNewRows(
        _ steps: [Plan.Step], _ now: Instant, _ reader: any RetentionReader
    ) throws(StoreError) -> [Plan.Warning] {
        var seen: Set<String> = []
        var found: [Stale] = []
        for step in steps {
            guard let entity = step.surveyRequest?.entity, seen.insert(entity).inserted else { continue }
            if let stale = try stale(steps.filter { $0.surveyRequest?.entity == entity }, now, reader) {
                found.append(stale)
            }
        }
        let title = "no new rows"
        let question = ". Do new rows still arrive?"
        guard found.count > mostLines, let first = found.first else {
            return found.map {
                Plan.Warning(
                    title: title,
                    text:
                        "the newest row of \($0.rule.entity)\($0.hasFutureRows ? " that is not in the future" : "") is dated "
                        + "\(Figures.instant($0.newest.toSecond)), \(days($0.age)) ago, more than three times the longest of its "
                        + "last \($0.gap.count) gaps (\(days($0.gap.longest)))\(question)",
                    mark: $0.rule.marks.value("entity"))
            }
        }
        return [
            Plan.Warning(
                title: title,
                text: "\(found.count) entities have had no new rows for more than three times their usual gap: "
                    + list(found.map { "\($0.rule.entity) (newest \(Figures.instant($0.newest.toSecond)))" })
                    + question,
                mark: first.rule.marks.value("entity"))
        ]
    }

    /// What is to be said of the entity of some steps; nil: rows arrive, or that cannot be judged.
    ///
    /// A gap is the time from a row to the newest row that is more than a day older. The usual gap is the longest of the newest
    /// nine gaps; with fewer than two there is none. So the shortest usual gap is a day, and an entity whose newest row is at most three
    /// days old costs nothing. Of several dates the one with the newest row decides.
    private static func stale(
        _ steps: [Plan.Step], _ now: Instant, _ reader: any RetentionReader
    ) throws(StoreError) -> Stale? {
        // A row that is dated a day ahead is no future date for the guards either.
        let recent = now.advanced(byMicroseconds: -3 * day)...now.advanced(byMicroseconds: day)
        guard !steps.contains(where: { $0.survey.newestOfEntity.map(recent.contains) == true }) else { return nil }
        var last: (newest: Instant, step: Plan.Step, request: SurveyRequest)?
        var dates: Set<DateAttribute> = []
        for step in steps {
            guard let request = step.surveyRequest, dates.insert(request.date).inserted,
                let ofAll = step.survey.newestOfEntity,
                let newest = ofAll > now ? try self.newest(before: now, request, reader) : ofAll
            else { continue }
            if last.map({ $0.newest < newest }) ?? true { last = (newest, step, request) }
        }
        guard let (newest, step, request) = last else { return nil }
        let age = now.since(newest).wholeMicroseconds
        guard age > 3 * day, let gap = try usualGap(before: newest, below: age / 3, request, reader),
            age > 3 * gap.longest
        else { return nil }
        return Stale(
            rule: step.rule, newest: newest, age: age, gap: gap, hasFutureRows: step.survey.newestOfEntity != newest)
    }

    /// The longest of the newest gaps and their number; nil: there are fewer than two, or one is at least as long as a bound.
    private static func usualGap(
        before newest: Instant, below bound: Int64, _ request: SurveyRequest, _ reader: any RetentionReader
    ) throws(StoreError) -> (longest: Int64, count: Int)? {
        var (later, longest, count) = (newest, Int64(0), 0)
        while count < mostGaps,
            let earlier = try self.newest(before: later.advanced(byMicroseconds: -day), request, reader)
        {
            let gap = later.since(earlier).wholeMicroseconds
            guard gap < bound else { return nil }
            (later, longest, count) = (earlier, max(longest, gap), count + 1)
        }
        return count < 2 ? nil : (longest, count)
    }

    /// The date of the newest row of an entity before an instant; nil: there is none.
    private static func newest(
        before bound: Instant, _ request: SurveyRequest, _ reader: any RetentionReader
    ) throws(StoreError) -> Instant? {
        let rows = StoreFetchRequest(
            entity: request.entity, predicate: .date(DateRange(request.date, before: bound)),
            sortDescriptors: [StoreSortDescriptor(request.date.name, ascending: false)], fetchLimit: 1)
        return try reader.fetch(rows, attributes: [request.date.name]).first?.first.flatMap {
            request.date.encoding.read($0, zone: request.date.zone).start
        }
    }

    // MARK: Words

    private static func days(_ microseconds: Int64) -> String { Figures.count(Int(microseconds / day), "day") }

    /// The first names of a list and the number of the others.
    private static func list(_ names: [String]) -> String {
        let more = names.count - mostNames
        return names.prefix(mostNames).joined(separator: ", ") + (more > 0 ? " and \(Figures.grouped(more)) more" : "")
    }
}
