import PriceStore

/// Reads CSV as in RFC 4180: commas, quotes doubled inside quotes, line feeds inside quotes, LF or CRLF.
///
/// A byte order mark and empty lines are skipped; the last line needs no line end. An empty field is NULL, an empty quoted field is empty
/// text. The first record sets the number of fields of every record. If quotes are broken, the first line of the record is rejected and
/// reading continues with the next line, so one stray quote costs one line.
struct CSVReader: PendingRecordReader {
    private enum State { case fieldStart, unquoted, quoted, afterQuote }

    private enum End {
        /// The record is complete; the value is the index after its line end.
        case complete(Int)
        case broken(String, at: Int)
    }

    private var window: ByteWindow
    private var line = 1
    /// The number of fields in the first record; nil until it is read.
    private(set) var fieldCount: Int?

    init(_ file: PendingFile) { window = ByteWindow(file) }

    mutating func next() throws -> PendingRecord? {
        while try window.beginRecord() {
            if try !skipEmptyLine() { return try readRecord() }
        }
        return nil
    }

    private mutating func skipEmptyLine() throws -> Bool {
        var index = window.head
        if window.bytes[index] == .carriageReturn, try window.holds(index + 1) { index += 1 }
        guard window.bytes[index] == .lineFeed else { return false }
        window.head = index + 1
        line += 1
        return true
    }

    private mutating func readRecord() throws -> PendingRecord {
        let start = window.head
        let startOffset = window.offset(of: start)
        let startLine = line
        var fields: [Range<Int>] = []
        var isQuoted: [Bool] = []
        /// The index after the record's first line feed, where reading continues if quotes are broken.
        var secondLine: Int?
        var lineFeeds = 0

        switch try scan(&fields, &isQuoted, &secondLine, &lineFeeds) {
        case .broken(let reason, let index):
            if let secondLine { window.head = secondLine } else { try window.skipLine(from: index) }
            line += 1
            return PendingRecord(
                line: startLine, bytes: startOffset..<window.offset(of: window.head), content: .bad(reason))
        case .complete(let end):
            window.head = end
            line += lineFeeds
            return PendingRecord(
                line: startLine, bytes: startOffset..<window.offset(of: end), content: content(fields, isQuoted))
        }
    }

    /// Finds the end of the record at the head, and the range of each field without its quotes.
    private mutating func scan(
        _ fields: inout [Range<Int>], _ isQuoted: inout [Bool], _ secondLine: inout Int?, _ lineFeeds: inout Int
    ) throws -> End {
        let start = window.head
        var state = State.fieldStart
        var fieldStart = start
        var index = start
        while true {
            let isByte = try window.holds(index)
            let byte = isByte ? window.bytes[index] : .lineFeed
            switch state {
            case .fieldStart, .unquoted:
                if byte == .lineFeed {
                    let hasReturn = index > fieldStart && window.bytes[index - 1] == .carriageReturn
                    fields.append(fieldStart..<(hasReturn ? index - 1 : index))
                    isQuoted.append(false)
                    lineFeeds += 1
                    return .complete(isByte ? index + 1 : index)
                } else if byte == .comma {
                    fields.append(fieldStart..<index)
                    isQuoted.append(false)
                    fieldStart = index + 1
                    state = .fieldStart
                } else if byte == .quote {
                    guard state == .fieldStart else {
                        return .broken("broken quotes: a quote inside a field that does not begin with one", at: index)
                    }
                    fieldStart = index + 1
                    state = .quoted
                } else {
                    state = .unquoted
                }
            case .quoted:
                guard isByte else { return .broken("broken quotes: a quote is never closed", at: index) }
                if byte == .quote {
                    state = .afterQuote
                } else if byte == .lineFeed {
                    lineFeeds += 1
                    if secondLine == nil { secondLine = index + 1 }
                }
            case .afterQuote:
                if byte == .quote, isByte {
                    state = .quoted
                    break
                }
                var end = index
                if byte == .carriageReturn { end += 1 }
                let isEndOfLine = try !window.holds(end) || window.bytes[end] == .lineFeed
                guard isEndOfLine || byte == .comma else {
                    return .broken("broken quotes: text after a closing quote", at: index)
                }
                fields.append(fieldStart..<(index - 1))
                isQuoted.append(true)
                if isEndOfLine {
                    lineFeeds += 1
                    return .complete(try window.holds(end) ? end + 1 : end)
                }
                fieldStart = index + 1
                state = .fieldStart
            }
            index += 1
            if index - start > ByteWindow.recordLimit {
                let reason = secondLine == nil ? "line too long" : "broken quotes: a quote is not closed"
                return .broken("\(reason), more than 1 MiB", at: index)
            }
        }
    }

    private mutating func content(_ fields: [Range<Int>], _ isQuoted: [Bool]) -> PendingRecord.Content {
        do throws(BadLine) {
            var values: [StoreValue] = []
            values.reserveCapacity(fields.count)
            for (range, isQuoted) in zip(fields, isQuoted) {
                if range.isEmpty, !isQuoted {
                    values.append(.null)
                } else {
                    values.append(.text(try text(range, isQuoted: isQuoted)))
                }
            }
            let expected = fieldCount ?? values.count
            guard values.count == expected else {
                throw BadLine("wrong number of fields: \(values.count), the header has \(expected)")
            }
            fieldCount = expected
            return .fields(values)
        } catch {
            return .bad(error.reason)
        }
    }

    private func text(_ range: Range<Int>, isQuoted: Bool) throws(BadLine) -> String {
        let raw = window.bytes[range]
        guard isQuoted, raw.contains(.quote) else { return try pendingText(raw) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var isDouble = false
        for byte in raw {
            isDouble = byte == .quote && !isDouble
            // Of two quotes, the first is kept and the second dropped.
            if byte != .quote || isDouble { bytes.append(byte) }
        }
        return try pendingText(bytes)
    }
}
