@preconcurrency import Glibc
// Declares timespec where it is loaded before Glibc.
import SwiftOverlayShims
import Logging
import PriceObjects
import PriceStore
import RetentionPolicy

/// The pending step of one run: imports files one by one and counts rows.
final class PendingStep {
    let inserter: any RetentionInserter
    private(set) var report = RunReport.Pending()
    /// Nil in a dry run.
    let writer: (any RetentionWriter)?
    private let now: Instant
    private let dates: PendingDates
    let pauses: BatchPauses
    private let logger: Logger
    let note: (String) -> Void
    /// The entries of the record, by path.
    var taken: [String: TakenFiles.Entry] = [:]
    /// Files that an earlier run saved in part, or saved but did not move: they begin with the text of their entry.
    var begun: [String: PendingFile] = [:]
    /// Entries whose file is missing, or is now another file.
    var lost: [TakenFiles.Entry] = []
    /// Why a file must not be imported, by path.
    var refused: [String: String] = [:]
    /// Entities for which the store refuses imports, in lower case.
    private var failed: Set<String> = []
    private var seen: Set<String> = []

    init(
        inserter: any RetentionInserter, now: Instant, dates: PendingDates, pauses: BatchPauses, logger: Logger,
        note: @escaping (String) -> Void
    ) {
        self.inserter = inserter
        writer = inserter as? any RetentionWriter
        self.now = now
        self.dates = dates
        self.pauses = pauses
        self.logger = logger
        self.note = note
    }

    /// Counts a file that cannot be imported.
    func report(problem: String) {
        report.problems.append(problem)
        logger.warning("pending file left", metadata: ["reason": "\(problem)"])
    }

    /// Notes that files, or rows of a file, are left to the next run because this run was stopped.
    func noteInterruption() { report.isInterrupted = true }

    /// Imports the rows of a file and moves it to `done/`. A file that was already processed is skipped.
    func take(_ file: PendingPattern.File, of source: PendingSource, into entity: Entity) throws {
        guard seen.insert(file.path).inserted else { return }
        do {
            if let reason = refused[file.path] { throw FileProblem(reason) }
            if failed.contains(entity.name.folded) {
                throw FileProblem("waits until rows of \(entity.name) can be imported")
            }
            let bytes = try begun[file.path] ?? open(file)
            guard let progress = try progress(file, bytes, entity.name) else { return noteInterruption() }
            if progress.isComplete, progress == taken[file.path] {
                return try finish(file, bytes, progress)
            }
            var mapping = try RowMapping(source, entity: entity, dates: dates)
            let reader = try self.reader(of: bytes, named: file.name, for: &mapping)
            var work = try PendingImport(
                file, bytes, from: progress, reader, mapping, source.onConflict, into: inserter, pauses: pauses,
                now: now)
            let end: PendingImport.End
            do {
                defer { count(work.counts) }
                end = try work.run()
            }
            if let warning = work.warning { note("\(file.displayName): \(warning)") }
            switch end {
            case .changed:
                wait(file, "changed while it was read, and waits for the next run")
            case .stopped:
                noteInterruption()
                // A dry run ends without counts.
                guard writer != nil else { return }
                wait(
                    file,
                    work.progress.savedBytes > 0
                        ? "is saved in part; the next run continues with the rest" : "waits for the next run")
            case .complete:
                report.files += 1
                log(file, entity, work.counts)
                if let writer { try moveToDone(file, bytes, writer) }
            }
        } catch let problem as FileProblem {
            report(problem: "\(file.displayName): \(problem.reason)")
        } catch let error as StoreError where [.constraint, .unsupported].contains(error.kind) {
            // The cause is a trigger or its index: other entities are not affected.
            failed.insert(entity.name.folded)
            report.failures[entity.name] = error.description
            report(problem: "\(file.displayName): \(error.description)")
        }
    }

