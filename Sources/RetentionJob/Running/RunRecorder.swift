/// Records runs and knows past ones, as the ledger does.
package protocol RunRecorder: AnyObject {
    /// What the guards need to know about earlier runs.
    ///
    /// - Parameter archived: the newest run of a store whose archive is where the policy has it; asked if no run of the store is known.
    func memory(archived: (_ store: String) -> String?) throws -> RunMemory
    /// Records that a run begins, unless that is recorded.
    ///
    /// - Parameter isChanging: whether the run is about to change something; false: the record may wait until then.
    func begin(_ report: RunReport, isChanging: Bool) throws
    /// Records how the current run has ended.
    func finish(_ report: RunReport) throws
    /// The newest hash, which covers everything recorded so far; nil: there is none.
    func chainHead() throws -> String?
    /// What is recorded about some runs of this store, by identifier; unknown runs are missing.
    func recordedRuns(_ identifiers: [String]) throws -> [String: RecordedRun]
}
