import PriceStore
import RetentionJob
import RetentionPolicy

extension Review {
    /// What came and went of each rule on each day with a run: `arrived`, `deleted`, and after the last run of the day the `rows`, and the
    /// expired ones that were `left`; unknown if the rule was undone.
    ///
    /// Arrivals are the difference between what a run found and what the run before left, maybe days before: rows that other programs have
    /// deleted are missing from them. They are not known if something else may have changed the rows or the rule: an undo, a crash, another
    /// policy, or another rule that deleted such rows. What a run deleted whose day is not known is on no day.
    mutating func findDays() {
        var found: [String: Series] = [:]
        var last: [String: (rows: Int64, rule: String, start: Instant)] = [:]
        let (names, sharing) = (Set(policy.rules.map(\.name)), self.sharing)
        let ownNumbers = Set(runs.map(\.number))
        func add(_ point: Series.Point, _ name: String) {
            found[name, default: Series(names: Self.dayFigures)].add(point)
        }
        let (begun, undated) = (Dictionary(firstOf: begun.map { ($0.run.number, $0.at) }), undatedRuns)
        for run in (recentRuns + others).sorted(by: { $0.number < $1.number }) {
            let isOwn = ownNumbers.contains(run.number)
            let rules = run.report.rules.filter { isOwn && $0.outcome != .disabled && names.contains($0.name) }
            let taken = rulesTaken(by: run, isOwn: isOwn, sharing)
            let start = policy.timezone.start(of: .day, at: begun[run.number] ?? run.report.started)
            let end = policy.timezone.buckets(of: .day, from: start, through: start).last ?? start
            if run.report.undo != nil {
                let changed = rulesChanged(by: run)
                last = last.filter { !changed.contains($0.key) }
            } else if !run.isFinished {
                let present = Set(rules.map(\.name))
                last = last.filter { present.contains($0.key) }
            }
            // What a run without an end has deleted is not known.
            let isDated = !undated.contains(run.number)
            if isOwn, isDated, !run.isFinished, run.report.undo == nil {
                let only = run.report.onlyRules
                for rule in policy.rules where rule.isEnabled {
                    guard only.isEmpty || only.contains(rule.name) || only.contains(rule.family?.name ?? "") else {
                        continue
                    }
                    add(.init(start: start, end: end, values: [nil, nil, nil, nil]), rule.name)
                }
            }
            for figures in rules {
                let name = figures.name
                let rows = figures.planned.rows.map { Int64($0) }
                // An earlier version recorded only which policy it was.
                let (before, rule) = (last[name], figures.ruleSHA256 ?? run.report.configSHA256)
                let arrived = before?.rule == rule ? rows.flatMap { rows in before.map { rows - $0.rows } } : nil
                let isUndone = run.undoneBy?.rules.contains(name) == true
                guard isDated else {
                    undatedDeleted[name, default: 0] += isUndone ? 0 : Int64(figures.done.deleted)
                    last[name] = before.flatMap {
                        $0.rule == rule ? ($0.rows - Int64(figures.done.deleted), rule, $0.start) : nil
                    }
                    continue
                }
                var day = [arrived.flatMap { $0 < 0 ? nil : $0 }, isUndone ? 0 : Int64(figures.done.deleted), nil, nil]
                let left = rows.map { $0 - Int64(figures.done.deleted) }
                let isTaken = taken.contains(name)
                // An undo brings back the rows of its rules, also those of this one that they took, and one that was stopped perhaps others.
                let isBack = run.undoneBy.map { isUndone || $0.wasInterrupted || isTaken } ?? false
                if !isBack {
                    day[2] = isTaken ? nil : left
                    day[3] = figures.planned.isCounted && run.isFinished ? Int64(figures.left.expired) : nil
                }
                var point = Series.Point(
                    start: start, end: end, values: day, isRefused: figures.outcome == .refused)
                point.arrivedDays = before.map { max(1, dayNumber(start) - dayNumber($0.start)) } ?? 1
                add(point, name)
                last[name] = left.map { ($0, rule, start) }
            }
            last = last.filter { !taken.contains($0.key) }
        }
        days = found
    }

    /// The numbers of the runs whose day is not known: their date may be wrong, or is a day after that of a later run.
    var undatedRuns: Set<Int> {
        var (found, next): (Set<Int>, Instant) = ([], plan.asOf)
        for (at, isDated, run) in runs.begun(now: plan.asOf).reversed() {
            if isDated, dayNumber(at) <= dayNumber(next) { next = at } else { found.insert(run.number) }
        }
        return found
    }

    /// By the name and the entity of each rule, the other rules that may match the same rows.
    private var sharing: [[String]: Set<String>] {
        Dictionary(grouping: policy.rules, by: \.entity.folded).reduce(into: [:]) { found, entity in
            for rule in entity.value {
                let others = entity.value.filter { $0.name != rule.name && !$0.rows.isDisjoint(from: rule.rows) }
                found[[rule.name, entity.key]] = Set(others.map(\.name))
            }
        }
    }

    /// The rules of which others have, or may have, taken rows in a run. What the rules of other policies match is not known.
    private func rulesTaken(by run: LedgerRun, isOwn: Bool, _ sharing: [[String]: Set<String>]) -> Set<String> {
        var taken: Set<String> = []
        for taker in run.report.rules where taker.done.goneCount > 0 {
            let (entity, takesOthers) = (taker.entity.folded, taker.done.goneCount > taker.done.deleted)
            let shared = isOwn ? sharing[[taker.name, entity]] : nil
            if let shared, taker.done.deleted > 0 { taken.formUnion(shared) }
            guard shared == nil || takesOthers else { continue }
            for rule in policy.rules {
                let isTaken =
                    shared == nil
                    ? takesOthers || rule.entity.folded == entity
                    : rule.name != taker.name && mayReach(rule.entity, taker)
                if isTaken { taken.insert(rule.name) }
            }
        }
        return taken
    }

    /// Whether what a rule took with its rows may be of an entity. A trigger may delete rows of any.
    private func mayReach(_ entity: String, _ taker: RunReport.RuleReport) -> Bool {
        !taker.done.byTriggers.isEmpty || reached[taker.name]?.contains(entity.folded) != false
    }

    /// The rules whose numbers of rows an undo may have changed: those of the entities of which it restored rows, or took candles back.
    /// All, if it is not known what the undone run or triggers did.
    private func rulesChanged(by undo: LedgerRun) -> Set<String> {
        let figures = undo.report.undo
        let names = Set(figures?.rules ?? [])
        let undone = (runs + others).last { $0.report.runID == figures?.run }
        let rules = undone?.report.rules.filter { names.contains($0.name) } ?? []
        let firesTriggers = figures?.triggers.isEmpty == false && figures?.triggerChoice != .skip
        guard undo.isFinished, undone?.isFinished == true, !firesTriggers, !rules.isEmpty, rules.count == names.count
        else { return Set(policy.rules.map(\.name)) }
        func changes(_ entity: String, _ rule: RunReport.RuleReport) -> Bool {
            let isTaker = rule.done.goneCount > rule.done.deleted
            let hasCandles = (rule.candles.created ?? 0) + (rule.candles.changed ?? 0) > 0
            return rule.entity.folded == entity.folded || isTaker && mayReach(entity, rule)
                || hasCandles && policy.rules.first { $0.name == rule.name }?.makes(entity) != false
        }
        return Set(policy.rules.filter { own in rules.contains { changes(own.entity, $0) } }.map(\.name))
    }

    static let dayFigures = ["arrived", "deleted", "rows", "left"]
}
