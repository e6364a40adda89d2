import Glibc

/// The bytes of an open file.
package enum FilePortions {
    /// Hands them over portion by portion, to the end of the file or until the caller wants no more.
    ///
    /// - Parameter take: gets the next bytes, and says whether it wants more.
    /// - Returns: the system's code of an error; nil: there was none.
    package static func read(_ descriptor: Int32, _ take: (UnsafeRawBufferPointer) -> Bool) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count < 0 { return errno }
                if count == 0 || !take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { return nil }
            }
        }
    }

    /// Writes all bytes, and continues after an interruption or a short write; false: it failed, and `errno` says why.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno != EINTR { return false }
            offset += max(0, written)
        }
        return true
    }
}
