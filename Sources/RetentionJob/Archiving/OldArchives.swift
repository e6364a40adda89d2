@preconcurrency import Glibc
package import PriceStore
package import RetentionPolicy

/// What past runs recorded about a run and its archive.
package struct RecordedRun: Hashable, Sendable {
    /// When the run ended; nil: no end is recorded.
    package var ended: Instant?
    /// Whether its archive is complete.
    package var hasCompleteArchive: Bool
    /// Until when its archive is kept, as the run recorded it; nil: no date is recorded.
    package var archiveUntil: Instant?

    package init(ended: Instant?, hasCompleteArchive: Bool, archiveUntil: Instant?) {
        self.ended = ended
        self.hasCompleteArchive = hasCompleteArchive
        self.archiveUntil = archiveUntil
    }
}

/// An archive that is kept no longer.
struct OldArchive {
    var name: String
    /// Removes the archive. Returns why that failed, as a sentence; nil: it is removed.
    var remove: () -> String?
}

/// How long archives are kept.
package struct ArchiveAge: Sendable {
    /// How long after the end of its run an archive is kept; nil: forever.
    let keep: MaxAge?
    let zone: CalendarZone

    /// Whether a run's archive is kept no longer.
    ///
    /// The age counts from the recorded end of the run, or from its start, which the identifier contains. The archive is kept at least
    /// until the date that its run recorded, even if the policy now keeps archives for less time. Without a record that date is unknown:
    /// the run may belong to another ledger.
    func isPast(_ run: String, _ record: RecordedRun?, now: Instant) -> Bool {
        guard let keep, let record, let ended = record.ended ?? RunID.start(of: run) else { return false }
        if let until = record.archiveUntil, until > now { return false }
        return ended < Cutoff.instant(asOf: now, maxAge: keep, align: nil, zone: zone)
    }
}

