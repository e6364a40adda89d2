@preconcurrency import Glibc
package import PriceStore
import RetentionJob

/// Where log records go. Each record is one `write`, so that records of several processes in one file never mix.
package final class LogSink: Sendable {
    private let write: @Sendable ([UInt8]) -> Bool
    private let lost = LockedValue(0)

    /// Makes a sink over a function that writes all the bytes of a record at once and says whether it could.
    package init(write: @escaping @Sendable ([UInt8]) -> Bool) {
        self.write = write
    }

    /// Makes a sink that appends to a file, which is made with mode 0640 if it is not there.
    ///
    /// The file stays open to the end of the process: a rotation that moves it away takes the last records along, one
    /// that copies and truncates it is safe because every record goes to the end.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate`, also if something stands there that is no file of text.
    package static func file(path: String) throws(StoreError) -> LogSink {
        let place = FilePlace(path)
        func failure(_ problem: String) -> StoreError {
            StoreError(
                .cannotCreate, store: path, message: "the log file \(problem)",
                hint: "check the folder and its permissions, or change log.file")
        }
        if let objection = OutputContent.log.objection(to: place) { throw failure(objection) }
        // Without O_NONBLOCK a named pipe that took the file's place would hang the run.
        let descriptor = open(
            place.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else { throw failure("cannot be opened: \(String(cString: strerror(errno)))") }
        return LogSink { bytes in writeAll(bytes, to: descriptor) }
    }

    /// How many records could not be written.
    package var lostCount: Int { lost.withLock { $0 } }

    /// Writes one record, which must end with a line end and hold no other.
    package func record(_ line: String) {
        if !write(Array(line.utf8)) { lost.withLock { $0 += 1 } }
    }

    /// Writes all bytes to a descriptor, going on after an interruption or a short write; false: it failed.
    package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 {
                if errno == EINTR { continue }
                return false
            }
            offset += written
        }
        return true
    }
}
