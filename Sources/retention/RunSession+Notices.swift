import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

extension RunSession {
    /// Writes the figures of a run for a monitoring system. If that fails, the run stays done, and its exit code shows the failure.
    func writeMetrics(_ report: inout RunReport) {
        guard let path = policy.metricsFile else { return }
        let now = report.finished
        let expected = policy.expectedEvery.map {
            now.since(Cutoff.instant(asOf: now, maxAge: $0, align: nil, zone: policy.timezone))
        }
        do throws(StoreError) {
            try ReplacedFile.write(
                MetricsText(report, expectedEvery: expected).text, to: path, as: .figures,
                hint: "check the folder and its permissions, or change metrics.textfile")
        } catch {
            report.warn(log.logger, "metrics not written", error.description)
            if [0, 65].contains(report.exitCode) || (74...77).contains(report.exitCode) {
                report.exitCode = RunStatus.exitCode(of: error.kind)
            }
        }
    }

    /// Runs the command of the policy. If that fails, the report has a warning.
    func notify(_ report: inout RunReport) {
        if let problem = notifyCommand(of: report) { report.warn(log.logger, "command of the policy failed", problem) }
    }

    /// The report of a run that could not begin. It has no rules, and the engine is not known.
    func reportOfRunNotCarriedOut(_ error: any Error) -> RunReport {
        var report = RunReport(
            runID: "", mode: .run, asOf: asOf, started: SystemClock.now(), config: policy.file.path,
            configSHA256: policy.file.sha256, store: policy.store.written, engine: "")
        let status = ExitStatus(of: error)
        report.exitCode = status.code
        report.failure = status.reason
        return report
    }

    /// Records a run that could not begin in the ledger, and gives it an ID. If that fails, there is a warning.
    ///
    /// A run that found another run in progress is not recorded. A ledger is created only for a missing store, not beside a file that is
    /// not a store, and not beside a dangling link.
    func record(_ report: inout RunReport, because error: any Error) {
        guard !(error is RunLock.Failure) else { return }
        do {
            if try opening.ledgerReader() == nil {
                let isMissing = (error as? StoreError)?.kind == .missing
                guard isMissing, policy.ledger != .besideStore || !opening.isDanglingLink else { return }
            }
            guard let writer = try opening.ledgerWriter() else { return }
            let ledger = try RunLedger(
                writer: writer, store: try opening.realStorePath(), links: opening.storeLinks,
                process: MachineFacts.process, keep: policy.ledgerKeep, zone: policy.timezone)
            var recorded = report
            recorded.runID = runID
            try writer.transaction(.normal) {
                try ledger.begin(recorded)
                try ledger.finish(recorded)
            }
            report = recorded
        } catch {
            log.logger.warning("run not recorded", metadata: ["reason": "\(error)"])
        }
    }

    /// Runs the command of the policy for a run that could not begin.
    func notifyOfRunNotCarriedOut(_ report: RunReport) {
        if let problem = notifyCommand(of: report) {
            log.logger.warning("command of the policy failed", metadata: ["reason": "\(problem)"])
        }
    }

    private func notifyCommand(of report: RunReport) -> String? {
        let words = report.exitCode == 0 ? policy.onSuccess : policy.onFailure
        guard !words.isEmpty else { return nil }
        let problem = NoticeCommand(words, sleep: SystemClock.sleep).run(
            input: report.document,
            variables: [
                ("RETENTION_RUN", report.runID), ("RETENTION_OUTCOME", report.ledgerOutcome.rawValue),
                ("RETENTION_EXIT_CODE", "\(report.exitCode)"), ("RETENTION_CONFIG", report.config),
            ])
        return problem.map(Secrets.hidden)
    }
}
