import PriceStore
import RetentionPolicy

/// Warns where rows do not arrive: a rule that has never matched a row, or an entity without new rows, is probably not what the author of
/// the policy intended.
enum Arrivals {
    private static let day: Int64 = 86_400_000_000
    /// The most gaps between rows that are considered.
    private static let mostGaps = 9
    /// The most rows of an entity without an index in the order of the dates whose gaps are looked for.
    private static let mostRowsWithoutIndex = 100_000
    /// The most warnings of a kind with a line of their own; more share one line.
    private static let mostLines = 3
    /// The most rows that are read to count silent groups.
    private static let mostSilent = 1000
    /// The most names in such a shared line.
    private static let mostNames = 10

    /// Warnings about the rules of a plan, and about their entities.
    ///
    /// Rules for candles are left out: their newest candle is always as old as the `max_age` of the source rows. So are those for Core
    /// Data's history, to which an app adds nothing while nobody uses it.
    ///
    /// - Parameters:
    ///   - now: the instant at which ages are computed, at most the clock.
    ///   - clock: rows up to it have arrived, also if they are newer than that instant.
    static func warnings(
        _ plan: Plan, _ policy: Policy, _ memory: RunMemory, now: Instant, clock: Instant, reader: any RetentionReader
    ) throws(StoreError) -> [Plan.Warning] {
        let candles = policy.candleEntities
        let steps = plan.steps.filter {
            $0.survey.unsupported == nil && $0.survey.dates.newestOfEntity != nil
                && !candles.contains($0.rule.entity.folded) && $0.rule.entity != Entity.persistentHistory
        }
        return withoutMatches(steps, memory) + (try withoutNewRows(steps, now, clock, reader))
    }

    // MARK: Rules that match no row

    /// Whether a row matches the `where` of a rule, readable or not. Needs another query only where the survey leaves out rows that other
    /// rules delete.
    static func isMatched(
        _ rule: Rule, _ request: SurveyRequest, _ survey: Survey, reader: any RetentionReader
    ) throws(StoreError) -> Bool {
        if survey.dates.newest != nil || survey.unreadableCount > 0 { return true }
        guard request.filter != rule.rows, survey.dates.newestOfEntity != nil else { return false }
        return try reader.count(
            StoreFetchRequest(entity: request.entity, predicate: rule.rows, fetchLimit: 1)) > 0
    }

    private static func withoutMatches(_ steps: [Plan.Step], _ memory: RunMemory) -> [Plan.Warning] {
        let rules = steps.filter { $0.rule.share == nil && !$0.isMatched && $0.record.map(memory.hasMatched) == false }
            .map(\.rule)
        return warnings(
            "no row matches",
            rules.map {
                ($0, "\($0.name) deletes nothing, because no row of \($0.entity) matches its `where`", nil)
            },
            all: "\(Figures.count(rules.count, "rule")) delete nothing, because no row matches their `where`: "
                + list(rules.map(\.name)))
    }

    /// A warning for each of some rules; if they are many, one for all.
    private static func warnings(
        _ title: String, _ found: [(rule: Rule, text: String, since: Instant?)], all: String
    ) -> [Plan.Warning] {
        let newest = found.compactMap(\.since).max()
        let told = found.count > mostLines ? [(found[0].rule, all, newest)] : found
        return told.map { Plan.Warning(title: title, text: $1, mark: $0.marks.value("entity"), since: $2) }
    }

    // MARK: Entities without new rows

    /// An entity whose newest row is older than three times its usual gap, or older than its rules keep rows.
    private struct Stale {
        /// One of its rules; without a usual gap, the rule that keeps rows longest.
        var rule: Rule
        /// The newest row that is not in the future, and its age in microseconds; nil: all rows are in the future.
        var newest: (date: Instant, age: Int64)?
        /// The usual gap in microseconds; nil: there is none, but the newest row is older than the rules keep rows.
        var gap: (longest: Int64, count: Int)?
        /// Whether there are newer rows, all in the future.
        var hasFutureRows: Bool
        /// Since when the newest row is too old; nil: that is not known.
        var since: Instant?

        var date: String { newest.map { Figures.instant($0.date.toSecond) } ?? "in the future" }

        var sentence: String {
            guard let newest else { return "all rows of \(rule.entity) are in the future. \(Self.wayOut(rule))" }
            let row =
                "the newest row of \(rule.entity)\(hasFutureRows ? " that is not in the future" : "") is dated \(date), "
                + "\(days(newest.age)) ago, "
            guard let gap else {
                return row + "and \(rule.name) keeps rows for \(rule.maxAge.written). \(Self.wayOut(rule))"
            }
            return row
                + "more than three times the longest of its last \(gap.count) gaps (\(days(gap.longest)))"
        }

        private static func wayOut(_ rule: Rule) -> String {
            "If none has to come, write allow_empty: true in \(rule.name)"
        }
    }

