import PriceStore
import RetentionPolicy

/// What past runs say about the system clock.
extension RunMemory {
    /// Whether the clock is more than 60 s earlier than the end of the last recorded run.
    func isMovedBack(_ clock: Instant) -> Bool {
        lastRun.map { clock < $0.advanced(byMicroseconds: -60_000_000) } ?? false
    }

    /// Whether the clock is more than 7 days, and more than 3 times the longest gap, past the last run. Without a recorded gap, the 7 days
    /// decide alone.
    func isJump(_ clock: Instant) -> Bool {
        guard let lastRun else { return false }
        let gap = clock.since(lastRun)
        return gap > .seconds(7 * 86_400) && gap > (longestGap() ?? .zero) * 3
    }
}

extension Planner {
    /// Whether an entity of the rules has a row newer than the last run and at most a day later than the clock, which shows that time has
    /// really passed. Rows further in the future do not count. Queries the store only if the clock seems to have jumped.
    ///
    /// A date that represents a day counts with its first instant, so a row of the day of the last run is not newer than that run.
    func hasRowsSinceLastRun(of rules: [Rule], reader: any RetentionReader) throws -> Bool {
        guard let lastRun = memory.lastRun, memory.isJump(clock) else { return true }
        let soon = clock.advanced(byMicroseconds: 86_400_000_000)
        return try rules.contains { rule in
            guard rule.isEnabled, rule.lacking == nil, let date = rule.date(zone: policy.timezone),
                try reader.entity(named: rule.entity)?.kind == .table
            else { return false }
            let since = StoreFetchRequest(
                entity: rule.entity, predicate: .date(DateRange(date, from: lastRun, before: soon)))
            return try reader.firstDate(date, of: since, ascending: false).map { $0 > lastRun } == true
        }
    }
}
