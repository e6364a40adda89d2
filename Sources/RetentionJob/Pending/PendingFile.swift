@preconcurrency import Glibc
// Declares timespec where it is loaded before Glibc.
import SwiftOverlayShims
import PriceStore

/// A pending file that is open for reading. Bytes appended after it was opened are not part of it.
package final class PendingFile {
    let path: String
    private let descriptor: Int32
    private let identity: FilePlace.Mark
    /// The offset up to which it was read.
    private var place: Int64 = 0

    /// Opens a regular file; a symbolic link is not followed.
    ///
    /// - Throws: `StoreError` that names the file.
    init(path: String) throws(StoreError) {
        self.path = path
        // Without O_NONBLOCK, opening a named pipe would hang the run.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw StoreError(file: path, "cannot be opened", errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw StoreError(.inputOutput, store: path, message: "is not a regular file")
        }
        self.descriptor = descriptor
        identity = FilePlace.Mark(status)
    }

    deinit { close(descriptor) }

    var sizeBytes: Int64 { identity.sizeBytes }

    /// Reads on, up to the size when the file was opened. Returns the number of bytes read; 0: the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        let count = try read(place..<sizeBytes, into: buffer)
        place += Int64(count)
        return count
    }

    /// Reads the beginning of a range, as much as there is room for.
    private func read(
        _ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Int {
        // The handler of signals restarts a read.
        let count = pread(descriptor, buffer.baseAddress, min(range.count, buffer.count), Int(range.lowerBound))
        guard count >= 0 else { throw StoreError(file: path, "cannot be read", errno) }
        return count
    }

    /// Whether the open file, and the file at its path, have not changed since it was opened.
    func isUnchanged() -> Bool {
        var open = stat()
        var named = stat()
        return fstat(descriptor, &open) == 0 && lstat(path, &named) == 0
            && FilePlace.Mark(open) == identity && FilePlace.Mark(named) == identity
    }

    /// The bytes of a range, in pieces of bounded size, regardless of what was read before.
    func withBytes(of range: Range<Int64>, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        var (place, count) = (range.lowerBound, 1)
        // A file truncated meanwhile is detected by isUnchanged().
        while place < range.upperBound, count > 0 {
            count = try read(place..<range.upperBound, into: buffer)
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            place += Int64(count)
        }
    }
}

extension StoreError {
    /// An error about a file: its path, what failed, and the system's reason.
    init(file path: String, _ message: String, _ code: Int32) {
        let kind: Kind = [EACCES, EPERM, EROFS].contains(code) ? .permission : .inputOutput
        self.init(kind, store: path, message: "\(message): \(String(systemError: code))")
    }
}

extension PendingFile {
    /// The folder for imported files, beside a pending file.
    package static let doneFolder = "done"
    /// The suffix of the file with the bad lines.
    package static let rejectedEnding = ".rejected"
}
