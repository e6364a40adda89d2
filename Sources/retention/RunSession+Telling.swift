import Logging
import PriceStore
import RetentionJob
import RetentionPolicy

extension RunSession {
    /// Writes the figures of a run for a monitoring system. A file that cannot be written does not undo the run, but its
    /// exit code tells.
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
            warn(&report, "metrics not written", error.description)
            if [0, 65].contains(report.exitCode) || (74...77).contains(report.exitCode) {
                report.exitCode = RunStatus.exitCode(of: error.kind)
            }
        }
    }

    /// Tells the command of the policy how the run went. What goes wrong with it is a warning.
    func notify(_ report: inout RunReport) {
        if let problem = tellCommand(of: report) { warn(&report, "command of the policy failed", problem) }
    }

    /// Tells the command of the policy that there was no run, with a report that has no rules.
    func notifyOfRunNotCarriedOut(_ error: any Error) {
        let now = SystemClock.now()
        var report = RunReport(
            runID: "", mode: .run, asOf: asOf, started: now, config: policy.file.path, configSHA256: policy.file.sha256,
            store: policy.store.written, engine: "")
        let status = ExitStatus(of: error)
        report.exitCode = status.code
        report.failure = status.lines.joined(separator: "\n")
        if let problem = tellCommand(of: report) {
            log.logger.warning("command of the policy failed", metadata: ["reason": "\(problem)"])
        }
    }

    private func tellCommand(of report: RunReport) -> String? {
        let words = report.exitCode == 0 ? policy.onSuccess : policy.onFailure
        return NoticeCommand(words, sleep: SystemClock.sleep).run(
            input: JSONReport(report).text,
            variables: [
                ("RETENTION_RUN", report.runID), ("RETENTION_OUTCOME", report.ledgerOutcome.rawValue),
                ("RETENTION_EXIT_CODE", "\(report.exitCode)"), ("RETENTION_CONFIG", report.config),
            ])
    }

    private func warn(_ report: inout RunReport, _ message: Logger.Message, _ reason: String) {
        report.warnings.append("\(message): \(reason)")
        log.logger.warning(message, metadata: ["reason": "\(reason)"])
    }
}
