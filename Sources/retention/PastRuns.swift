@preconcurrency import Glibc
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The recorded runs of a policy's store.
struct PastRuns {
    private let opening: StoreOpening

    init(_ opening: StoreOpening) { self.opening = opening }

    /// All runs of the store that a query names, newest last, with what is known of their archives.
    func runs(_ query: LedgerHistory.Query) throws -> [LedgerRun] {
        guard let reader = try opening.ledgerReader() else { return [] }
        return try LedgerHistory(reader: reader).runs(query) { opening.isRunAtWork(on: $0) }.map { run in
            var run = run
            run.report.archive = run.report.archive ?? archiveLeft(by: run)
            run.isArchiveThere = run.report.archive.flatMap { ArchiveFolder.hasFile($0.path) }
            return run
        }
    }

    /// The archive that a crashed run left where the policy says; nil: there is none.
    private func archiveLeft(by run: LedgerRun) -> RunReport.Archive? {
        guard run.outcome == .crashed, let folder = opening.policy.archive?.folder else { return nil }
        let path = FilePlace.path(run.report.runID + ".sqlite", in: ArchiveFolder(folder).path)
        return ArchiveFolder.hasFile(path) == true ? RunReport.Archive(path: path, rows: 0, isComplete: false) : nil
    }

    /// The runs of this store that have an archive.
    func withArchives() throws -> [LedgerRun] {
        let store = try opening.realStorePath()
        var found = try runs(.init()).filter { $0.report.store == store }
        // The ledger does not know what a crashed run has archived.
        if case .schema(let schema)? = opening.policy.archive?.place, found.contains(where: { $0.outcome == .crashed })
        {
            let left = Set(try opening.reader().archives(in: schema).map(\.run))
            for index in found.indices
            where found[index].outcome == .crashed && left.contains(found[index].report.runID) {
                found[index].report.archive = RunReport.Archive(path: schema, rows: 0, isComplete: false)
            }
        }
        return found.filter { $0.report.archive != nil }
    }

    /// The run of this store whose ID begins so.
    ///
    /// - Parameter formerStore: where the store was at the time of the run; nil: where it is now.
    func run(_ id: String, formerStore: String?) throws -> LedgerRun {
        let found = try runs(.init(run: id))
        guard let first = found.first else {
            throw CommandFailure(
                exitCode: 66, message: "run not found: no ID begins with '\(id)'",
                hint: "retention undo --list shows the runs that have an archive; dry runs are not recorded")
        }
        guard found.count == 1 || first.report.runID == id else {
            throw CommandFailure.usage("'\(id)' matches \(found.count) runs", hint: "write more of the ID")
        }
        guard try first.report.store == formerStore ?? opening.realStorePath() else {
            throw CommandFailure(
                exitCode: 65, message: "run \(first.report.runID) is of another store: \(first.report.store)",
                hint:
                    "name the policy of that store with -c; if the store was moved, pass --moved-from \(first.report.store)"
            )
        }
        guard formerStore.map({ access($0, F_OK) != 0 }) ?? true else {
            throw CommandFailure(
                exitCode: 65, message: "the store was not moved: a file is still at \(first.report.store)",
                hint: "name the policy of that store with -c")
        }
        return first
    }

    /// Throws unless a run is what was recorded.
    func verify(_ run: LedgerRun) throws {
        guard let reader = try opening.ledgerReader(),
            let fault = try LedgerVerification.fault(ofRun: run.number, reader)
        else { return }
        throw CommandFailure(
            exitCode: 74, message: "the ledger is not what was recorded: \(fault.message)",
            hint: "nothing was changed; see retention log --verify, and restore the ledger from a backup")
    }
}
