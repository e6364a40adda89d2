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
    }

    /// The gaps, in order; the last one may be open.
    package var gaps: [Gap]
    /// How often a run is expected, as the policy writes it.
    package var expectedEvery: String
    /// The time of the clock.
    package var now: Instant

    /// Whether a run is missing now.
    package var isOverdue: Bool { gaps.last.map { $0.until == nil } ?? false }

    /// Finds the gaps between runs of one store. A period may be a tenth longer than expected, because a run may begin a little late.
    ///
    /// - Parameters:
    ///   - runs: past runs, in order. Undos do not count, nor do runs that crashed or failed before their first rule. A run in progress
    ///     counts.
    ///   - every: how often a run is expected.
    ///   - zone: the zone of calendar units.
    ///   - since: gaps that end before it are left out; nil: all gaps.
    package init(_ runs: [LedgerRun], every: MaxAge, zone: CalendarZone, since: Instant? = nil, now: Instant) {
        let starts = runs.filter { $0.report.undo == nil && $0.outcome != .crashed }
            .filter { !($0.outcome == .failed && $0.report.rules.isEmpty) }.map(\.report.started)
        func isGap(_ start: Instant, _ end: Instant) -> Bool {
            let due = Cutoff.instant(asOf: end, maxAge: every, align: nil, zone: zone)
            return start < due.advanced(byMicroseconds: -end.since(due).wholeMicroseconds / 10)
        }
        gaps = zip(starts, starts.dropFirst()).filter(isGap).map { Gap(after: $0, until: $1) }
        if let since { gaps.removeAll { $0.until.map { $0 < since } ?? false } }
        if let last = starts.last {
            if isGap(last, now) { gaps.append(Gap(after: last, until: nil)) }
        } else {
            gaps.append(Gap(after: nil, until: nil))
        }
        expectedEvery = every.written
        self.now = now
    }

    /// A description of a gap, without a full stop.
    package func sentence(_ gap: Gap) -> String {
        guard let after = gap.after else { return "MISSED: no run is recorded; one is expected every \(expectedEvery)" }
        let length = Figures.duration((gap.until ?? now).since(after))
        return gap.until == nil
            ? "MISSED: the last run began \(length) ago; one is expected every \(expectedEvery)"
            : "MISSED: \(length) without a run; one is expected every \(expectedEvery)"
    }

    /// The output of `retention log --missed`, ending with a line end.
    package var text: String {
        guard !gaps.isEmpty else {
            return "No run was missed; one is expected every \(SafeText.line(expectedEvery)).\n"
        }
        return gaps.map { gap in
            let time = gap.after.map { Figures.instant($0.toSecond) + " " } ?? ""
            return time + SafeText.line(sentence(gap)) + "\n"
        }.joined()
    }

    /// The gaps as JSON: `after` and `until`, null if there is no such run.
    package var json: JSONText {
        .array(gaps.map { .object([.init("after", $0.after.json), .init("until", $0.until.json)]) })
    }
}
