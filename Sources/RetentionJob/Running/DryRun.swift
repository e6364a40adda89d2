package import PriceStore

/// A run without its deletes: the same plan, told and not carried out. It is never given a writer.
package struct DryRun {
    package var setup: RunSetup
    /// What past runs say; a dry run reads the ledger and does not write it.
    package var memory: RunMemory

    package init(setup: RunSetup, memory: RunMemory = RunMemory()) {
        self.setup = setup
        self.memory = memory
    }

    /// Foretells what a run at this instant would save and delete.
    ///
    /// - Parameter rehearsal: the store as it would be after the pending files, see ``StoreInserter``; it must not
    ///   change a byte.
    /// - Throws: ``StoreError`` if the store cannot be read, ``PolicyError/invalid(_:_:)`` if the policy does not fit
    ///   it.
    package func perform(rehearsal: any StoreInserter) throws -> RunReport {
        var report = setup.report(mode: .dryRun, engine: rehearsal.engine)
        try setup.check(rehearsal)
        // All counts are of one state of the store, whatever others write meanwhile.
        try rehearsal.transaction(.normal) {
            report.pending = try setup.pending(rehearsal)
            let plan = try setup.plan(rehearsal, memory: memory, countsAllRows: true)
            report.rules = plan.steps.map(\.foretellingReport)
            report.warnings = plan.warningsOfUnreadable.map { "no date can be read: \($0)" }
        }
        var status = RunStatus()
        status.note(report)
        report.exitCode = status.exitCode
        report.finished = setup.clock()
        return report
    }
}
