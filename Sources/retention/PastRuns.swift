@preconcurrency import Glibc
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The recorded runs of a policy's store.
struct PastRuns {
    private let opening: StoreOpening

    init(_ opening: StoreOpening) { self.opening = opening }

    /// All runs of the store that a query finds, newest last, with what is known of their archives.
    ///
    /// - Parameter store: of many stores, the one whose runs are read.
    func runs(_ query: LedgerHistory.Query, of store: String? = nil) throws -> [LedgerRun] {
        guard let history = try opening.history() else { return [] }
        let now = SystemClock.now()
        return try history.runs(query, of: store) { opening.isRunAtWork(on: $0) }.map { run in
            var run = run
            run.report.archive = run.report.archive ?? archiveLeft(by: run)
            run.isArchiveThere = run.report.archive.flatMap { ArchiveFolder.hasFile($0.path) }
            // The folder of the archives may have been moved with the store.
            if run.isArchiveThere == false, let path = archivePath(of: run), ArchiveFolder.hasFile(path) == true {
                run.report.archive?.path = path
                run.isArchiveThere = true
            }
            if run.isArchiveThere == true, let archive = run.report.archive, !archive.isComplete {
                run.isArchiveEmpty = ArchiveFolder.isEmpty(archive.path)
            }
            run.isArchivePast = run.report.archive?.until.map { $0 < now } ?? false
            return run
        }
    }

    /// The archive that a crashed run left in the policy's place for archives; nil: there is none.
    private func archiveLeft(by run: LedgerRun) -> RunReport.Archive? {
        guard run.outcome == .crashed, let path = archivePath(of: run) else { return nil }
        return ArchiveFolder.hasFile(path) == true ? .left(at: path) : nil
    }

    /// The path of a run's archive according to the policy; nil: archives are not in a folder.
    private func archivePath(of run: LedgerRun) -> String? {
        opening.policy.archive?.folder.map {
            FilePlace.path(run.report.runID + ".sqlite", in: ArchiveFolder($0).path)
        }
    }

    func ofStore(_ query: LedgerHistory.Query = .init()) throws -> [LedgerRun] {
        guard let history = try opening.history() else { return [] }
        let store = try opening.realStorePath()
        var ofAll = query
        ofAll.last = nil
        let found = try runs(ofAll, of: store).filter { history.isRun($0, of: store) }
        return query.last.map { Array(found.suffix($0)) } ?? found
    }

    /// The files of the other policies that have runs of this store.
    func otherPolicies() throws -> Set<String> {
        guard let history = try opening.history() else { return [] }
        return Set(try history.otherPolicies(than: opening.policy, store: opening.realStorePath()))
    }

    /// The runs of the policy on this store, and those of other policies.
    func ofPolicy() throws -> (own: [LedgerRun], others: [LedgerRun]) {
        let others = try otherPolicies()
        let runs = Dictionary(grouping: try ofStore()) { others.contains($0.report.config) }
        return (runs[false] ?? [], runs[true] ?? [])
    }

    /// What to do with archives in the policy's folder whose runs the ledger does not know; nil: there are none.
    func noteOfUnknownArchives() throws -> String? {
        guard let folder = opening.policy.archive?.folder, case let found = OldArchives.runs(in: folder), !found.isEmpty
        else { return nil }
        let known = Set(try runs(.init()).map(\.report.runID))
        let unknown = found.filter { !known.contains($0) }
        guard let newest = unknown.last else { return nil }
        return "\(folder) has \(Figures.count(unknown.count, "archive")) of runs that the ledger does not know, the "
            + "newest is \(newest).sqlite: to undo these runs, put their ledger back; any program for SQLite reads an "
            + "archive"
    }

    /// Whether a run is the newest of the policy on its store that is no undo.
    func isLast(_ run: LedgerRun) throws -> Bool {
        let store = run.report.store
        let own =
            try opening.policy.stores == nil
            ? ofPolicy().own : runs(.init(), of: store).filter { $0.report.store == store }
        return own.last { $0.report.undo == nil }?.number == run.number
    }

    func withArchives() throws -> [LedgerRun] {
        var found = try ofStore()
        // The ledger does not know what a crashed run archived.
        if case .schema(let schema)? = opening.policy.archive?.place, found.contains(where: { $0.outcome == .crashed })
        {
            let left = Set(try opening.reader().archives(in: schema).map(\.run))
            for index in found.indices
            where found[index].outcome == .crashed && left.contains(found[index].report.runID) {
                found[index].report.archive = .left(at: schema)
            }
        }
        return found.filter { $0.report.archive != nil }
    }

    /// How tables name the runs, so that ``run(_:)`` finds them.
    func names() throws -> RunNames {
        let known = try opening.history()?.identifiers()
        return RunNames(known ?? [], now: SystemClock.now())
    }

    /// The word for the newest run.
    static let last = "last"

    /// The run of this store whose ID begins with the given text; for ``last`` the newest of the policy that has deleted rows.
    func run(_ id: String) throws -> LedgerRun {
        if id.lowercased() == Self.last {
            // Nobody has counted what a run without an end has deleted.
            let found = try ofPolicy().own.last { run in
                run.report.undo == nil
                    && ([.crashed, .running].contains(run.outcome)
                        || run.report.rules.contains { $0.done.goneCount > 0 })
            }
            guard let found else {
                throw CommandFailure(
                    exitCode: 66, message: "no recorded run of this policy has deleted rows",
                    hint: try noteOfUnknownArchives() ?? "retention log shows all runs")
            }
            return found
        }
        let found = try runs(.init(run: id))
        guard let first = found.first else {
            throw CommandFailure(
                exitCode: 66, message: "run not found: no ID begins with '\(id)'",
                hint: "retention undo --list shows the runs that have an archive; the newest is called \(Self.last)")
        }
        guard found.count == 1 || first.report.runID == id else {
            throw CommandFailure.usage("'\(id)' matches \(found.count) runs", hint: "give more characters of the ID")
        }
        guard try !ofStore(.init(run: id)).isEmpty else {
            throw CommandFailure(
                exitCode: 65, message: "run \(first.report.runID) is of another store: \(first.report.store)",
                hint: "name the policy of that store with -c; if this store was there, move it back for the undo")
        }
        return first
    }

    /// Throws unless the record of a run is unchanged.
    func verify(_ run: LedgerRun) throws {
        guard let reader = try opening.ledgerReader(),
            let fault = try LedgerVerification.fault(ofRuns: [run.number], reader)
        else { return }
        throw CommandFailure(
            exitCode: 74, message: "the ledger is not what was recorded: \(fault.message)",
            hint: "nothing was changed; see retention log --verify, and restore the ledger from a backup")
    }
}
