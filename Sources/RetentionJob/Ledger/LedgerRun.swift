/// A past run as the ledger tells it.
package struct LedgerRun: Sendable {
    /// How a run ended.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// It has not ended.
        case running
        /// Every rule was carried out.
        case completed
        /// One rule at least was refused, the others were carried out.
        case refused
        /// One rule at least failed, or trouble ended the run.
        case failed
        /// The budget or a signal ended it; rows remain.
        case interrupted
        /// Its process ended without a record of it.
        case crashed
    }

    /// Its place in the order of all runs, from 1.
    package var number: Int
    /// What it found and did; the store is the real path, examples of unreadable values are not recorded.
    package var report: RunReport
    package var outcome: Outcome
    package var process: LedgerProcess

    package init(number: Int, report: RunReport, outcome: Outcome, process: LedgerProcess) {
        self.number = number
        self.report = report
        self.outcome = outcome
        self.process = process
    }
}

/// Who runs the program, and where.
package struct LedgerProcess: Hashable, Sendable {
    package var pid: Int
    package var host: String
    package var user: String
    /// The program's version.
    package var version: String

    package init(pid: Int, host: String, user: String, version: String) {
        self.pid = pid
        self.host = host
        self.user = user
        self.version = version
    }
}

extension RunReport {
    /// The outcome of the whole run: the worst of what happened.
    package var ledgerOutcome: LedgerRun.Outcome {
        if failure != nil || rules.contains(where: { $0.outcome == .failed }) { return .failed }
        if rules.contains(where: { $0.outcome == .interrupted }) { return .interrupted }
        return rules.contains { $0.outcome == .refused } ? .refused : .completed
    }
}
