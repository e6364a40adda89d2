import PriceStore

/// What past runs say about the system clock.
enum ClockGuard {
    private static let minute: Int64 = 60_000_000
    private static let day: Int64 = 86_400_000_000

    /// Whether the clock is more than 60 s earlier than the end of the last recorded run.
    static func isMovedBack(clock: Instant, lastRun: Instant) -> Bool {
        clock < lastRun.advanced(byMicroseconds: -minute)
    }

    /// Whether the clock is more than 7 days, and more than 3 times the longest gap, past the last run. Without a recorded gap, the 7 days
    /// decide alone.
    static func isJump(clock: Instant, lastRun: Instant, longestGap: Duration?) -> Bool {
        let gap = clock.since(lastRun)
        return gap > .seconds(7 * 86_400) && gap > (longestGap ?? .zero) * 3
    }

    /// Whether the entity has a row newer than the last run and at most a day later than the clock, which shows that time has really
    /// passed. Rows further in the future do not count.
    ///
    /// Fetches one row. A date that represents a day counts with its first instant, so a row of the day of the last run is not newer than
    /// that run.
    static func hasRows(
        of entity: String, date: DateAttribute, since lastRun: Instant, clock: Instant, in reader: any RetentionReader
    ) throws(StoreError) -> Bool {
        let soon = clock.advanced(byMicroseconds: day)
        let request = StoreFetchRequest(
            entity: entity,
            predicate: .date(DateRange(date, from: lastRun, before: soon)),
            sortDescriptors: [StoreSortDescriptor(date.name, ascending: false)], fetchLimit: 1)
        guard let value = try reader.fetch(request, attributes: [date.name]).first?.first else { return false }
        return date.encoding.read(value, zone: date.zone).start.map { $0 > lastRun } == true
    }
}