/// Finds the archives of one store in a folder that are kept no longer, and removes them.
///
/// An archive is recognised by its name, `<RUN>.sqlite`, and by its content: it has the application id of archives and names this run,
/// which the ledger knows. No other file is ever removed. Links and folders with the name of an archive are left alone.
package struct OldArchives {
    /// An archive that can be removed.
    package struct Archive: Hashable, Sendable {
        package var run: String
        package var path: String
        package var isComplete: Bool
        fileprivate var name: String
        fileprivate var mark: FilePlace.Mark
    }

    /// What is in the folder.
    package struct Findings: Hashable, Sendable {
        /// Archives that are kept no longer, the oldest first.
        package var expired: [Archive] = []
        /// Archives that are incomplete or cannot be read, each as a sentence.
        package var warnings: [String] = []
    }

    private let folder: String
    private let age: ArchiveAge
    private let open: (String) throws -> any RetentionReader

    /// Creates the archives of a store.
    ///
    /// - Parameters:
    ///   - folder: the folder, already checked.
    ///   - open: opens a file for reading if it has the application id of archives; otherwise throws.
    package init(
        folder: ArchiveFolder, age: ArchiveAge, open: @escaping (String) throws -> any RetentionReader
    ) {
        self.folder = folder.path
        self.age = age
        self.open = open
    }

    /// Finds archives that are kept no longer, and incomplete ones. Changes nothing.
    ///
    /// - Parameters:
    ///   - current: the run in progress; its archive is left alone.
    ///   - recorded: what is recorded about some runs of this store, by identifier.
    ///   - isAfterCrash: whether this is the first run after a crash: it warns of the incomplete ones that are kept.
    package func findings(
        now: Instant, besides current: String, isAfterCrash: Bool,
        recorded: ([String]) throws -> [String: RecordedRun]
    ) throws -> Findings {
        let runs = Self.runs(in: folder).filter { $0 != current }
        guard !runs.isEmpty else { return Findings() }
        let records = try recorded(runs)
        var findings = Findings()
        for run in runs {
            // A file that no known run of this store made belongs to somebody else.
            guard let record = records[run] else { continue }
            let isPast = age.isPast(run, record, now: now)
            // A complete archive is opened only when it is kept no longer, not every night.
            if !isPast, record.hasCompleteArchive { continue }
            if isPast || isAfterCrash { look(at: run, isPast: isPast, &findings) }
        }
        return findings
    }

    private func look(at run: String, isPast: Bool, _ findings: inout Findings) {
        let name = run + Self.ending
        let path = FilePlace.path(name, in: folder)
        var facts = stat()
        // No run makes a file with a second name, a link or a folder.
        guard lstat(path, &facts) == 0, facts.isRegularFile, facts.st_nlink == 1 else { return }
        let mark = FilePlace.Mark(facts)
        let isComplete: Bool?
        do {
            isComplete = try self.isComplete(run, path)
        } catch {
            findings.warnings.append(
                "\(path) cannot be read and is not removed: \((error as? StoreError)?.message ?? "\(error)")")
            return
        }
        guard let isComplete else { return }
        if isPast {
            findings.expired.append(
                Archive(
                    run: run, path: path, isComplete: isComplete, name: name, mark: mark))
        }
        if !isComplete {
            findings.warnings.append(
                "\(path) is not complete, because its run did not end normally: it has copies of all rows that the run "
                    + "deleted with an archive, and perhaps of some that it did not; "
                    + (isPast ? "it is removed now" : "it can be undone until archive.keep is over"))
        }
    }

    /// Whether a file is a complete archive of a run; nil: it is not an archive, or it belongs to another run.
    private func isComplete(_ run: String, _ path: String) throws -> Bool? {
        let facts = try Self.facts(open(path))
        guard facts["run"] == .text(run) else { return nil }
        return facts["complete"] == .integer(1) || facts["complete"] == .text("1")
    }

    /// What an archive says of itself; empty: it is none.
    private static func facts(_ reader: any RetentionReader) throws -> [String: StoreValue] {
        guard let entity = try reader.entity(named: factsEntity), entity.kind == .table else { return [:] }
        return try reader.fetch(StoreFetchRequest(entity: factsEntity), attributes: ["name", "value"])
            .reduce(into: [:]) { facts, row in if let name = row[0].string { facts[name] = row[1] } }
    }

    /// The newest run of a store that has an archive where a policy has them; nil: there is none. What cannot be read is left out.
    package static func newest(
        of store: String, _ policy: Policy, in reader: any RetentionReader,
        _ open: (String) throws -> any RetentionReader
    ) -> String? {
        switch policy.archive?.place {
        case .folder(let folder)?:
            runs(in: folder).last { run in
                let facts = try? facts(open(FilePlace.path(run + ending, in: folder)))
                return facts?["store"] == .text(store)
            }
        case .schema(let name)?: (try? reader.archives(in: name))?.map(\.run).max()
        case nil: nil
        }
    }

    /// The table of an archive that describes it, see docs/decisions/0025.
    private static let factsEntity = "retention_archive"
    private static let ending = ".sqlite"

    /// The runs for which the folder has a file with the name of an archive, the oldest first.
    package static func runs(in folder: String) -> [String] {
        PendingPattern.names(in: folder, matching: "*" + ending).map { String($0.dropLast(ending.count)) }
            .filter(RunID.isRunID)
    }

    // MARK: Removing

    /// Removes an archive from the findings.
    ///
    /// - Returns: why it could not be removed, as a sentence; nil: it is removed.
    package func remove(_ archive: Archive) -> String? {
        func problem(_ what: String) -> String { "\(archive.path) was not removed: \(what)" }
        let place = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard place >= 0 else { return problem(String(systemError: errno)) }
        defer { close(place) }
        var facts = stat()
        let sideFiles = ["-journal", "-wal", "-shm"].map { archive.name + $0 }
            .filter { fstatat(place, $0, &facts, AT_SYMLINK_NOFOLLOW) == 0 }
        // A run leaves a complete archive as one file.
        if archive.isComplete, let name = sideFiles.first {
            return problem("\(name) is beside it, so another program has it open or has changed it")
        }
        guard fstatat(place, archive.name, &facts, AT_SYMLINK_NOFOLLOW) == 0, facts.isRegularFile,
            FilePlace.Mark(facts) == archive.mark
        else { return problem("another file is in its place") }
        for name in sideFiles where unlinkat(place, name, 0) != 0 {
            return problem("\(name): \(String(systemError: errno))")
        }
        return unlinkat(place, archive.name, 0) == 0 ? nil : problem(String(systemError: errno))
    }
}
