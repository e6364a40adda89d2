package import Logging
package import PriceStore
import RetentionPolicy

/// The undo of a run: restores the rows of its archive, in batches, and reports what it did.
///
/// The caller takes the run lock and opens the ledger and the store.
package final class Undo {
    /// What to undo.
    package struct Request: Hashable, Sendable {
        /// The run, as it was recorded.
        package var run: String
        package var archive: RunReport.Archive
        /// Only what these rules deleted; empty: what all rules deleted.
        package var rules: [String]
        /// Rules that earlier undos have undone completely.
        package var undoneRules: Set<String>
        /// Whether an undo of the run has begun and is not complete.
        package var wasBegun: Bool
        /// What to do with triggers of the store that the undo fires; nil: nobody has chosen.
        package var triggers: TriggerChoice?
        /// What the run deleted without an archive.
        package var unarchived: [RunReport.Undo.Unarchived] = []

        package init(
            run: String, archive: RunReport.Archive, rules: [String] = [],
            undoneRules: Set<String> = [], wasBegun: Bool = false
        ) {
            self.undoneRules = undoneRules
            self.wasBegun = wasBegun
            self.run = run
            self.archive = archive
            self.rules = rules
        }

        fileprivate var restoration: RestorationRequest {
            RestorationRequest(
                archive: archive.path, run: run, rules: rules, mustBeComplete: archive.isComplete,
                undoneRules: undoneRules, mayBeUndoneInPart: wasBegun || !archive.isComplete,
                triggers: triggers)
        }

        /// Whether the archive is a file; false: the store itself holds it, and one transaction copies and deletes the rows.
        private var isFile: Bool { ArchiveFolder.hasFile(archive.path) != nil }

        /// Warnings about an archive that is incomplete.
        fileprivate func warnings(_ policy: Policy) -> [String] {
            var found: [String] = []
            let undone = policy.rules.filter { $0.rollup != nil && undoneRules.contains($0.name) }.map(\.name)
                .filter { rules.isEmpty || rules.contains($0) }
            if !undone.isEmpty {
                found.append(
                    "undone before: an earlier undo has restored the rows and candles of \(undone.joined(separator: ", "))"
                )
            }
            if !unarchived.isEmpty {
                let lost = unarchived.map { "\(Figures.count($0.rows, "row")) of the rule \($0.rule)" }
                found.append(
                    "not restored: \(lost.joined(separator: ", ")), which deletes without an archive; name the other rules "
                        + "with --rule to undo only what they deleted")
            }
            if !archive.isComplete, isFile {
                found.append(
                    "archive not complete: run \(run) did not end normally, so no SHA-256 of its archive is recorded; "
                        + "archived rows that the run had not deleted yet are in the store and count as present")
            }
            return found
        }

        /// Throws unless the archive's file is the recorded one. An archive that is not a file is left to the engine.
        fileprivate func verify() throws(StoreError) {
            guard isFile else { return }
            guard archive.isComplete else {
                // No other check detects a changed file.
                return try ArchiveFolder(FilePlace(archive.path).folder).check()
            }
            guard ArchiveFolder.hasFile(archive.path) == true,
                try FileHash.sha256(ofFile: archive.path) != archive.sha256
            else { return }
            throw StoreError(
                .inputOutput, store: archive.path,
                message: "the archive of run \(run) was changed: its SHA-256 is not the one that the ledger recorded",
                hint: "nothing was changed; restore the file from a backup")
        }
    }

    private let request: Request
    private let setup: RunSetup
    private let writer: any RetentionWriter
    private let recorder: (any RunRecorder)?
    private let logger: Logger
    private let signal: () -> Int32?
    private let began: Duration
    /// When the first row was restored: then the time budget begins. Before, an undo that continues another compares what that has restored.
    private var restoredFirst: Duration?
    private var report: RunReport
    /// The tables of the archive, as they were before the undo.
    private var tables: [RestorableTable] = []
    private var undo: RunReport.Undo
    private var status = RunStatus()

    /// Makes an undo; nothing happens before ``perform()``.
    package init(
        _ request: Request, setup: RunSetup, writer: any RetentionWriter, recorder: (any RunRecorder)?, logger: Logger,
        signal: @escaping () -> Int32?
    ) {
        self.request = request
        self.setup = setup
        self.writer = writer
        self.recorder = recorder
        self.logger = logger
        self.signal = signal
        began = setup.uptime()
        report = setup.report(mode: .undo, engine: writer.engine)
        undo = request.report(rules: [], [])
    }

    /// Predicts what an undo would restore. Changes nothing.
    package static func predict(_ request: Request, setup: RunSetup, reader: any RetentionReader) throws -> RunReport {
        var report = setup.report(mode: .undoDryRun, engine: reader.engine)
        try request.verify()
        report.warnings = request.warnings(setup.policy)
        let tables = try reader.restorable(request.restoration)
        try requireUnchanged(tables, in: reader.name)
        var undo = request.report(rules: request.rules, tables)
        try requireHolds(undo, setup, reader)
        // A refused undo restores nothing.
        for index in undo.tables.indices where !undo.needsTriggerChoice {
            undo.tables[index].done = tables[index].prediction
        }
        report.undo = undo
        report.warnings += undo.leftOut(of: tables).map { "\(Self.outOfStep): \($0)" }
        var status = RunStatus()
        if undo.hasDifferences || undo.needsTriggerChoice { status.note(RunStatus.refused) }
        report.exitCode = status.exitCode
        report.finished = setup.clock()
        return report
    }

    /// Carries out the undo, once.
    ///
    /// - Returns: what was done, with the exit status. Committed batches stay, whatever errors there were.
    /// - Throws: errors before the first row: the archive is unusable, or the ledger cannot be written.
    package func perform() throws -> RunReport {
        let hasCrash = try recorder?.memory(archived: { _ in nil }).hasCrash ?? false
        try request.verify()
        let restoration = try writer.restoration(of: request.restoration)
        try Self.requireUnchanged(restoration.tables, in: writer.name)
        undo = request.report(rules: restoration.rules, restoration.tables)
        tables = restoration.tables
        try requireTriggerChoice()
        try Self.requireHolds(undo, setup, writer)
        report.undo = undo
        report.warnings = request.warnings(setup.policy)
        if hasCrash {
            for table in undo.tables where try writer.entity(named: table.name) != nil {
                try writer.verify(entity: table.name)
            }
        }
        writer.isStopped = { [weak self] in self?.mayContinue == false }
        try recorder?.begin(report, isChanging: true)
        logger.info("undo started", metadata: ["undoes": "\(request.run)", "archive_path": "\(undo.archive)"])
        do throws(StoreError) {
            try restore(restoration)
        } catch {
            if error.kind == .cancelled, !mayContinue {
                noteInterruption()
            } else {
                fail(because: error)
            }
        }
        finish()
        findWaitingRules()
        return report
    }

    /// Throws if triggers would fire and nobody has chosen whether they should.
    private func requireTriggerChoice() throws(StoreError) {
        guard undo.needsTriggerChoice else { return }
        throw StoreError(
            .unsupported, store: writer.name,
            message: "the undo would fire triggers of the store: \(undo.triggers.joined(separator: ", "))",
            hint: "nothing was changed; " + RunReport.Undo.triggerChoices)
    }

    /// Throws if triggers would fire that may delete held rows, or change them so that the hold no longer covers them.
    private static func requireHolds(
        _ undo: RunReport.Undo, _ setup: RunSetup, _ reader: any RetentionReader
    ) throws(StoreError) {
        guard undo.triggerChoice == .fire, !undo.triggers.isEmpty else { return }
        let holds = try HoldPlan(setup.policy, clock: setup.clock(), reader: reader).inForce.filter(\.isThere)
        for table in undo.tables where try reader.entity(named: table.name) != nil {
            // An undo also restores references.
            let found = try reader.obstacle(to: holds.map(\.rows), insertingInto: table.name, replacing: true)
            guard let found else { continue }
            throw StoreError(
                .unsupported, store: reader.name, message: found.text,
                hint: "nothing was changed; --triggers skip restores the rows without these triggers")
        }
    }

    /// Finds the rules that the next run refuses because they would delete restored rows again.
    private func findWaitingRules() {
        guard let recorder, undo.done.restoredCount + undo.done.presentCount + undo.done.referenceCount > 0 else {
            return
        }
        do {
            let now = setup.clock()
            let plan = try Planner(
                policy: setup.policy, asOf: now, clock: now, memory: recorder.memory { _ in nil }, countsAllRows: false
            ).plan(reader: writer)
            report.undo?.waiting = plan.steps.compactMap { step in
                step.refusals.first { $0.code == .restoredRows }.map {
                    .init(rule: step.rule.name, reason: $0.message)
                }
            }
        } catch {
            report.warn(logger, "waiting rules not known", Run.text(of: error))
        }
    }

    /// Throws if the rows have become candles and cannot be restored: they would be counted twice, or lost.
    private static func requireUnchanged(_ tables: [RestorableTable], in store: String) throws(StoreError) {
        func list(_ what: String, _ count: (RestorableTable) -> Int) -> String? {
            let found = tables.filter { count($0) > 0 }
            return found.isEmpty
                ? nil : found.map { "\(Figures.count(count($0), what)) of \($0.table)" }.joined(separator: " and ")
        }
        let message =
            list("candle") { $0.changedCandleCount }.map {
                "\($0) changed or doubled after the run, so the rows that became these candles cannot be restored"
            }
            ?? list("row") { $0.blockedCount }.map {
                "the keys of \($0) that became candles are in use by other rows, so these rows cannot be restored"
            }
        guard let message else { return }
        throw StoreError(
            .unsupported, store: store, message: message,
            hint: "nothing was changed; if a later run, or a later rule of this one, changed them, undo that first")
    }

    private func restore(_ restoration: any Restoration) throws(StoreError) {
        let archivedCount = undo.archivedCount
        setup.observer?.runDidBegin(rule: "undo", expiredCount: archivedCount)
        defer { setup.observer?.runDidEnd() }
        var batch = Rule.BatchSetting()
        batch.targetAlone = .milliseconds(100)
        var pacing = Pacing(batch)
        let pauses = BatchPauses(uptime: setup.uptime, sleep: setup.sleep, mayContinue: { self.mayContinue })
        while true {
            guard mayContinue, try pauses.waitForStore(writer) else { return noteInterruption() }
            let start = setup.uptime()
            let part = try restoration.restoreNext(rows: pacing.rows)
            let elapsed = setup.uptime() - start
            pacing.didCommit(elapsed: elapsed, fixed: writer.fixedElapsed)
            note(part)
            if restoredFirst == nil, undo.done.restoredCount + undo.done.referenceCount > 0 {
                restoredFirst = start
            }
            setup.observer?.runDidDelete(
                deletedCount: undo.done.restoredCount + undo.done.presentCount + undo.done.skippedCount,
                expiredCount: archivedCount)
            if let reason = try writer.boundSideFiles() { report.warn(logger, "side file grows", reason) }
            guard part.hasMore else { break }
            // If this fails, assume that others use the store.
            if let pause = pacing.pause(after: elapsed, isInUseByOthers: { (try? writer.isInUseByOthers()) != false }) {
                pauses.wait(pause)
            }
        }
        if restoration.mayDiffer { try compare() }
    }

    private static let outOfStep = "virtual table out of step"

    /// Reports what triggers have written.
    private func noteTriggers() {
        let found = undo.byTriggers.filter { !$1.isEmpty }.sorted { $0.key < $1.key }.map { name, rows in
            let parts = [
                ("inserted", rows.insertedCount), ("changed", rows.changedCount), ("deleted", rows.deletedCount),
            ].filter { $0.1 != 0 }.map { "\($0) \(Figures.count($1, "row"))" }
            return parts.joined(separator: ", ") + " of " + name
        }
        guard !found.isEmpty else { return }
        report.warn(logger, "triggers fired", "they " + found.joined(separator: "; "))
    }

    private func note(_ part: RestorationPart) {
        for (name, counts) in part.tables {
            guard let index = undo.tables.firstIndex(where: { $0.name == name }) else { continue }
            undo.tables[index].done.add(counts)
        }
        for (name, rows) in part.byTriggers { undo.byTriggers[name, default: TriggeredRows()].add(rows) }
        undo.skippedRows += part.skipped.prefix(RunReport.Undo.mostListed - undo.skippedRows.count)
    }

    /// Counts the rows that the store changed after they were restored.
    private func compare() throws(StoreError) {
        setup.observer?.runDidBegin(stage: "comparing with the archive")
        for table in try writer.restorable(request.restoration) {
            guard let index = undo.tables.firstIndex(where: { $0.name == table.table }) else { continue }
            let changed = undo.tables[index].archived - undo.tables[index].done.skippedCount - table.presentCount
            undo.tables[index].changed = max(0, changed)
            guard changed > 0 else { continue }
            report.warn(
                logger,
                "rows differ from the archive",
                "\(Figures.count(changed, "row")) of \(table.table) \(changed == 1 ? "is" : "are") not what the run deleted, "
                    + "because triggers of the store changed or deleted \(changed == 1 ? "it" : "them") after the restoration"
            )
        }
    }

    // MARK: Stopping

    private var mayContinue: Bool {
        signal() == nil && restoredFirst.map { !setup.isBudgetSpent(since: $0) } ?? true
    }

    private func fail(because error: StoreError) {
        status.note(error)
        let count = Figures.count(undo.done.restoredCount, "row")
        let done =
            undo.done.restoredCount == 0 ? "nothing was restored" : "\(count) restored before it and committed"
        let failure = "\(error.description); \(done)"
        report.failure = failure
        logger.error("undo failed", metadata: ["reason": "\(failure)"])
    }

    private func noteInterruption() {
        undo.isInterrupted = true
        if let number = signal() { status.note(signal: number) } else { status.note(RunStatus.tryAgain) }
        report.warn(logger, "undo stopped", "some rows are not restored yet; run the same undo again to continue")
    }

    /// Records the undo. If that fails, the restored rows stay, and the exit status shows it.
    private func finish() {
        noteTriggers()
        for text in undo.leftOut(of: tables) { report.warn(logger, "\(Self.outOfStep)", text) }
        if undo.hasDifferences { status.note(RunStatus.refused) }
        report.undo = undo
        report.exitCode = status.exitCode
        report.finished = setup.clock()
        report.storeSizeBytes = try? writer.sizeBytes()
        do {
            try recorder?.finish(report)
            report.ledgerHash = try recorder?.chainHead()
        } catch {
            status.note(error)
            report.exitCode = status.exitCode
            report.warn(logger, "undo not recorded", Run.text(of: error))
        }
        var metadata = undo.metadata
        metadata["undoes"] = "\(request.run)"
        metadata["exit_code"] = .init(report.exitCode)
        if !undo.triggers.isEmpty { metadata["triggers"] = undo.triggerChoice.map { "\($0.rawValue)" } }
        metadata["ledger_hash"] = report.ledgerHash.map { "\($0)" }
        logger.info("undo finished", metadata: metadata)
    }
}