    private static func withoutNewRows(
        _ steps: [Plan.Step], _ now: Instant, _ clock: Instant, _ reader: any RetentionReader
    ) throws(StoreError) -> [Plan.Warning] {
        var found: [Stale] = []
        let entities = Dictionary(grouping: steps.indices) { steps[$0].surveyRequest?.entity }
        for indices in entities.values.sorted(by: { $0[0] < $1[0] }) {
            if let stale = try stale(indices.map { steps[$0] }, now, clock, reader) { found.append(stale) }
        }
        return lines(found.filter { $0.gap != nil }, "more than three times their usual gap")
            + lines(found.filter { $0.gap == nil }, "longer than their rules keep rows")
    }

    private static func lines(_ found: [Stale], _ time: String) -> [Plan.Warning] {
        warnings(
            "no new rows", found.map { ($0.rule, $0.sentence, $0.since) },
            all: "\(found.count) entities have had no new rows for \(time): "
                + list(found.map { "\($0.rule.entity) (newest \($0.date))" }))
    }

    /// The finding for the entity of some steps; nil: rows arrive, or that cannot be judged.
    ///
    /// A gap is the time from a row to the newest row that is more than a day older. The usual gap is the longest of the newest nine gaps;
    /// with fewer than two there is none. So the shortest usual gap is a day, and an entity whose newest row is at most three days old
    /// costs no query. If rules use several dates, the one with the newest row decides.
    private static func stale(
        _ steps: [Plan.Step], _ now: Instant, _ clock: Instant, _ reader: any RetentionReader
    ) throws(StoreError) -> Stale? {
        // The guards do not count a row dated at most a day ahead as a future date either.
        let recent = now.advanced(byMicroseconds: -3 * day)...clock.advanced(byMicroseconds: day)
        guard !steps.contains(where: { $0.survey.dates.newestOfEntity.map(recent.contains) == true }) else {
            return nil
        }
        var last: (newest: Instant, step: Plan.Step, request: SurveyRequest)?
        var dates: Set<DateAttribute> = []
        for step in steps {
            guard let request = step.surveyRequest, dates.insert(request.date).inserted,
                let ofAll = step.survey.dates.newestOfEntity,
                let newest = ofAll > clock ? try self.newest(before: clock, request, reader) : ofAll
            else { continue }
            if last.map({ $0.newest < newest }) ?? true { last = (newest, step, request) }
        }
        guard let (newest, step, request) = last else {
            return ruleThatMayEmpty(steps, newest: .distantPast).map { Stale(rule: $0.rule, hasFutureRows: true) }
        }
        let age = now.since(newest).wholeMicroseconds
        guard age > 3 * day else { return nil }
        let hasFutureRows = step.survey.dates.newestOfEntity != newest
        let sparse = steps.compactMap(sparseBefore).max() ?? .distantPast
        // Without an index each gap would read all rows.
        var isQuick = step.survey.index.isInDateOrder
        if !isQuick {
            let some = StoreFetchRequest(entity: request.entity, fetchLimit: mostRowsWithoutIndex + 1)
            isQuick = try reader.count(some) <= mostRowsWithoutIndex
        }
        if isQuick, let gap = try usualGap(before: newest, below: age / 3, sparse, request, reader) {
            return Stale(
                rule: step.rule, newest: (newest, age), gap: gap, hasFutureRows: hasFutureRows,
                since: newest.advanced(byMicroseconds: 3 * gap.longest))
        }
        return ruleThatMayEmpty(steps, newest: newest).map {
            // The gaps end at a fixed age, which the newest row has passed.
            Stale(
                rule: $0.rule, newest: (newest, age), hasFutureRows: hasFutureRows,
                since: now.advanced(byMicroseconds: -$0.before.since(newest).wholeMicroseconds))
        }
    }

    /// The instant before which a step has left gaps of more than a day between the rows of its entity; nil: it deletes only some of the
    /// rows, and keeps none of them.
    private static func sparseBefore(_ step: Plan.Step) -> Instant? {
        if let thinning = step.surveyRequest?.keepers.thinning {
            return thinning.tiers.filter { $0.unit.size <= CalendarUnit.day.size }.map(\.since)
                .reduce(step.cutoff, min)
        }
        return step.rule.keepLast != nil || step.rule.rows == .all ? step.cutoff : nil
    }

    /// The rule that keeps rows longest among the steps that leave gaps, if the newest row is older than the end of all these gaps. Without
    /// `keep_last`, `thin`, holds and future rows the entity would then be empty. Nil: it would not be, or a refusal already reports it.
    private static func ruleThatMayEmpty(_ steps: [Plan.Step], newest: Instant) -> (before: Instant, rule: Rule)? {
        let codes: Set<RefusalCode> = [.wouldEmptyEntity, .futureDates]
        guard
            !steps.contains(where: {
                $0.rule.allowEmpty || $0.rule.accept.contains(.wouldEmptyEntity)
                    || $0.refusals.contains { codes.contains($0.code) }
            })
        else { return nil }
        let longest = steps.compactMap { step in sparseBefore(step).map { (before: $0, rule: step.rule) } }
            .min { $0.before < $1.before }
        return longest.flatMap { newest < $0.before ? $0 : nil }
    }

