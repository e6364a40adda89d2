@preconcurrency import Glibc

/// The part of a pending file in memory: the current record and the bytes read after it.
///
/// Reading only appends, so indices stay valid until ``beginRecord()`` or ``skipLine(from:)``.
struct ByteWindow {
    /// The most bytes of a record; longer records are not read.
    static let recordLimit = 1 << 20
    private static let portionSize = 1 << 16
    /// Where the next bytes are read into: an array, which is copied at once.
    private static let portion = [UInt8](repeating: 0, count: portionSize)

    private let file: PendingFile
    private(set) var bytes: [UInt8] = []
    /// The index of the first byte after all complete records.
    var head = 0
    /// The offset in the file where `bytes` begins.
    private var base: Int64 = 0
    private var isAtEnd = false

    init(_ file: PendingFile) {
        self.file = file
        bytes.reserveCapacity(2 * Self.portionSize)
    }

    func offset(of index: Int) -> Int64 { base + Int64(index) }

    /// Whether there is a byte at an index. Reads more if the index is the end of the bytes in memory.
    mutating func holds(_ index: Int) throws -> Bool {
        while index >= bytes.count {
            guard try fill() else { return false }
        }
        return true
    }

    /// Skips a byte order mark at the beginning of the file, and releases the bytes before the head if there are many; false: no byte is left.
    mutating func beginRecord() throws -> Bool {
        if head == 0, base == 0, try holds(2), bytes.starts(with: [0xEF, 0xBB, 0xBF]) { head = 3 }
        if head >= Self.portionSize {
            base += Int64(head)
            bytes.removeFirst(head)
            head = 0
        }
        return try holds(head)
    }

    /// The index of the line feed at or after an index, or of the end of the file; nil if it is more than ``recordLimit`` bytes from the
    /// head.
    mutating func lineEnd(from start: Int) throws -> Int? {
        var found = lineFeed(from: start)
        while found == nil, bytes.count - head <= Self.recordLimit {
            let end = bytes.count
            found = try fill() ? lineFeed(from: end) : end
        }
        guard let end = found, end - head <= Self.recordLimit else { return nil }
        return end
    }

    /// Moves the head past the line feed at or after an index, or to the end of the file. Skipped bytes are not kept in memory.
    mutating func skipLine(from start: Int) throws {
        var index = start
        while true {
            if let found = lineFeed(from: index) {
                head = found + 1
                return
            }
            base += Int64(bytes.count)
            bytes.removeAll(keepingCapacity: true)
            head = 0
            index = 0
            if try !fill() { return }
        }
    }

    private func lineFeed(from start: Int) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard start < buffer.count, let first = buffer.baseAddress else { return nil }
            return memchr(first + start, 0x0A, buffer.count - start).map { UnsafeRawPointer($0) - first }
        }
    }

    private mutating func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        let old = bytes.count
        bytes += Self.portion
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: .init(rebasing: $0[old...])) }
        bytes.removeLast(Self.portionSize - count)
        isAtEnd = count == 0
        return !isAtEnd
    }
}

extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let quote = UInt8(ascii: "\"")
    static let comma = UInt8(ascii: ",")
}

/// The text of some bytes of a pending file. Throws why they are not valid text.
func pendingText(_ bytes: some Collection<UInt8>) throws(BadLine) -> String {
    guard !bytes.contains(0) else { throw BadLine("a NUL byte") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw BadLine("not UTF-8") }
    return text
}

/// Why a line of a pending file cannot be saved, as a clause without a value of the line.
struct BadLine: Error, Equatable {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}
