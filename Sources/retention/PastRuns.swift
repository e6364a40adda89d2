import PriceStore
import RetentionJob
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
            run.isArchiveThere = run.report.archive.flatMap { ArchiveFolder.hasFile($0.path) }
            return run
        }
    }

    /// The runs of this store that have an archive.
    func withArchives() throws -> [LedgerRun] {
        let store = try opening.realStorePath()
        return try runs(.init()).filter { $0.report.store == store && $0.report.archive != nil }
    }

    /// The run of this store whose ID begins so.
    func run(_ id: String) throws -> LedgerRun {
        let found = try runs(.init(run: id))
        guard let first = found.first else {
            throw CommandFailure(
                exitCode: 66, message: "run not found: no ID begins with '\(id)'",
                hint: "retention undo --list shows the runs that have an archive; dry runs are not recorded")
        }
        guard found.count == 1 || first.report.runID == id else {
            throw CommandFailure.usage("'\(id)' matches \(found.count) runs", hint: "write more of the ID")
        }
        guard try first.report.store == opening.realStorePath() else {
            throw CommandFailure(
                exitCode: 65, message: "run \(first.report.runID) is of another store: \(first.report.store)",
                hint: "name the policy of that store with -c")
        }
        return first
    }
}
