import PriceObjects
package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// The record of past runs in its own store, for `retention log` and for the guards that need past runs.
///
/// Several stores can share a ledger. A run is recorded when it starts and when it ends, so a missing end shows that it crashed. Dry runs
/// are not recorded.
package final class RunLedger: RunRecorder {
    private let ledger: OpenLedger
    private let writer: any ObjectStore
    private let store: String
    private let links: [String]
    let names: StoreNames
    private let process: LedgerProcess
    private let keep: MaxAge?
    private let zone: CalendarZone
    /// Whether the record of a run that changes nothing may wait.
    let waits: Bool
    /// The recorded values of the run that this process has begun.
    private var begun: [String: StoreValue]?

    /// Identifies a ledger file: `RtnL` in the header of the file.
    package static let applicationID: Int32 = 0x5274_6E4C
    /// The entities of a ledger's file.
    package static let entityNames: Set<String> = [
        LedgerRow.runEntityName, LedgerRow.ruleEntityName,
    ]

    /// Makes the recorder of a run; nil: the ledger is only read.
    ///
    /// - Parameters:
    ///   - links: the links by which the policy leads to the store.
    ///   - keep: how long runs are kept; nil: forever.
    package init?(
        _ ledger: OpenLedger, store: String, links: [String] = [], process: LedgerProcess, keep: MaxAge? = nil,
        zone: CalendarZone = .utc, waits: Bool = false
    ) {
        guard let writer = ledger.writer else { return nil }
        self.ledger = ledger
        self.writer = writer
        self.store = store
        self.links = links
        self.process = process
        self.keep = keep
        self.zone = zone
        self.waits = waits
        names = StoreNames(store, links: links, in: writer)
    }

    /// Records the start of a run, once. If the record may wait, it begins when the run is about to change something.
    package func begin(_ report: RunReport, isChanging: Bool = true) throws {
        guard begun == nil, isChanging || !waits else { return }
        var values: [String: StoreValue] = [:]
        try ledger.flush { number, last in
            // At the end of the run it would be too late to fail.
            _ = try Self.number(after: last?["place"]?.number ?? 0, in: writer)
            values = beginning(report, number)
            try insert(LedgerRow.runEntityName, values)
        }
        begun = values
    }

    private func beginning(_ report: RunReport, _ number: Int64) -> [String: StoreValue] {
        var values = LedgerRow.values(
            starting: report, number: number, store: store, relative: names.relative, process: process)
        if ledger.isForAll { values[LedgerRow.firstOfCommand] = ledger.index.map { .integer($0.firstOfCommand) } }
        return values.recordable
    }

    /// Records the end of the run, with its rules. One that was not begun is recorded as a whole, now or later.
    package func finish(_ report: RunReport) throws {
        guard let begun, let number else { return try ledger.record(report, of: self) }
        try writer.transaction(.normal) {
            let (end, _) = try recordEnd(report, of: begun, after: ledger.newest())
            let update = BatchUpdateRequest(
                entity: LedgerRow.runEntityName, predicate: .compare("number", .equal, .integer(number)),
                propertiesToUpdate: end)
            guard try writer.execute(update).updatedCount == 1 else {
                throw StoreError(
                    .inputOutput, store: writer.name, message: "the record of this run is not in the ledger any more")
            }
            try Self.verify([number], in: writer)
        }
        // From now on the run is a past run.
        self.begun = nil
    }

    /// Records a run as a whole.
    ///
    /// - Parameter last: the end of the chain.
    /// - Returns: its new end.
    func append(
        _ report: RunReport, number: Int64, after last: [String: StoreValue]?
    ) throws -> [String: StoreValue] {
        let begun = beginning(report, number)
        let (end, place) = try recordEnd(report, of: begun, after: last)
        try insert(LedgerRow.runEntityName, begun.merging(end) { $1 })
        return place
    }

    /// Records the rules of a run, and deletes old records.
    ///
    /// - Returns: what the end adds to the record of the run, and of that the new end of the chain.
    private func recordEnd(
        _ report: RunReport, of begun: [String: StoreValue], after last: [String: StoreValue]?
    ) throws -> (end: [String: StoreValue], place: [String: StoreValue]) {
        let rules = report.rules.enumerated().map { position, rule in
            LedgerRow.values(of: rule, position: position, runNumber: begun["number"]?.number ?? 0).recordable
        }
        for rule in rules { try insert(LedgerRow.ruleEntityName, rule) }
        let agreed = try self.agreed(after: report)
        // If the clock is in doubt, the ages of records are not known.
        let age = report.trustsClock && ledger.isTrimDue(at: report.finished) ? keep : nil
        let through = try age.flatMap {
            try LedgerTrim(writer: writer).deleteRuns(
                before: Cutoff.instant(asOf: report.finished, maxAge: $0, align: nil, zone: zone),
                now: report.finished)
        }
        var end = LedgerRow.values(finishing: report).recordable
        if !agreed.isEmpty { end[LedgerRow.agreed] = .text(agreed.joined(separator: "\n")) }
        let place = try LedgerChain.end(
            for: begun.merging(end) { $1 }, rules: rules, after: last, trimmedThrough: through, in: writer)
        return (end.merging(place) { $1 }, place)
    }

    /// The lines of the rules that are agreed after a run: those of its policy, and those of other policies, but for a file that has become
    /// this one. Of many stores the first run of a command records them, and each that changes them.
    private func agreed(after report: RunReport) throws -> [String] {
        if report.agreedLines == nil, ledger.index?.agreed != nil { return [] }
        let last = try ledger.index?.agreed ?? history.agreedLines()
        var found = last
        defer { ledger.index?.agreed = found }
        guard let own = report.agreedLines else { return found }
        let rules = own.compactMap(AgreedRule.init)
        let (files, names) = (Set(rules.map(\.file)), Set(rules.map(\.name)))
        let others = last.filter { line in
            guard let rule = AgreedRule(line: line) else { return false }
            // The file may have become this one.
            return !files.contains(rule.file) && (FilePlace(rule.file).facts != nil || !names.contains(rule.name))
        }
        found = others + own
        return found
    }

    /// Throws unless what was appended is what is read.
    static func verify(_ numbers: [Int64], in writer: any StoreWriter) throws {
        guard let fault = try LedgerVerification.fault(ofRuns: numbers.map(Int.init), writer) else { return }
        throw StoreError(
            .inputOutput, store: writer.name,
            message: "the ledger does not hold what was recorded: \(fault.message)",
            hint: "see whether the ledger has triggers; move the file away to start a new one")
    }

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

    /// The newest hash of the chain; nil: there is none yet, or it does not cover a run that waits.
    package func chainHead() throws -> String? { try ledger.waitingRuns.isEmpty ? ledger.chainHead() : nil }

    /// The runs of the ledger, for reading.
    package var history: LedgerHistory { ledger.history(links: links) }

    /// Marks the earlier runs of this store without an end as crashed. It must be called while the run lock is held, when none of them can
    /// be in progress.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func markCrashed() throws -> Int {
        try ledger.index?.update(from: writer)
        guard ledger.index?.hasOpenRuns != false else { return 0 }
        let running = StoreFetchRequest(
            entity: LedgerRow.runEntityName,
            predicate: try butThis(history.runs(of: names))
                && .compare("outcome", .equal, .text(LedgerRun.Outcome.running.rawValue)),
            sortDescriptors: [StoreSortDescriptor("number")])
        // A run has many attributes, so they are read only if there is such a run.
        guard try writer.count(running) > 0 else { return 0 }
        return try writer.transaction(.normal) {
            var last = try ledger.newest()
            let runs = try writer.rows(
                of: LedgerRow.runEntityName, where: running.predicate, order: running.sortDescriptors)
            for var run in runs {
                run["outcome"] = .text(LedgerRun.Outcome.crashed.rawValue)
                let place = try LedgerChain.end(for: run, rules: [], after: last, in: writer)
                last = place
                try writer.execute(
                    BatchUpdateRequest(
                        entity: LedgerRow.runEntityName,
                        predicate: .compare("number", .equal, run["number"] ?? .null),
                        propertiesToUpdate: place.merging(["outcome": run["outcome"] ?? .null]) { $1 }))
            }
            return runs.count
        }
    }

    /// What the guards need to know about the runs before the current one.
    package func memory(archived: (String) -> String? = { _ in nil }) throws -> RunMemory {
        try history.memory(store: store, before: number.map(Int.init), archived: archived)
    }

    /// The records of some runs of this store.
    package func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun] {
        let runs = try writer.rows(
            of: LedgerRow.runEntityName,
            where: try butThis(names.predicate(in: writer)) && .isIn("run", identifiers.map { .text($0) }))
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
        return Dictionary(firstOf: recorded)
    }

    /// Some runs without the current one.
    private func butThis(_ runs: StorePredicate) -> StorePredicate {
        number.map { runs && .compare("number", .notEqual, .integer($0)) } ?? runs
    }

    private func insert(_ entity: String, _ values: [String: StoreValue]) throws {
        if case .rejected(let reason) = try writer.insert(entity: entity, values: values, onConflict: .fail) {
            throw StoreError(
                .inputOutput, store: writer.name, message: "a record could not be added to the ledger: \(reason)")
        }
    }
}
