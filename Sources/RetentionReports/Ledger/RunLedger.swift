package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// The record of past runs in its own store, for `retention log` and for the guards that need past runs.
///
/// Several stores can share a ledger. A run is recorded when it starts and when it ends, so a missing end shows that it crashed. Dry runs
/// are not recorded.
package final class RunLedger: RunRecorder {
    private let writer: any StoreWriter
    private let store: String
    private let links: [String]
    private let process: LedgerProcess
    private let keep: MaxAge?
    private let zone: CalendarZone
    /// The recorded values of the run that this process has begun.
    private var begun: [String: StoreValue]?

    /// Identifies a ledger file: `RtnL` in the header of the file.
    package static let applicationID: Int32 = 0x5274_6E4C
    /// The entities of a ledger's file.
    package static let entityNames: Set<String> = [
        LedgerRow.runEntityName, LedgerRow.ruleEntityName,
    ]

    /// Opens the ledger in a store and creates or completes its entities.
    ///
    /// - Parameters:
    ///   - writer: the store that holds the ledger.
    ///   - store: the real path or the address of the store whose runs are recorded.
    ///   - links: the links by which the policy leads to the store.
    ///   - process: the process that records.
    ///   - keep: how long runs are kept; nil: forever.
    ///   - zone: the zone of that age.
    /// - Throws: ``StoreError``; of kind `cannotCreate` if the entities cannot be created.
    package init(
        writer: any StoreWriter, store: String, links: [String] = [], process: LedgerProcess, keep: MaxAge? = nil,
        zone: CalendarZone = .utc
    ) throws(StoreError) {
        self.writer = writer
        self.store = store
        self.links = links
        self.process = process
        self.keep = keep
        self.zone = zone
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

    /// Records the start of a run.
    package func begin(_ report: RunReport) throws {
        begun = try writer.transaction(.normal) {
            let last = try writer.fetch(
                StoreFetchRequest(
                    entity: LedgerRow.runEntityName, sortDescriptors: [StoreSortDescriptor("number", ascending: false)],
                    fetchLimit: 1), attributes: ["number"])
            let number = try Self.number(after: last.first?.first?.number ?? 0, in: writer)
            // At the end of the run it would be too late to fail.
            _ = try Self.number(after: LedgerChain.newest(in: writer)?["place"]?.number ?? 0, in: writer)
            let values = LedgerRow.values(
                starting: report, number: number, store: store, relative: names.relative, process: process
            ).recordable
            try insert(LedgerRow.runEntityName, values)
            return values
        }
    }

    /// Records the end of the run that was begun, with its rules. Nothing happens if none was begun.
    package func finish(_ report: RunReport) throws {
        guard let begun, let number else { return }
        try writer.transaction(.normal) {
            let rules = report.rules.enumerated().map { position, rule in
                LedgerRow.values(of: rule, position: position, runNumber: number).recordable
            }
            for rule in rules { try insert(LedgerRow.ruleEntityName, rule) }
            // If the clock is in doubt, the ages of records are not known.
            let age = report.trustsClock ? keep : nil
            let through = try age.flatMap {
                try LedgerTrim(writer: writer).deleteRuns(
                    before: Cutoff.instant(asOf: report.finished, maxAge: $0, align: nil, zone: zone),
                    now: report.finished)
            }
            let end = LedgerRow.values(finishing: report).recordable
            let place = try LedgerChain.end(
                for: begun.merging(end) { $1 }, rules: rules, trimmedThrough: through, in: writer)
            let count = try writer.update(
                StoreFetchRequest(
                    entity: LedgerRow.runEntityName, predicate: .compare("number", .equal, .integer(number))),
                set: end.merging(place) { $1 })
            guard count == 1 else {
                throw StoreError(
                    .inputOutput, store: writer.name, message: "the record of this run is not in the ledger any more")
            }
            // What was appended is what is read.
            if let fault = try LedgerVerification.fault(ofRun: Int(number), writer) {
                throw StoreError(
                    .inputOutput, store: writer.name,
                    message: "the ledger does not hold what was recorded: \(fault.message)",
                    hint: "see whether the ledger has triggers; move the file away to start a new one")
            }
        }
        // From now on the run is a past run.
        self.begun = nil
    }

    /// The number of the run that was begun.
    private var number: Int64? { begun?["number"]?.number }

    /// The number that follows a number from a ledger.
    static func number(after number: Int64, in writer: any StoreWriter) throws(StoreError) -> Int64 {
        let (next, isTooLarge) = number.addingReportingOverflow(1)
        guard !isTooLarge else {
            throw StoreError(
                .inputOutput, store: writer.name, message: "the ledger has no numbers left: someone has changed it",
                hint: "see what `retention log --verify` says; move the file away to start a new one")
        }
        return next
    }

    /// The newest hash of the chain; nil: there is none yet.
    package func chainHead() throws -> String? {
        try history.chainHead()
    }

    /// The runs of the ledger, for reading.
    package var history: LedgerHistory { LedgerHistory(reader: writer, links: links) }

    /// Marks the earlier runs of this store without an end as crashed. It must be called while the run lock is held, when none of them can
    /// be in progress.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func markCrashed() throws -> Int {
        let running = StoreFetchRequest(
            entity: LedgerRow.runEntityName,
            predicate: try ofThisStore && .compare("outcome", .equal, .text(LedgerRun.Outcome.running.rawValue)),
            sortDescriptors: [StoreSortDescriptor("number")])
        return try writer.transaction(.normal) {
            // A run has many attributes, so they are read only if there is such a run.
            guard try writer.count(running) > 0 else { return 0 }
            let runs = try LedgerChain.rows(
                LedgerRow.runEntityName, where: running.predicate, order: running.sortDescriptors, in: writer)
            for var run in runs {
                run["outcome"] = .text(LedgerRun.Outcome.crashed.rawValue)
                let place = try LedgerChain.end(for: run, rules: [], in: writer)
                _ = try writer.update(
                    StoreFetchRequest(
                        entity: LedgerRow.runEntityName,
                        predicate: .compare("number", .equal, run["number"] ?? .null)),
                    set: place.merging(["outcome": run["outcome"] ?? .null]) { $1 })
            }
            return runs.count
        }
    }

    /// What the guards need to know about the runs before the current one.
    package func memory() throws -> RunMemory {
        try history.memory(store: store, before: number.map(Int.init))
    }

    /// The records of some runs of this store.
    package func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun] {
        let runs = try LedgerChain.rows(
            LedgerRow.runEntityName, where: try ofThisStore && .isIn("run", identifiers.map { .text($0) }), in: writer)
        let recorded = runs.map(LedgerRow.run).map { run in
            let isEnded = run.outcome != .running && run.outcome != .crashed
            return (
                run.report.runID,
                RecordedRun(
                    ended: isEnded ? run.report.finished : nil,
                    hasCompleteArchive: run.report.archive?.isComplete ?? false,
                    archiveUntil: run.report.archive?.until)
            )
        }
        return Dictionary(recorded) { first, _ in first }
    }

    /// Rows of this store, without the current run.
    private var ofThisStore: StorePredicate {
        get throws {
            let sameStore = try names.predicate(in: writer)
            return number.map { sameStore && .compare("number", .notEqual, .integer($0)) } ?? sameStore
        }
    }

    private var names: StoreNames { StoreNames(store, links: links, in: writer) }

    private func insert(_ entity: String, _ values: [String: StoreValue]) throws {
        if case .rejected(let reason) = try writer.insert(entity: entity, values: values, onConflict: .fail) {
            throw StoreError(
                .inputOutput, store: writer.name, message: "a record could not be added to the ledger: \(reason)")
        }
    }
}
