import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Fails each rule whose archived rows are not as many as the rows that it deleted.
    func compareArchived() {
        for index in report.rules.indices {
            guard let difference = report.rules[index].archiveDifference else { continue }
            report.rules[index].outcome = .failed
            let earlier = report.rules[index].message.map { $0 + "; " } ?? ""
            report.rules[index].message = "\(earlier)\(difference)"
        }
    }

    /// Tells until when the archive of this run is kept.
    func noteArchiveEnd() {
        guard let keep = setup.policy.archive?.keep else { return }
        report.archive?.until = Cutoff.end(of: keep, from: report.finished, zone: setup.policy.timezone)
    }

    /// The archives that are past their time, after a run with exit status 0; nil: none is to be removed. Warns of those that
    /// are not complete.
    func findOldArchives() -> (OldArchives, [OldArchives.Archive])? {
        // A clock that is in doubt says nothing about the age of an archive.
        guard report.exitCode == 0, !report.rules.isEmpty, let open = setup.openArchive, let recorder,
            let settings = setup.policy.archive, let folder = settings.folder.map(ArchiveFolder.init),
            FilePlace(folder.path).facts != nil
        else { return nil }
        do {
            try folder.check()
            let archives = OldArchives(
                folder: folder, keep: settings.keep, zone: setup.policy.timezone, store: writer.storeIdentifier, open: open)
            let findings = try archives.findings(
                now: report.finished, besides: report.runID, recorded: recorder.recordedRuns)
            for warning in findings.warnings { warn("archive not complete", warning) }
            return findings.expired.isEmpty ? nil : (archives, findings.expired)
        } catch {
            warn("old archives not removed", Self.text(of: error))
            return nil
        }
    }

    /// Removes archives that are past their time. What cannot be removed stays, and is a warning.
    func remove(_ archives: OldArchives, _ expired: [OldArchives.Archive]) {
        for archive in expired {
            if let problem = archives.remove(archive) {
                warn("old archive not removed", problem)
            } else {
                logger.info("old archive removed", metadata: ["archive": "\(archive.path)"])
            }
        }
    }
}
