import PriceStore
import RetentionJob

/// The ledger's own retention: deletes records older than `keep`, oldest first. The next hash covers the last deleted place.
struct LedgerTrim {
    let writer: any StoreWriter

    /// The number of newest runs that are always kept for each store, because a clock that jumped ahead must not empty the ledger, nor the
    /// first run of a night make it forget the other stores.
    static let fewestRuns = 100
    /// The maximum number of records that a run deletes. The next run continues.
    private static let mostDeleted: Int64 = 1000

    /// Deletes the records of runs that began before an instant, and their rules. It must be called in a transaction.
    ///
    /// Only the beginning of the chain is deleted, up to the first run that is not old enough or whose record is still needed. Records that
    /// do not match their hash stay, so that `log --verify` still finds them.
    ///
    /// - Parameter now: the time at which archives may still be kept.
    /// - Returns: the place of the last deleted record; nil: none was deleted.
    func deleteRuns(before cutoff: Instant, now: Instant) throws -> Int64? {
        // The runs after the first one began later. To find what else keeps records takes longer.
        let oldest = try writer.rows(
            of: LedgerRow.runEntityName, order: [StoreSortDescriptor("number")], limit: 1, attributes: ["started_us"]
        ).first?["started_us"]?.number
        guard let oldest, oldest < cutoff.microseconds,
            let newest = try writer.runNumber("number", ascending: false), newest > Self.fewestRuns
        else { return nil }
        let storeCount = try writer.figures(
            [.max("number")], of: StoreFetchRequest(entity: LedgerRow.runEntityName), groupedBy: ["store"]
        ).count
        let started = DateAttribute(name: "started_us", encoding: .unixMicroseconds, earliest: .distantPast)
        let isOld = StorePredicate.date(DateRange(started, before: cutoff))
        // A run without its record cannot be undone, and its archive would never be removed.
        let hasArchive = StorePredicate.compare("archive_until_us", .greater, .integer(now.microseconds))
        var isNeeded =
            .notTrue(isOld) || hasArchive
            || .compare("number", .greater, .integer(newest - Int64(Self.fewestRuns * max(1, storeCount))))
        // An undo without its record protects no rows, and the next run would delete the rows that it restored.
        if let holding = try LedgerHistory(reader: writer).firstHolding(through: newest) {
            isNeeded = isNeeded || .compare("number", .greaterOrEqual, .integer(holding))
        }
        let isInChain = StorePredicate.isNotNull("place")
        guard let begin = try writer.runNumber("place", where: isInChain),
            let end = try writer.runNumber("place", where: isInChain && isNeeded)
                .map({ min($0, begin &+ Self.mostDeleted) }),
            begin < end,
            try LedgerVerification.read(writer, through: end - 1).fault == nil
        else { return nil }
        func delete(_ entity: String, _ predicate: StorePredicate) throws {
            _ = try writer.execute(
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(entity: entity, predicate: predicate), resultType: .count))
        }
        let isGone = isInChain && .compare("place", .less, .integer(end))
        let numbers = try writer.fetch(
            StoreFetchRequest(entity: LedgerRow.runEntityName, predicate: isGone), attributes: ["number"])
        try delete(LedgerRow.ruleEntityName, .isIn("run_number", numbers.compactMap(\.first)))
        try delete(LedgerRow.runEntityName, isGone)
        return end - 1
    }
}