    /// The longest of the newest gaps and their number; nil: there are fewer than two, or one is at least as long as the bound.
    ///
    /// - Parameter sparse: the instant before which rules have left gaps; a long gap before it ends the search.
    private static func usualGap(
        before newest: Instant, below bound: Int64, _ sparse: Instant, _ request: SurveyRequest,
        _ reader: any RetentionReader
    ) throws(StoreError) -> (longest: Int64, count: Int)? {
        var (later, longest, count) = (newest, Int64(0), 0)
        while count < mostGaps,
            let earlier = try self.newest(before: later.advanced(byMicroseconds: -day), request, reader)
        {
            let gap = later.since(earlier).wholeMicroseconds
            if gap >= bound {
                guard earlier < sparse else { return nil }
                break
            }
            (later, longest, count) = (earlier, max(longest, gap), count + 1)
        }
        return count < 2 ? nil : (longest, count)
    }

    /// The groups of `keep_last` that would lose rows and whose newest row is older than the rule's silence; nil: there are none, or this is
    /// the first run.
    static func silentGroups(
        _ step: Plan.Step, _ memory: RunMemory, now: Instant, reader: any RetentionReader
    ) throws(StoreError) -> SilentGroups? {
        guard memory.lastRun != nil, step.survey.expiredCount > 0,
            let request = step.surveyRequest, let own = request.keepers.keepLast, !own.groupedBy.isEmpty
        else { return nil }
        let date = request.date
        let since = memory.silence(step.rule, clock: now, zone: date.zone).since
        // A row in the future says nothing about its feed.
        let past = own.among && .date(DateRange(date, before: now.advanced(byMicroseconds: 1)))
        let newest = KeepLast(count: 1, groupedBy: own.groupedBy, among: past, date: date)
        let rows = StoreFetchRequest(
            entity: request.entity,
            predicate: own.among && .date(DateRange(date, before: since)) && .notTrue(.notKept(newest)),
            sortDescriptors: [StoreSortDescriptor(date.name, ascending: false)], fetchLimit: mostSilent)
        var silent = SilentGroups()
        // Of several rows with the newest date of their group each is found.
        var seen: Set<ArraySlice<StoreValue>> = []
        let found = try reader.fetch(rows, attributes: own.groupedBy + [date.name])
        guard !found.isEmpty else { return nil }
        silent.isCut = found.count == mostSilent
        let expired = StoreFetchRequest(entity: request.entity, predicate: request.expired)
        let losing: Set<ArraySlice<StoreValue>> = Set(
            try reader.figures([.count], of: expired, groupedBy: own.groupedBy).map { $0.dropLast() })
        for values in found where losing.contains(values.dropLast()) && seen.insert(values.dropLast()).inserted {
            silent.count += 1
            guard silent.newest.count < mostLines, let last = values.last,
                let start = date.encoding.read(last, zone: date.zone).start
            else { continue }
            let names = zip(own.groupedBy, values).map { "\($0) \(SafeText.example($1))" }
            silent.newest.append((names.joined(separator: ", "), start))
        }
        return silent.count > 0 ? silent : nil
    }

    /// The date of the newest row of an entity before an instant; nil: there is none.
    private static func newest(
        before bound: Instant, _ request: SurveyRequest, among filter: StorePredicate = .all,
        _ reader: any RetentionReader
    ) throws(StoreError) -> Instant? {
        let rows = StorePredicate.date(DateRange(request.date, before: bound)) && filter
        return try reader.firstDate(
            request.date, of: StoreFetchRequest(entity: request.entity, predicate: rows), ascending: false)
    }

    /// The date of the newest row of a rule that is not in the future; nil: there is none.
    static func newest(
        _ survey: Survey, of request: SurveyRequest, clock: Instant, reader: any RetentionReader
    ) throws(StoreError) -> Instant? {
        guard let newest = survey.dates.newest, newest > clock else { return survey.dates.newest }
        return try self.newest(before: clock.advanced(byMicroseconds: 1), request, among: request.filter, reader)
    }

    // MARK: Words

    private static func days(_ microseconds: Int64) -> String { Figures.count(Int(microseconds / day), "day") }

    /// The first names of a list and the number of the others.
    private static func list(_ names: [String]) -> String {
        let more = names.count - mostNames
        return names.prefix(mostNames).joined(separator: ", ") + (more > 0 ? " and \(Figures.grouped(more)) more" : "")
    }
}
