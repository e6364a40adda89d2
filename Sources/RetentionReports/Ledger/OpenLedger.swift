package import PriceObjects
package import PriceStore
import RetentionJob

/// A ledger while it is open: for the run of one store, or for those of many stores one after the other.
///
/// A run of one of many stores that changed nothing and ended well waits: such runs are recorded together, after a second, before
/// something is changed or goes wrong, and at the end. If the process is killed before, they were never begun, as those of the stores that
/// were not reached.
package final class OpenLedger {
    let reader: any StoreReader
    /// Nil: the ledger is only read.
    let writer: (any ObjectStore)?
    /// Which runs are of which store; nil: the ledger is open for one store, whose runs are looked for.
    let index: LedgerIndex?
    /// The runs that are not recorded yet, and the last run of their store that was.
    private var waiting: [(run: RunLedger, report: RunReport, last: Int64?)] = []
    private var lastTrim: Instant?
    /// Whether the runs are for all stores of a pattern, and not for one of them.
    package var isForAll = true

    /// The largest number of runs that wait.
    private static let most = 500

    /// Makes a ledger that is only read.
    package init(reader: any StoreReader, ofMany: Bool = false) {
        (self.reader, writer, index) = (reader, nil, ofMany ? LedgerIndex() : nil)
    }

    /// Makes a ledger in a store, and creates or completes its entities.
    ///
    /// - Throws: ``StoreError``; of kind `cannotCreate` if the entities cannot be created.
    package init(writer: any ObjectStore, ofMany: Bool = false) throws(StoreError) {
        (reader, self.writer, index) = (writer, writer, ofMany ? LedgerIndex() : nil)
        for entity in [LedgerRow.runEntity, LedgerRow.ruleEntity] {
            do {
                try writer.createEntity(entity)
            } catch  where error.kind == .permission || error.kind == .missing {
                throw StoreError(
                    .cannotCreate, store: writer.name, message: "the ledger cannot be created: \(error.message)",
                    engineCode: error.engineCode, hint: "set `ledger` to a writable path or to `none`")
            }
        }
    }

    /// The history of a store to which a policy leads by links.
    package func history(links: [String] = []) -> LedgerHistory {
        LedgerHistory(reader: reader, links: links, index: index)
    }

    /// The IDs of the runs that wait.
    package var waitingRuns: Set<String> { Set(waiting.map(\.report.runID)) }

    /// The newest hash of the chain; nil: there is none.
    package func chainHead() throws -> String? { try newest()?["hash"]?.string }

    /// The end of the chain.
    func newest() throws -> [String: StoreValue]? {
        try index?.update(from: reader)
        return try LedgerChain.newest(in: reader, index)
    }

    /// Records a run that was not begun, now or later.
    func record(_ report: RunReport, of run: RunLedger) throws {
        waiting.append((run, report, index?.last(of: run.names)))
        let age = report.finished.since(waiting[0].report.finished)
        guard run.waits, report.exitCode == 0, waiting.count < Self.most, age >= .zero, age < .seconds(1) else {
            return try flush()
        }
    }

    /// Records the runs that wait.
    ///
    /// - Parameter next: what is done in the same transaction, with the next number and the end of the chain.
    package func flush(_ next: (Int64, [String: StoreValue]?) throws -> Void = { _, _ in }) throws {
        guard let writer else { return }
        try writer.transaction(.normal) {
            // What this transaction adds is read by the next one.
            var last = try newest()
            let highest = try index?.last ?? reader.runNumber("number", ascending: false)
            let first = try RunLedger.number(after: highest ?? 0, in: writer)
            var number = first
            for (run, report, known) in waiting {
                var report = report
                // What another run has carried out since is newer.
                if index?.last(of: run.names) != known { report.ruleLines = [] }
                last = try run.append(report, number: number, after: last)
                number = try RunLedger.number(after: number, in: writer)
            }
            if first < number { try RunLedger.verify(Array(first..<number), in: writer) }
            try next(number, last)
        }
        waiting = []
    }

    /// Whether old records are to be deleted: once a second.
    func isTrimDue(at now: Instant) -> Bool {
        if let lastTrim, now >= lastTrim, now.since(lastTrim) < .seconds(1) { return false }
        lastTrim = now
        return true
    }
}
