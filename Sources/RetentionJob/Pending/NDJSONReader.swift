import PriceStore

/// Reads NDJSON: one flat JSON object on each line.
///
/// A byte order mark and blank lines are skipped; the last line needs no line end. A bad line does not affect other lines.
struct NDJSONReader: PendingRecordReader {
    private var window: ByteWindow
    private var line = 0

    init(_ file: PendingFile) { window = ByteWindow(file) }

    mutating func next() throws -> PendingRecord? {
        while try window.beginRecord() {
            line += 1
            let start = window.head
            let startOffset = window.offset(of: start)
            guard let end = try window.lineEnd(from: start) else {
                try window.skipLine(from: start)
                return PendingRecord(
                    line: line, bytes: startOffset..<window.offset(of: window.head),
                    content: .bad("line too long, more than 1 MiB"))
            }
            window.head = try window.holds(end) ? end + 1 : end
            var bytes = window.bytes[start..<end]
            if bytes.last == .carriageReturn { bytes.removeLast() }
            if bytes.allSatisfy({ JSONObjectParser.isSpace($0) }) { continue }
            return PendingRecord(
                line: line, bytes: startOffset..<window.offset(of: window.head), content: Self.content(bytes))
        }
        return nil
    }

    private static func content(_ bytes: ArraySlice<UInt8>) -> PendingRecord.Content {
        do {
            var parser = JSONObjectParser(bytes)
            return .members(try parser.parse())
        } catch {
            return .bad(error.reason)
        }
    }
}
