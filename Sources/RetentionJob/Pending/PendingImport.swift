import PriceObjects
import PriceStore
import RetentionPolicy

/// Imports the rows of one pending file in batches, like those of a delete: each is one short transaction that also records the position in
/// the file, with a pause between batches.
struct PendingImport {
    /// How the import ended.
    enum End {
        /// All rows are saved and on disk.
        case complete
        /// The file has changed since it was opened.
        case changed
        case stopped
    }

    /// A line of the file.
    private struct Line {
        var number: Int
        var bytes: Range<Int64>
    }

    private(set) var progress: TakenFiles.Entry
    /// The counts of the committed rows; bad lines count as rejected.
    private(set) var counts = StoreContext.SaveResult()
    /// A warning about the store's files; nil: none.
    private(set) var warning: String?

    private let inserter: any RetentionInserter
    /// Nil in a dry run.
    private let writer: (any RetentionWriter)?
    private let bytes: PendingFile
    private let mapping: RowMapping
    private var reader: any PendingRecordReader
    private let context: StoreContext
    private let onConflict: ConflictPolicy
    private let rejectedFile: RejectedFile?
    private let pauses: BatchPauses
    private let now: Instant
    private var pacing: Pacing
    /// The lines of the rows in this batch, and its bad lines.
    private var lines: [ObjectIdentifier: Line] = [:]
    private var bad: [(line: Line, reason: String)] = []
    /// The number of records in this batch and of bytes of the file, and the file offset of its end.
    private var (count, sizeBytes, end): (Int, Int, Int64) = (0, 0, 0)

    /// The size of batches; the first ones are small, so that none takes long.
    private static let batch = {
        var setting = Rule.BatchSetting()
        setting.rows = 500
        return setting
    }()

    /// - Parameter progress: what earlier runs have saved.
    /// - Throws: ``FileProblem`` if the text of their bad lines is missing.
    init(
        _ file: PendingPattern.File, _ bytes: PendingFile, from progress: TakenFiles.Entry,
        _ reader: any PendingRecordReader, _ mapping: RowMapping, _ onConflict: ConflictPolicy,
        into inserter: any RetentionInserter, pauses: BatchPauses, now: Instant
    ) throws {
        self.progress = progress
        self.inserter = inserter
        writer = inserter as? any RetentionWriter
        self.bytes = bytes
        self.mapping = mapping
        self.reader = reader
        rejectedFile = try writer.map { _ in try RejectedFile(for: file, committedBytes: progress.rejectedBytes) }
        context = StoreContext(rehearsing: inserter)
        self.onConflict = onConflict
        self.pauses = pauses
        self.now = now
        pacing = Pacing(Self.batch)
    }

    /// Saves batch after batch. At the end the file of bad lines has its final name.
    ///
    /// - Throws: ``StoreError``; ``progress`` says what is committed.
    mutating func run() throws -> End {
        defer { if progress.rejectedBytes == 0 { rejectedFile?.discard() } }
        guard try skipSaved() else { return .stopped }
        while pauses.mayContinue() {
            // Reading needs no lock.
            let isLast = try fill()
            let began = pauses.uptime()
            guard try save(isLast: isLast) else { return .changed }
            if isLast {
                try rejectedFile?.publish()
                return .complete
            }
            try pause(after: pauses.uptime() - began)
        }
        return .stopped
    }

    /// Skips the records that earlier runs saved; false: the run was stopped.
    private mutating func skipSaved() throws -> Bool {
        var place: Int64 = 0
        var count = 0
        while progress.savedBytes > 0, place != progress.savedBytes {
            guard count % 1000 != 0 || pauses.mayContinue() else { return false }
            guard let record = try reader.next(), record.bytes.upperBound <= progress.savedBytes else {
                throw FileProblem("an interrupted run saved its rows up to a place that is no longer the end of a line")
            }
            place = record.bytes.upperBound
            count += 1
        }
        return true
    }

    /// Reads the next batch; true: it is the last one.
    private mutating func fill() throws -> Bool {
        (count, sizeBytes) = (0, 0)
        while count < pacing.rows, sizeBytes < ByteWindow.recordLimit {
            guard let record = try reader.next() else { return true }
            let line = Line(number: record.line, bytes: record.bytes)
            count += 1
            end = record.bytes.upperBound
            sizeBytes += min(record.bytes.count, ByteWindow.recordLimit)
            do {
                let object = context.insert(entity: mapping.entityName, values: try mapping.values(record.content))
                lines[ObjectIdentifier(object)] = line
            } catch {
                bad.append((line, error.reason))
            }
        }
        return false
    }

    /// Saves the rows of the batch, and writes its bad lines in file order. Returns the counts with those of the batch.
    private mutating func saveRows() throws -> StoreContext.SaveResult {
        var counts = counts
        if context.hasChanges {
            var refused: [(line: Line, reason: String)] = []
            let result = try context.save(onConflict: onConflict) { [lines] object, reason in
                if let line = lines[ObjectIdentifier(object)] { refused.append((line, reason)) }
            }
            counts.savedCount += result.savedCount
            counts.ignoredCount += result.ignoredCount
            bad += refused
        }
        bad.sort { $0.line.number < $1.line.number }
        counts.rejectedCount += bad.count
        for (line, reason) in bad {
            try rejectedFile?.add(line: line.number, bytes: line.bytes, reason: reason, from: bytes)
        }
        try rejectedFile?.sync()
        bad.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
        return counts
    }

    /// Saves a batch and its end position; false: the file has changed, and nothing was saved.
    private mutating func save(isLast: Bool) throws -> Bool {
        var hasChanged = false
        var (next, counts) = (progress, counts)
        do {
            // The rows of a file that moves to `done/` must be on disk.
            try inserter.transaction(isLast ? .full : .normal) {
                counts = try saveRows()
                guard bytes.isUnchanged() else {
                    hasChanged = true
                    throw FileProblem("changed while it was read")
                }
                next.takenAt = now
                next.savedBytes = isLast ? bytes.sizeBytes : end
                next.rejectedBytes = rejectedFile?.sizeBytes ?? 0
                if let writer { try TakenFiles.put(next, to: writer) }
            }
        } catch {
            guard hasChanged else { throw error }
            return false
        }
        (progress, self.counts) = (next, counts)
        return true
    }

    /// Pauses, so that others can use the store.
    private mutating func pause(after elapsed: Duration) throws {
        guard let writer else { return }
        pacing.didCommit(elapsed: elapsed, fixed: writer.fixedElapsed)
        warning = try writer.boundSideFiles() ?? warning
        if let length = pacing.pause(after: elapsed, isInUseByOthers: { (try? writer.isInUseByOthers()) != false }) {
            pauses.wait(length)
        }
        _ = try pauses.waitForStore(writer)
    }
}
