import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Begins the archive of the rows that a plan deletes.
    ///
    /// - Returns: whether the run may go on; false: the archive cannot be made, and nothing may be deleted.
    func beginArchive(of plan: Plan) -> Bool {
        let steps = plan.archivedSteps
        guard let settings = setup.policy.archive, !steps.isEmpty else { return true }
        let place =
            switch settings.place {
            case .folder(let path): ArchiveFolder(path).path
            case .schema(let name): name
            }
        do throws(StoreError) {
            try writer.beginArchive(
                ArchiveRequest(
                    place: place, run: report.runID,
                    facts: ["policy_sha256": report.configSHA256, "as_of": report.asOf.rfc3339],
                    rules: steps.map {
                        ArchiveRequest.Rule(name: $0.rule.name, entity: $0.rule.entity, cutoff: $0.cutoff)
                    }))
            hasArchive = true
            return true
        } catch {
            end(because: error)
            return false
        }
    }

    /// Completes the archive that was begun. One that cannot be completed stays as it is, and the run fails.
    func completeArchive() {
        guard hasArchive else { return }
        do {
            guard var archive = try writer.completeArchive().map(RunReport.Archive.init) else { return }
            if archive.sizeBytes != nil { archive.sha256 = try FileHash.sha256(ofFile: archive.path) }
            report.archive = archive
        } catch {
            let place = setup.policy.archive?.folder.map { FilePlace.path(report.runID + ".sqlite", in: $0) }
            report.archive = RunReport.Archive(path: place ?? "", rows: report.archivedCount ?? 0, isComplete: false)
            end(because: error)
        }
    }

    /// Fails each rule whose archived rows are not as many as the rows that it deleted.
    func compareArchived() {
        for index in report.rules.indices {
            guard let difference = report.rules[index].archiveDifference else { continue }
            report.rules[index].outcome = .failed
            status.hasRefusedRule = true
            let earlier = report.rules[index].message.map { $0 + "; " } ?? ""
            report.rules[index].message = "\(earlier)\(difference)"
        }
    }

    /// Tells until when the archive of this run is kept.
    func noteArchiveEnd() {
        guard let keep = setup.policy.archive?.keep else { return }
        let until = Cutoff.end(of: keep, from: report.finished, zone: setup.policy.timezone)
        report.archive?.until = until
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
                folder: folder, keep: settings.keep, zone: setup.policy.timezone, store: writer.storeIdentifier,
                open: open)
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

extension RunSetup {
    /// Throws ``StoreError`` unless the archive of a plan can be made. Nothing is checked if nothing is archived, or if the
    /// archives are on a server.
    func checkArchive(for plan: Plan, in reader: any StoreReader) throws(StoreError) {
        guard let folder = policy.archive?.folder.map(ArchiveFolder.init), !plan.archivedSteps.isEmpty else { return }
        try folder.check()
        try folder.requireSpace(for: plan, in: reader)
    }
}
