package import PriceStore
import RetentionJob
package import RetentionPolicy

/// The periods in which an expected run is missing.
package struct MissedRuns: Hashable, Sendable {
    /// A period without a run that is longer than expected.
    package struct Gap: Hashable, Sendable {
        /// When the previous run began; nil: there was none at all.
        package var after: Instant?
        /// When the next run began; nil: none has begun up to now.
        package var until: Instant?
        /// When the first missing run was due; nil: unknown.
        package var due: Instant?
    }

    /// The gaps, in order; the last one may be open.
    package var gaps: [Gap]
    /// How often a run is expected, as the policy writes it.
    package var expectedEvery: String
    /// The time of the clock.
    package var now: Instant
    /// Whether any run is recorded, even one that does not count.
    package let hasRuns: Bool
    /// What is expected, in words: a run of all rules if some runs were not.
    private(set) var expected: String

    /// The last gap that is over, if such gaps are left out.
    private var lastPast: Gap?
    /// Whether only a run that is missing now counts.
    private var isOnlyNow = false

    /// How the last run that counts ended, as a sentence, if it crashed or failed before its first rule.
    private let lastFault: String?

    /// Whether `retention log --missed` reports something: a gap, or now that the last run did not get to its rules.
    package var isAlarm: Bool { !gaps.isEmpty || isOnlyNow && lastFault != nil }

    /// Whether a run is missing now.
    package var isOverdue: Bool { gaps.last.map { $0.until == nil } ?? false }

    /// Finds the gaps between runs of one store. A period may be a tenth longer than expected, because a run may begin a little late. If no
    /// run counts, one is missing now.
    ///
    /// - Parameters:
    ///   - runs: past runs, in order. Undos do not count, nor do runs whose date is wrong. A run counts however it ended, and while it is in
    ///     progress; runs of some rules count as one once each rule has had one.
    ///   - policy: the rules that are expected to run; nil: any.
    ///   - since: gaps that end before it are left out; nil: all gaps.
    package init(
        _ runs: [LedgerRun], of policy: Policy? = nil, every: MaxAge, zone: CalendarZone, since: Instant? = nil,
        now: Instant
    ) {
        let counted = runs.expected(of: policy, now: now)
        let starts = counted.map(\.report.started)
        lastFault = counted.last.flatMap { run in
            let isCrashed = run.outcome == .crashed
            guard isCrashed || run.outcome == .failed && run.report.rules.isEmpty else { return nil }
            let end = isCrashed ? "crashed" : "failed before its first rule"
            return "The last run, \(Figures.instant(run.report.started.toSecond)), \(end)."
        }
        expected = "run" + (runs.contains { !$0.report.onlyRules.isEmpty } ? " of all rules" : "")
        /// The gap between two runs, or up to now; nil: there is none.
        func gap(_ start: Instant, _ until: Instant?) -> Gap? {
            let end = until ?? now
            let latest = Cutoff.instant(asOf: end, maxAge: every, align: nil, zone: zone)
            let period = end.since(latest).wholeMicroseconds
            guard start < latest.advanced(byMicroseconds: -period / 10) else { return nil }
            return Gap(after: start, until: until, due: start.advanced(byMicroseconds: period))
        }
        gaps = zip(starts, starts.dropFirst()).compactMap { gap($0, $1) }
        if let since { gaps.removeAll { $0.until.map { $0 < since } == true } }
        if let last = starts.last {
            gaps += gap(last, nil).map { [$0] } ?? []
        } else {
            gaps.append(Gap(after: nil, until: nil, due: nil))
        }
        hasRuns = !runs.isEmpty
        expectedEvery = every.written
        self.now = now
    }

    /// A description of a gap, without a full stop.
    package func sentence(_ gap: Gap) -> String { "MISSED: " + clause(gap) }

    /// The same without the first word.
    func clause(_ gap: Gap) -> String {
        let length = gap.after.map { Figures.duration((gap.until ?? now).since($0)) }
        let found =
            length.map { gap.until == nil ? "the last \(expected) began \($0) ago" : "\($0) without a \(expected)" }
            ?? "no \(expected) is recorded"
        return "\(found); one is expected every \(expectedEvery)"
    }

    /// Says that the missing run is one of this policy, because runs of others are beside it.
    package mutating func namePolicy() { expected += " of this policy" }

    /// Leaves out the gaps that are over.
    package mutating func leaveOutPast() {
        isOnlyNow = true
        lastPast = gaps.last { $0.until != nil }
        gaps.removeAll { $0.until != nil }
    }

    /// The output of `retention log --missed`.
    package var lines: [String] {
        guard !gaps.isEmpty else {
            let found = isOnlyNow ? "No run is missing now" : "No run was missed"
            var lines = ["\(found); one is expected every \(SafeText.line(expectedEvery))."]
            if isOnlyNow, let lastFault { lines = [lastFault] }
            if let due = lastPast?.due, let until = lastPast?.until {
                let ends = "\(Figures.instant(due.toSecond)) to \(Figures.instant(until.toSecond))"
                lines.append("The last gap was from \(ends); --since shows earlier gaps too.")
            }
            return lines
        }
        return gaps.map { gap in
            (gap.due.map { Figures.instant($0.toSecond) + " " } ?? "") + SafeText.line(sentence(gap))
        }
    }

    /// The gaps as JSON: `after` and `until`, null if there is no such run.
    package var json: JSONText { .array(objects()) }

    /// The objects of that list.
    ///
    /// - Parameter store: of many stores, the one whose gaps they are.
    package func objects(of store: String? = nil) -> [JSONText] {
        gaps.map { gap in
            let name = store.map { [JSONText.Member("store", $0.json)] } ?? []
            return .object(name + [.init("after", gap.after.json), .init("until", gap.until.json)])
        }
    }
}
