import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Begins the archive of the rows that a plan deletes.
    ///
    /// - Returns: whether the run may continue; false: the archive cannot be made, and nothing may be deleted.
    func beginArchive(of plan: Plan) -> Bool {
        let steps = plan.archivedSteps
        guard let settings = setup.policy.archive, !steps.isEmpty else { return true }
        let (place, path) =
            switch settings.place {
            case .folder(let path): (ArchiveFolder(path).path, FilePlace.path(report.runID + ".sqlite", in: path))
            case .schema(let name): (name, name)
            }
        do throws(StoreError) {
            try writer.beginArchive(
                ArchiveRequest(
                    place: place, run: report.runID,
                    facts: ["policy_sha256": report.configSHA256, "as_of": report.asOf.rfc3339],
                    rules: steps.map {
                        ArchiveRequest.Rule(name: $0.rule.name, entity: $0.rule.entity, cutoff: $0.cutoff)
                    }))
            archivePath = path
            return true
        } catch {
            end(because: error)
            return false
        }
    }

    /// Completes the archive. An archive that cannot be completed stays as it is, and the run fails.
    func completeArchive() {
        guard let archivePath else { return }
        do {
            if var archive = try writer.completeArchive().map(RunReport.Archive.init) {
                if archive.sizeBytes != nil { archive.sha256 = try FileHash.sha256(ofFile: archive.path) }
                report.archive = archive
            }
        } catch {
            report.archive = RunReport.Archive(path: archivePath, rows: report.archivedCount ?? 0, isComplete: false)
            end(because: error)
        }
    }

    /// Fails each rule whose archived and deleted rows differ in number.
    func compareArchived() {
        for index in report.rules.indices {
            guard let difference = report.rules[index].done.archiveDifference else { continue }
            report.rules[index].outcome = .failed
            status.note(RunStatus.refused)
            report.rules[index].message =
                [report.rules[index].message, difference].compactMap(\.self).joined(separator: "; ")
        }
    }

    /// Reports until when the archive of this run is kept.
    func noteArchiveEnd() {
        let finished = report.finished
        report.archive?.until = setup.policy.archive?.keep.map {
            Cutoff.end(of: $0, from: finished, zone: setup.policy.timezone)
        }
    }

    /// Finds the archives that are kept no longer, whatever the run did. Warns of incomplete ones.
    func findOldArchives() -> [OldArchive] {
        guard trustsClock, let recorder, let settings = setup.policy.archive else { return [] }
        do {
            let age = ArchiveAge(keep: settings.keep, zone: setup.policy.timezone)
            let findings: (expired: [OldArchive], warnings: [String])
            switch settings.place {
            case .folder(let path): findings = try oldArchives(in: ArchiveFolder(path), age, recorder)
            case .schema(let name): findings = try oldArchives(inStore: name, age, recorder)
            }
            for warning in findings.warnings { report.warn(logger, "archive not complete", warning) }
            return findings.expired
        } catch {
            // What ended the run is not said again.
            let reason = Self.text(of: error)
            if report.failure?.hasPrefix(reason) != true { report.warn(logger, "old archives not removed", reason) }
            return []
        }
    }

    private func oldArchives(
        in folder: ArchiveFolder, _ age: ArchiveAge, _ recorder: any RunRecorder
    ) throws -> ([OldArchive], [String]) {
        guard let open = setup.openArchive, FilePlace(folder.path).facts != nil else { return ([], []) }
        try folder.check()
        let archives = OldArchives(folder: folder, age: age, open: open)
        let findings = try archives.findings(
            now: report.finished, besides: report.runID, isAfterCrash: isAfterCrash, recorded: recorder.recordedRuns)
        return (
            findings.expired.map { archive in OldArchive(name: archive.path) { archives.remove(archive) } },
            findings.warnings
        )
    }

    /// The archives in the store itself.
    private func oldArchives(
        inStore place: String, _ age: ArchiveAge, _ recorder: any RunRecorder
    ) throws -> ([OldArchive], [String]) {
        let found = try writer.archives(in: place).filter { $0.run != report.runID && RunID.isRunID($0.run) }
        guard !found.isEmpty else { return ([], []) }
        let records = try recorder.recordedRuns(found.map(\.run))
        let expired = found.filter { age.isPast($0.run, records[$0.run], now: report.finished) }
        let told = found.filter { !$0.isComplete && (isAfterCrash || expired.contains($0)) }
        let warnings = told.map { archive in
            "the archive of run \(archive.run) in \(place) is not complete, because its run did not end normally: it has "
                + "copies of exactly the rows that the run deleted, and can be undone; "
                + (expired.contains(archive) ? "it is removed now" : "it is kept until archive.keep is over")
        }
        return (
            expired.map { archive in
                OldArchive(name: "\(place), run \(archive.run)") { [writer] in
                    do throws(StoreError) {
                        try writer.removeArchive(of: archive.run, in: place)
                        return nil
                    } catch {
                        return error.description
                    }
                }
            }, warnings
        )
    }

    /// Removes archives that are kept no longer. One that cannot be removed stays, and gives a warning.
    func remove(_ expired: [OldArchive]) {
        for archive in expired {
            if let problem = archive.remove() {
                report.warn(logger, "old archive not removed", problem)
            } else {
                logger.info("old archive removed", metadata: ["archive_path": "\(archive.name)"])
            }
        }
    }
}
