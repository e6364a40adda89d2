import PriceStore
import RetentionJob
import RetentionPolicy

/// The ledger's own retention: deletes records older than `keep`, oldest first, and records that in the chain.
struct LedgerTrim {
    let writer: any StoreWriter

    /// The number of newest runs that are always kept: a clock that jumped ahead must not empty the ledger.
    static let fewestRuns = 100

    /// Deletes the records of runs that began before an instant, their rules and their links, in one transaction.
    ///
    /// Only a beginning of the chain is deleted: up to the first run that is not old enough or whose archive is still kept, and no
    /// further than the links of the remaining runs allow. Records that do not match their hash stay, so that `log --verify` still
    /// finds them.
    ///
    /// - Parameters:
    ///   - cutoff: runs that began before it are old enough.
    ///   - now: the time by which an archive is still kept.
    /// - Returns: how many runs were deleted.
    func deleteRuns(before cutoff: Instant, now: Instant) throws -> Int {
        let started = DateAttribute(name: "started_us", encoding: .unixMicroseconds, earliest: .distantPast)
        let newest = try writer.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName, sortDescriptors: [StoreSortDescriptor("number", ascending: false)],
                fetchLimit: 1), attributes: ["number"]
        ).first?.first?.number
        let expired = StorePredicate.date(DateRange(started, before: cutoff))
        // Without its record a run cannot be undone, and its archive is never removed.
        let archived = StorePredicate.compare("archive_until_us", .greater, .integer(now.microseconds))
        guard let newest, newest > Self.fewestRuns else { return 0 }
        let firstYoung = try writer.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName, predicate: .notTrue(expired) || archived,
                sortDescriptors: [StoreSortDescriptor("number")], fetchLimit: 1), attributes: ["number"]
        ).first?.first?.number
        var through = min(max(firstYoung ?? newest, 1) - 1, newest - Int64(Self.fewestRuns))
        // Without its record an undo holds no rule, and the next run would delete the rows that it restored.
        if let holding = try LedgerHistory(reader: writer).firstHolding(through: through) {
            through = min(through, holding - 1)
        }
        return try writer.transaction(.normal) { try deleteRuns(through: through, expired: expired) }
    }

    private func deleteRuns(through wanted: Int64, expired: StorePredicate) throws -> Int {
        var through = wanted
        var last: LedgerChain.Link?
        // A run of another store may have ended after a remaining run began: then it stays too.
        while through > 0 {
            let firstKept = try LedgerChain.links(
                in: writer, where: .compare("run_number", .greater, .integer(through)), limit: 1
            ).first
            guard let firstKept else { return 0 }
            let straggler = try LedgerChain.links(
                in: writer,
                where: .compare("run_number", .lessOrEqual, .integer(through))
                    && .compare("position", .greater, .integer(firstKept.position)), limit: 1
            ).first
            if let run = straggler?.run {
                through = max(run, 1) - 1
                continue
            }
            last = try LedgerChain.links(
                in: writer, where: .compare("position", .less, .integer(firstKept.position)), ascending: false,
                limit: 1
            ).first
            break
        }
        guard through > 0 else { return 0 }
        if let last, try LedgerVerification.read(writer, through: last.position).fault != nil { return 0 }
        func delete(_ entity: String, _ predicate: StorePredicate) throws -> Int {
            try writer.execute(
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(entity: entity, predicate: predicate), resultType: .count)
            ).deletedCount
        }
        let count = try delete(
            LedgerRow.runEntityName, expired && .compare("number", .lessOrEqual, .integer(through)))
        guard count > 0 else { return 0 }
        _ = try delete(LedgerRow.ruleEntityName, .compare("run_number", .lessOrEqual, .integer(through)))
        if let last {
            _ = try delete(LedgerChain.entityName, .compare("position", .lessOrEqual, .integer(last.position)))
            try LedgerChain.appendTrim(throughRun: through, last: last, in: writer)
        }
        return count
    }
}
