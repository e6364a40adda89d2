/// Where runs are recorded, and what is known of past ones. The ledger is one.
package protocol RunRecorder: AnyObject {
    /// What the guards need to know of the runs before this one.
    func memory() throws -> RunMemory
    /// Records that a run begins.
    func begin(_ report: RunReport) throws
    /// Records how the run that was begun has ended.
    func finish(_ report: RunReport) throws
    /// The newest hash, which covers everything recorded so far; nil if there is none.
    func chainHead() throws -> String?
    /// What is recorded of some runs of this store, by their identifiers; unknown runs are missing.
    func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun]
}

extension RunRecorder {
    /// Nil: a recorder need not keep a chain.
    package func chainHead() throws -> String? { nil }

    /// None: a recorder need not know of archives.
    package func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun] { [:] }
}
