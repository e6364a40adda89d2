@preconcurrency import Glibc
// Declares stat where it is loaded before Glibc.
import SwiftOverlayShims
import PriceStore
import RetentionPolicy

/// The bad lines of a pending file, in `<file>.rejected`: for each, a line `# line 12: reason`, then the line itself.
///
/// The text is first written to a hidden file. It is on disk, and the record has its size, before the rows around it are committed. The
/// hidden file gets its final name when all rows are on disk. A run that continues after a crash truncates the hidden file to the committed
/// size and appends to it.
final class RejectedFile {
    /// The first words of every such file.
    private static let firstWords = "# line "

    private let file: PendingPattern.File
    private let temporaryPath: String
    private var descriptor: Int32 = -1
    private var buffer: [UInt8] = []
    private var isUnsynced = false
    /// The size of the text so far, in bytes.
    private(set) var sizeBytes: Int64 = 0

    /// - Parameter committedBytes: the size of the text for committed rows.
    /// - Throws: ``FileProblem`` if that text no longer exists.
    init(for file: PendingPattern.File, committedBytes: Int64 = 0) throws {
        self.file = file
        temporaryPath = Self.hiddenPath(for: file)
        guard committedBytes > 0 else { return }
        descriptor = open(temporaryPath, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int64(status.st_size) >= committedBytes, ftruncate(descriptor, Int(committedBytes)) == 0,
            lseek(descriptor, 0, SEEK_END) == Int(committedBytes)
        else { throw FileProblem("the bad lines that an interrupted run wrote to \(temporaryPath) are gone") }
        sizeBytes = committedBytes
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether an interrupted run left a hidden file without its final name.
    static func isWaiting(for file: PendingPattern.File) -> Bool { access(hiddenPath(for: file), F_OK) == 0 }

    private static func hiddenPath(for file: PendingPattern.File) -> String {
        let ending = PendingFile.rejectedEnding + ".part"
        let name = "." + file.name + ending
        guard name.utf8.count > Int(NAME_MAX) else { return "\(file.folder)/\(name)" }
        // The hash keeps two long names different.
        return
            "\(file.folder)/\(NumberedName.fitting("." + file.name, "-\(SHA256.digits(of: file.name).prefix(16))" + ending))"
    }

    /// Adds a bad record: its line, its bytes in the pending file, and why it is bad.
    func add(line: Int, bytes: Range<Int64>, reason: String, from source: PendingFile) throws {
        if descriptor < 0 {
            try removeLeftOver()
            descriptor = open(temporaryPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
            guard descriptor >= 0 else { throw StoreError(file: temporaryPath, "cannot be created", errno) }
            try FolderEntry.sync(file.folder)
        }
        isUnsynced = true
        buffer.append(contentsOf: "\(Self.firstWords)\(line): \(reason)\n".utf8)
        var last: UInt8?
        try source.withBytes(of: bytes) { piece in
            buffer.append(contentsOf: piece)
            last = piece.last
            if buffer.count >= 1 << 16 { try flush() }
        }
        if last != .lineFeed { buffer.append(.lineFeed) }
    }

    /// Writes the text to disk before the rows around it are committed.
    func sync() throws {
        guard descriptor >= 0, isUnsynced else { return }
        try flush()
        isUnsynced = false
        guard fsync(descriptor) == 0 else { throw StoreError(file: temporaryPath, "cannot be written", errno) }
    }

    /// Gives the text its final name, once it is on disk, and removes the hidden file. If a file of that name has another text, the name
    /// gets a number; if it has the same text, it stays as it is. Does nothing without bad lines.
    func publish() throws {
        guard descriptor >= 0 else { return }
        _ = try FolderEntry.addName(temporaryPath) { number in
            let ending = (number == 1 ? "" : "-\(number)") + PendingFile.rejectedEnding
            return "\(file.folder)/\(NumberedName.fitting(file.name, ending))"
        } isThere: {
            try sameText(as: $0)
        }
        // The text must not be lost between its two names.
        try FolderEntry.sync(file.folder)
        discard()
        try FolderEntry.sync(file.folder)
    }

    /// Removes the hidden file of a run that died. The file is recognised by its beginning, or by zeros after a power failure.
    private func removeLeftOver() throws {
        let place = FilePlace(temporaryPath)
        guard place.facts != nil else { return }
        guard place.facts?.isRegularFile == true, let bytes = place.firstBytes(Self.firstWords.utf8.count),
            Self.firstWords.utf8.starts(with: bytes) || bytes.allSatisfy({ $0 == 0 })
        else {
            throw StoreError(
                .inputOutput, store: temporaryPath,
                message: "is needed for rejected lines, but was not written by retention; move it away")
        }
        unlink(temporaryPath)
    }

    func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        unlink(temporaryPath)
    }

    private func flush() throws {
        guard FilePortions.write(buffer, to: descriptor) else {
            throw StoreError(file: temporaryPath, "cannot be written", errno)
        }
        sizeBytes += Int64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }

    private func sameText(as path: String) throws -> Bool {
        guard let mine = try? PendingFile(path: temporaryPath), let other = try? PendingFile(path: path),
            mine.sizeBytes == other.sizeBytes
        else { return false }
        return try mine.sha256(through: mine.sizeBytes) == other.sha256(through: other.sizeBytes)
    }
}
