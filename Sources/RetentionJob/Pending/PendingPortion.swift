import PriceObjects
import PriceStore

/// A bounded number of rows of a file: a batch.
struct PendingPortion {
    private struct Line {
        var number: Int
        var bytes: Range<Int64>
    }

    /// The counts of all saved portions; bad lines count as rejected.
    private(set) var counts = StoreContext.SaveResult()
    /// The number of lines in this portion.
    private(set) var count = 0
    /// The number of bytes of the file that this portion covers.
    private(set) var sizeBytes = 0
    /// The file offset of the end of the last record.
    private(set) var end: Int64 = 0

    private let context: StoreContext
    private let onConflict: ConflictPolicy
    private let bytes: PendingFile
    /// Nil in a dry run.
    private let rejectedFile: RejectedFile?
    private var lines: [ObjectIdentifier: Line] = [:]
    private var bad: [(line: Line, reason: String)] = []

    init(context: StoreContext, onConflict: ConflictPolicy, bytes: PendingFile, rejectedFile: RejectedFile?) {
        self.context = context
        self.onConflict = onConflict
        self.bytes = bytes
        self.rejectedFile = rejectedFile
    }

    /// Adds a record as a new object, or as a bad line.
    mutating func add(_ record: PendingRecord, _ mapping: RowMapping) {
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

    /// Saves the portion, passes its bad lines on in file order, and begins a new one.
    mutating func save() throws {
        if context.hasChanges {
            var refused: [(line: Line, reason: String)] = []
            let result = try context.save(onConflict: onConflict) { [lines] object, reason in
                guard let line = lines[ObjectIdentifier(object)] else { return }
                refused.append((line, reason))
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
        count = 0
        sizeBytes = 0
    }
}