extension RunReport.Undo {
    /// The choices about triggers, for messages.
    package static let triggerChoices =
        "--triggers skip (SQLite) restores the rows and nothing else; --triggers fire fires the triggers, which a full-text index needs"

    /// Warnings about virtual tables, such as full-text indexes, that lack the restored rows because the triggers that write them are
    /// skipped.
    fileprivate func leftOut(of restored: [RestorableTable]) -> [String] {
        guard triggerChoice == .skip else { return [] }
        return restored.flatMap { table -> [String] in
            guard let own = tables.first(where: { $0.name == table.table }),
                own.done.restoredCount + own.done.referenceCount + own.done.restoredCandleCount
                    + own.done.deletedCandleCount > 0
            else { return [] }
            return table.indexes.map {
                "--triggers skip leaves \($0.name) without what is restored in \(table.table); after the undo \($0.remedy)"
            }
        }
    }
}

extension Undo.Request {
    /// The report before any row is restored.
    fileprivate func report(rules: [String], _ tables: [RestorableTable]) -> RunReport.Undo {
        var undo = RunReport.Undo(
            run: run, archive: archive.path, rules: rules,
            tables: tables.map { .init(name: $0.table, archived: $0.archivedCount) })
        undo.unarchived = unarchived
        undo.triggers = tables.flatMap { table in table.triggers.map { "\($0) of \(table.table)" } }
        undo.triggerChoice = triggers
        return undo
    }
}
