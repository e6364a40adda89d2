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
        let limit = Int(min(Int64(buffer.count), sizeBytes - place))
        while limit > 0 {
            let count = pread(descriptor, buffer.baseAddress, limit, Int(place))
            if count >= 0 {
                place += Int64(count)
                return count
            }
            guard errno == EINTR else { throw StoreError(file: path, "cannot be read", errno) }
        }
        return 0
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
        var place = range.lowerBound
        while place < range.upperBound {
            let count = pread(
                descriptor, buffer.baseAddress, Int(min(range.upperBound - place, Int64(buffer.count))), Int(place))
            if count < 0 {
                guard errno == EINTR else { throw StoreError(file: path, "cannot be read", errno) }
                continue
            }
            // A file truncated meanwhile is detected by isUnchanged().
            if count == 0 { return }
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
