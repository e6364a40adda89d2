@preconcurrency import Glibc
import PriceStore

/// The bad lines of a pending file, for `<file>.rejected`: for each a line `# line 12: reason`, then the line itself.
///
/// The text is written to a hidden file first, which gets its name, and is on disk, before the rows are committed: a
/// crash between the two writes the same text again and finds it there.
final class RejectedFile {
    /// What every such file begins with.
    private static let firstWords = "# line "

    private let file: PendingPattern.File
    private let temporaryPath: String
    private var descriptor: Int32 = -1
    private var buffer: [UInt8] = []

    init(for file: PendingPattern.File) {
        self.file = file
        temporaryPath = "\(file.folder)/\(NumberedName.fitting("." + file.name, PendingFile.rejectedEnding + ".part"))"
    }

    deinit { discard() }

    /// Adds a bad record: its line, its bytes in the pending file, and why it is bad.
    func add(line: Int, bytes: Range<Int64>, reason: String, from source: PendingFile) throws {
        if descriptor < 0 {
            try removeLeftOver()
            descriptor = open(temporaryPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
            guard descriptor >= 0 else { throw StoreError(file: temporaryPath, "cannot be created", errno) }
        }
        buffer.append(contentsOf: "\(Self.firstWords)\(line): \(reason)\n".utf8)
        var last: UInt8?
        try source.withBytes(of: bytes) { piece in
            buffer.append(contentsOf: piece)
            last = piece.last
            if buffer.count >= 1 << 16 { try flush() }
        }
        if last != .lineFeed { buffer.append(.lineFeed) }
    }

    /// Gives the text its name and brings it to disk. A file of that name with another text is left alone, and the
    /// name gets a number; one with the same text serves. Nothing happens if there is no bad line.
    func publish() throws {
        guard descriptor >= 0 else { return }
        try flush()
        guard fsync(descriptor) == 0 else { throw StoreError(file: temporaryPath, "cannot be written", errno) }
        var number = 1
        while true {
            let ending = (number == 1 ? "" : "-\(number)") + PendingFile.rejectedEnding
            let path = "\(file.folder)/\(NumberedName.fitting(file.name, ending))"
            if try sameText(as: path) { break }
            if link(temporaryPath, path) == 0 { break }
            if errno != EEXIST {
                try FolderEntry.renameWithoutLink(temporaryPath, to: path)
                break
            }
            number += 1
        }
        discard()
        try FolderEntry.sync(file.folder)
    }

    /// Removes the hidden file of a run that died, which is known by how it begins; after a power failure by zeros.
    private func removeLeftOver() throws {
        let place = FilePlace(temporaryPath)
        guard place.facts != nil else { return }
        guard place.facts?.isRegularFile ?? false, let bytes = place.firstBytes(Self.firstWords.utf8.count),
            Self.firstWords.utf8.starts(with: bytes) || bytes.allSatisfy({ $0 == 0 })
        else {
            throw StoreError(
                .inputOutput, store: temporaryPath,
                message: "is needed for rejected lines, but was not written by retention; move it away")
        }
        unlink(temporaryPath)
    }

    /// Removes the hidden file, if it is still there.
    func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        unlink(temporaryPath)
    }

    private func flush() throws {
        var written = 0
        while written < buffer.count {
            let count = buffer.withUnsafeBytes {
                write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written)
            }
            if count < 0 {
                guard errno == EINTR else { throw StoreError(file: temporaryPath, "cannot be written", errno) }
                continue
            }
            written += count
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private func sameText(as path: String) throws -> Bool {
        guard let mine = try? PendingFile(path: temporaryPath), let other = try? PendingFile(path: path),
            mine.sizeBytes == other.sizeBytes
        else { return false }
        try mine.readThrough(mine.sizeBytes)
        try other.readThrough(other.sizeBytes)
        return mine.sha256() == other.sha256()
    }
}