    private func count(_ counts: StoreContext.SaveResult) {
        report.saved += counts.savedCount
        report.ignored += counts.ignoredCount
        report.rejected += counts.rejectedCount
    }

    private func log(_ file: PendingPattern.File, _ entity: Entity, _ counts: StoreContext.SaveResult) {
        logger.info(
            writer == nil ? "pending file read" : "pending file imported",
            metadata: [
                "file": "\(file.displayName)", "entity": "\(entity.name)", "saved": .init(counts.savedCount),
                "ignored": .init(counts.ignoredCount), "rejected": .init(counts.rejectedCount),
            ])
    }

    /// How much of a file earlier runs have saved; nil: the run was stopped.
    private func progress(
        _ file: PendingPattern.File, _ bytes: PendingFile, _ entity: String
    ) throws -> TakenFiles.Entry? {
        let entry = begun[file.path] == nil ? nil : taken[file.path]
        if let entry {
            guard entry.isComplete || entry.entity == entity else {
                throw FileProblem(
                    "is for \(entity), and an interrupted run saved its first \(entry.savedBytes) bytes for \(entry.entity); "
                        + "write entity: \(entry.entity) until a run has saved the rest")
            }
            if bytes.sizeBytes == entry.sizeBytes { return entry }
            guard !entry.isComplete else {
                throw FileProblem(
                    "has grown since a run saved its first \(entry.sizeBytes) bytes and was interrupted; put the rest in a "
                        + "new file and cut this one to that size")
            }
        }
        guard let hash = try bytes.sha256(through: bytes.sizeBytes, mayContinue: pauses.mayContinue) else { return nil }
        var new = TakenFiles.Entry(
            path: file.path, entity: entity, sizeBytes: bytes.sizeBytes, sha256: hash, takenAt: now)
        if let entry { (new.savedBytes, new.rejectedBytes) = (entry.savedBytes, entry.rejectedBytes) }
        return new
    }

    private func open(_ file: PendingPattern.File) throws -> PendingFile {
        do {
            return try PendingFile(path: file.path)
        } catch {
            throw FileProblem(error.message)
        }
    }

    /// The reader of a file's records. Reads the header of a CSV file.
    private func reader(
        of bytes: PendingFile, named name: String, for mapping: inout RowMapping
    ) throws -> any PendingRecordReader {
        if name.lowercased().hasSuffix(".ndjson") { return NDJSONReader(bytes) }
        var reader = CSVReader(bytes)
        switch try reader.next()?.content {
        case .fields(let fields): try mapping.setHeader(fields)
        case .bad(let reason): throw FileProblem("wrong header: \(reason)")
        case .members, nil: throw FileProblem("wrong header: the file is empty")
        }
        return reader
    }

    private func moveToDone(
        _ file: PendingPattern.File, _ bytes: PendingFile, _ writer: any RetentionWriter
    ) throws {
        guard bytes.isUnchanged() else { return wait(file, "changed after its rows were saved, and stays") }
        try FolderEntry.move(file, toFolder: PendingFile.doneFolder)
        try TakenFiles.remove(path: file.path, from: writer)
        taken[file.path] = nil
    }

    private func wait(_ file: PendingPattern.File, _ reason: String) {
        note("\(file.displayName) \(reason)")
        logger.notice("pending file waits", metadata: ["file": "\(file.displayName)", "reason": "\(reason)"])
    }

    /// Moves a file whose rows are already in the store.
    private func finish(_ file: PendingPattern.File, _ bytes: PendingFile, _ entry: TakenFiles.Entry) throws {
        report.files += 1
        logger.info("pending file was imported before", metadata: ["file": "\(file.displayName)"])
        guard let writer else { return }
        // The run that wrote the bad lines may have died before their file got its final name.
        if entry.rejectedBytes > 0, RejectedFile.isWaiting(for: file) {
            try RejectedFile(for: file, committedBytes: entry.rejectedBytes).publish()
        }
        try moveToDone(file, bytes, writer)
    }
}
