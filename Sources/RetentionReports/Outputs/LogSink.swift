@preconcurrency import Glibc
package import PriceStore
import RetentionJob

/// The destination of log records. Each record is one `write`, so records of several processes in one file never mix.
package final class LogSink: Sendable {
    private let write: @Sendable ([UInt8]) -> Bool
    private let lost = LockedValue(0)
    /// The file that is closed with the sink; nil: none is.
    private let descriptor: Int32?

    /// Makes a sink over a function that writes all bytes of a record at once and returns whether it could.
    package convenience init(write: @escaping @Sendable ([UInt8]) -> Bool) { self.init(nil, write) }

    private init(_ descriptor: Int32?, _ write: @escaping @Sendable ([UInt8]) -> Bool) {
        (self.descriptor, self.write) = (descriptor, write)
    }

    deinit {
        if let descriptor { close(descriptor) }
    }

    /// Makes a sink that appends to a file, which is created with mode 0640 if it does not exist.
    ///
    /// The file stays open as long as the sink. If it is rotated by renaming, it still gets the last records. If it is copied and
    /// truncated, nothing breaks, because every record goes to the end.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate`, also if the path is not a text file.
    package static func file(path: String) throws(StoreError) -> LogSink {
        let place = FilePlace(path)
        func failure(_ problem: String) -> StoreError {
            StoreError(
                .cannotCreate, store: path, message: "the log file \(problem)",
                hint: "check the folder and its permissions, or change log.file")
        }
        if let objection = OutputContent.log.objection(to: place) { throw failure(objection) }
        // Without O_NONBLOCK, opening a named pipe would block the run.
        let descriptor = open(
            place.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else { throw failure("cannot be opened: \(String(systemError: errno))") }
        return LogSink(descriptor) { bytes in FilePortions.write(bytes, to: descriptor) }
    }

    /// How many records could not be written.
    package var lostCount: Int { lost.withLock { $0 } }

    /// Writes one record, which must end with a line end and contain no other.
    package func record(_ line: String) {
        if !write(Array(line.utf8)) { lost.withLock { $0 += 1 } }
    }
}
