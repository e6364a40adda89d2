package import PriceStore
package import RetentionPolicy

/// What each rule of a plan says about one row: whether and when it goes, and what keeps it.
package struct RowExplanation {
    /// What one rule says.
    package struct Verdict {
        package var rule: String
        /// The date of the row as it is stored, and as the rule reads it; nil: the rule is about other rows.
        package var date: String?
        /// The cutoff of the rule, now.
        package var cutoff: Instant
        /// What happens to the row, as a sentence without a full stop.
        package var text: String
    }

    /// In the order of the plan.
    package private(set) var verdicts: [Verdict] = []

    /// Explains a row.
    ///
    /// - Parameters:
    ///   - row: a condition that only this row meets.
    ///   - lastRun: when the last run of all rules began; nil: none is recorded.
    ///   - failure: why a run would fail now; nil: it would not.
    package init(
        of row: StorePredicate, in entity: Entity, plan: Plan, policy: Policy, asOf: Instant, lastRun: Instant? = nil,
        failure: String? = nil, reader: any RetentionReader
    ) throws {
        func matches(_ condition: StorePredicate) throws -> Bool {
            try reader.count(StoreFetchRequest(entity: entity.name, predicate: row && condition, fetchLimit: 1)) > 0
        }
        func end(ofHold name: String) -> String {
            guard let end = plan.holds.expiry(of: name) else { return "" }
            let run = Self.nextRun(after: end, lastRun, policy)
            return " until \(Figures.instant(end)); \(run) deletes it unless something else keeps it"
        }
        var deleter: String?
        for step in plan.steps where step.rule.entity.folded == entity.name.folded {
            let rule = step.rule
            let rows = StoreFetchRequest(entity: entity.name, predicate: row)
            guard let date = rule.date(zone: policy.timezone),
                let value = try reader.fetch(rows, attributes: [date.name]).first?.first
            else { continue }
            var verdict = Verdict(
                rule: rule.name, date: "\(rule.dateAttribute) is \(SafeText.example(value))", cutoff: step.cutoff,
                text: "")
            // A row expires when all of its day, month or year is before the cutoff.
            var last: Instant?
            if case .span(let start, let end) = date.encoding.read(value, zone: date.zone) {
                last = max(start, end.advanced(byMicroseconds: -1))
                verdict.date? += ", " + Figures.instant(start) + (last == start ? "" : " to \(Figures.instant(end))")
            }
            if !rule.isEnabled {
                (verdict.text, verdict.date) = ("the rule is disabled", nil)
            } else if !(try matches(rule.filter)) {
                (verdict.text, verdict.date) = ("the row does not match its `where`", nil)
            } else if let share = rule.share, !(try matches(share.rows)) {
                (verdict.text, verdict.date) = ("the row has a value of \(share.attribute) with another age", nil)
            } else if !(try matches(.readable(date))) {
                verdict.text = "stays, because its date cannot be read: \(Self.trouble(value, date).reportPhrase)"
            } else if let request = step.surveyRequest {
                let isPriced = try rule.isPriced(date).map(matches) ?? true
                if isPriced, !(try matches(request.filter)) {
                    verdict.text = "is left to another rule of the entity"
                } else if let last, !(try matches(.date(DateRange(date, before: step.cutoff)))) {
                    let keeper = try Self.laterKeeper(request, entity, matches)
                    verdict.text =
                        Self.expiry(of: last, rule, after: asOf, policy.timezone).map { end in
                            let run = Self.nextRun(after: end, lastRun, policy)
                            return
                                "stays; it expires at \(Figures.instant(end)), and \(run) deletes it unless \(keeper) keeps it"
                        } ?? "stays; it does not expire within 300 years"
                } else if !isPriced {
                    verdict.text = "is expired and stays: it has no price"
                } else if let keeper = try Self.keeper(request, matches, plan.holds.expiry, until: end(ofHold:)) {
                    verdict.text = "is expired and stays: \(keeper)"
                } else if let refusal = step.refusals.first {
                    verdict.text = "is expired, and the rule deletes nothing now (\(refusal.code.rawValue))"
                } else if let failure {
                    verdict.text = "is expired; a run now would fail: \(failure)"
                } else if let deleter {
                    verdict.text = "is expired; \(deleter) deletes it before"
                } else {
                    let due = Self.run(after: asOf, lastRun, policy).map { ", which is due at \($0)," } ?? ""
                    verdict.text = "is expired; the next run\(due) deletes it"
                    if step.disposition == .planned { deleter = rule.name }
                }
            } else {
                verdict.text = "is not judged: \(step.refusals.first?.message ?? "the rule was not surveyed")"
            }
            verdicts.append(verdict)
        }
    }

    /// Why a rule cannot read a date, as a survey counts it.
    private static func trouble(_ value: StoreValue, _ date: DateAttribute) -> Survey.Unreadable {
        if [.integer(0), .real(0)].contains(value), !date.trustsZero { return .sentinel }
        switch date.encoding.read(value, zone: date.zone) {
        case .unreadable(let reason): return reason
        case .span(let start, _): return start < date.earliest ? .beforeEarliest : .afterLatest
        }
    }

    /// What may keep a row once it is expired.
    private static func laterKeeper(
        _ request: SurveyRequest, _ entity: Entity, _ matches: (StorePredicate) throws -> Bool
    ) throws -> String {
        let keepers = request.keepers
        if let hold = try keepers.holds.first(where: { try $0.entity == entity.name && matches($0.rows) }) {
            return "the hold '\(hold.name)' still"
        }
        let names: [String] =
            (keepers.keepLast == nil ? [] : ["keep_last"]) + (keepers.thinning == nil ? [] : ["thin"])
            + (keepers.others.isEmpty ? [] : ["another rule"])
        return names.isEmpty ? "something" : names.listed("or")
    }

    /// What by itself keeps an expired row that the rule does not leave to another one, as a clause; nil: nothing.
    ///
    /// - Parameters:
    ///   - expiry: when the hold of a name ends; nil: never.
    ///   - end: what happens then, to follow its name.
    private static func keeper(
        _ request: SurveyRequest, _ matches: (StorePredicate) throws -> Bool, _ expiry: (String) -> Instant?,
        until end: (String) -> String
    ) throws -> String? {
        func keeps(_ change: (inout SurveyRequest) -> Void) throws -> Bool {
            var only = request
            (only.keepers.keepLast, only.keepers.thinning, only.keepers.others, only.keepers.holds) = (nil, nil, [], [])
            change(&only)
            return try !matches(only.expired)
        }
        // Of several the one that lasts longest.
        let holds = try request.keepers.holds.filter { hold in try keeps { $0.keepers.holds = [hold] } }
        if let hold = holds.max(by: { (expiry($0.name) ?? .distantFuture) < (expiry($1.name) ?? .distantFuture) }) {
            return "the hold '\(hold.name)' keeps it" + end(hold.name)
        }
        if try keeps({ $0.keepers.keepLast = request.keepers.keepLast }) { return "keep_last keeps it" }
        if try keeps({ $0.keepers.thinning = request.keepers.thinning }) { return "thin keeps it for its bucket" }
        if try keeps({ $0.keepers.others = request.keepers.others }) { return "another rule of the entity keeps it" }
        return nil
    }

    /// The first run that is due at an instant or later, in words.
    private static func nextRun(after instant: Instant, _ lastRun: Instant?, _ policy: Policy) -> String {
        run(after: instant, lastRun, policy).map { "the run that is due at \($0)" } ?? "the next run after that"
    }

    /// The time of the first run that is due at an instant or later; nil: that is not known.
    private static func run(after instant: Instant, _ lastRun: Instant?, _ policy: Policy) -> String? {
        guard let every = policy.expectedEvery, var due = lastRun else { return nil }
        // Runs each minute for ten weeks, or each day for centuries.
        for _ in 0..<100_000 where due < instant || due == lastRun {
            due = Cutoff.end(of: every, from: due, zone: policy.timezone)
        }
        return due < instant ? nil : Figures.instant(due.toSecond)
    }

    /// The first instant at which a rule expires a date; nil: not within 300 years.
    private static func expiry(of date: Instant, _ rule: Rule, after asOf: Instant, _ zone: CalendarZone) -> Instant? {
        func isExpired(_ seconds: Int64) -> Bool {
            date < rule.cutoff(asOf: asOf.advanced(byMicroseconds: seconds * 1_000_000), zone: zone)
        }
        var (before, after): (Int64, Int64) = (0, 300 * 366 * 86_400)
        guard isExpired(after) else { return nil }
        while before + 1 < after {
            let middle = (before + after) / 2
            if isExpired(middle) { after = middle } else { before = middle }
        }
        return asOf.advanced(byMicroseconds: after * 1_000_000).toSecond
    }
}

extension HoldPlan {
    /// When the hold of a name ends; nil: never.
    fileprivate func expiry(of name: String) -> Instant? { inForce.first { $0.hold.name == name }?.hold.expires }
}
