import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

extension RunSession {
    /// Writes the figures of a run for a monitoring system. If that fails, the run stays done, and its exit code shows the failure.
    func writeMetrics(_ report: inout RunReport) {
        guard policy.metricsFile != nil else { return }
        let ends = try? opening.history().map {
            try $0.ends(of: policy, store: opening.realStorePath(), besides: report.onlyRules)
        }
        do throws(StoreError) {
            try writeFigures(report, after: ends)
        } catch {
            // The run may have found it before its record.
            if !report.warnings.contains("metrics not written: \(error.description)") {
                report.warn(log.logger, "metrics not written", error.description)
            }
            if [0, 65].contains(report.exitCode) || (74...77).contains(report.exitCode) {
                report.exitCode = RunStatus.exitCode(of: error.kind)
            }
        }
    }

    /// Writes the figures of a run that has ended, or of one in progress.
    private func writeFigures(
        _ report: RunReport, after ends: LedgerHistory.Ends?, at now: Instant? = nil
    ) throws(StoreError) {
        guard let path = policy.metricsFile else { return }
        var report = report
        report.config = MetricsText.config(report.config)
        let end = now ?? report.finished
        let expected = policy.expectedEvery.map {
            end.since(Cutoff.instant(asOf: end, maxAge: $0, align: nil, zone: policy.timezone))
        }
        let store = (try? opening.realStorePath()) ?? report.store
        var ends = ends ?? .init()
        // The ledger may be damaged, or there may be none.
        if ends.success == nil {
            let past = figuresOfMany?.pastSuccesses ?? MetricsText.Successes(in: path)
            ends.success = past.end(of: report.config, store: store)
        }
        let figures = MetricsText(
            report, expectedEvery: expected, store: store, version: RetentionCommand.version, ends: ends, now: now)
        if let figuresOfMany { return try figuresOfMany.take(figures, of: policy) }
        // The figures of the other stores stay.
        if !policy.isOneOfMany { try MetricsText.write([figures], to: path) }
    }

    static let timeBetweenFigures = Duration.seconds(15)

    /// What writes the figures of a run in progress; nil: the policy asks for no figures.
    func figuresInProgress(after history: LedgerHistory?) throws -> ((RunReport) throws(StoreError) -> Void)? {
        guard policy.metricsFile != nil else { return nil }
        let ends = try history?.ends(
            of: policy, store: opening.realStorePath(), besides: options.onlyRules(of: policy))
        return { (report) throws(StoreError) in
            try writeFigures(report, after: ends, at: SystemClock.now())
        }
    }

    /// Runs the command of the policy. If that fails, the report has a warning.
    func notify(_ report: inout RunReport) {
        if let problem = notifyCommand(of: report) { report.warn(log.logger, "command of the policy failed", problem) }
    }

    /// The report of a run that could not begin. It has no rules, and the engine is not known.
    func reportOfRunNotCarriedOut(_ error: any Error) -> RunReport {
        var report = RunReport(
            runID: "", mode: .run, asOf: asOf, started: started, config: policy.file.path,
            configSHA256: policy.file.sha256, store: policy.store.written, engine: "")
        report.finished = SystemClock.now()
        report.onlyRules = options.onlyRules(of: policy)
        let status = ExitStatus(of: error)
        report.exitCode = status.code
        report.failure = status.reason
        return report
    }

    /// Records a run that could not begin in the ledger, and gives it an ID. If that fails, there is a warning, unless the ledger is why the
    /// run could not begin.
    ///
    /// A run that found another run in progress is not recorded. A ledger is created only for a missing store, not beside a file that is
    /// not a store, and not beside a dangling link.
    func record(_ report: inout RunReport, because cause: any Error) {
        guard mayRecord, (cause as? RunLock.Failure)?.isHeld != true else { return }
        do {
            if try opening.history() == nil {
                let isMissing = (cause as? StoreError)?.kind == .missing
                guard isMissing, policy.ledger != .besideStore || !opening.isDanglingLink else { return }
            }
            guard let ledger = try opening.recorder() else { return }
            var recorded = report
            recorded.runID = runID
            try ledger.finish(recorded)
            report = recorded
        } catch {
            let file = (error as? StoreError)?.store
            guard file == nil || file != (cause as? StoreError)?.store else { return }
            report.warn(log.logger, "run not recorded", "\(error)")
        }
    }

    /// Runs the command of the policy for a run that could not begin.
    func notifyOfRunNotCarriedOut(_ report: RunReport) {
        if let problem = notifyCommand(of: report) { log.warn("command of the policy failed", problem, console) }
    }

    private func notifyCommand(of report: RunReport) -> String? {
        let words = report.exitCode == 0 ? policy.onSuccess : policy.onFailure
        guard mayNotify, !words.isEmpty else { return nil }
        let problem = NoticeCommand(words, sleep: SystemClock.sleep).run(
            input: TextReport(report, host: MachineFacts.process.host).text, document: report.document,
            variables: [
                ("RETENTION_RUN", report.runID), ("RETENTION_OUTCOME", report.runOutcome.rawValue),
                ("RETENTION_EXIT_CODE", "\(report.exitCode)"), ("RETENTION_CONFIG", report.config),
            ])
        return problem.map(Secrets.hidden)
    }
}
