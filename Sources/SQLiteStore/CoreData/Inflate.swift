import CZlib

/// Unpacks raw DEFLATE streams (RFC 1951), which have neither the header nor the trailer of zlib or gzip.
enum Inflate {
    /// Unpacks a stream. Bytes after its last block are ignored.
    ///
    /// - Parameter limit: the largest number of unpacked bytes allowed.
    static func bytes(of stream: [UInt8], limit: Int) throws(ModelArchiveError) -> [UInt8] {
        var state = z_stream()
        // A negative window size means that the stream is raw.
        guard inflateInit2_(&state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw ModelArchiveError("there is not enough memory to decompress the model")
        }
        defer { inflateEnd(&state) }
        // zlib counts in 32 bits and does not write to its input.
        var stream = stream
        return try stream.withUnsafeMutableBufferPointer { input throws(ModelArchiveError) in
            state.next_in = input.baseAddress
            state.avail_in = UInt32(clamping: input.count)
            var output: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let (status, free) = piece.withUnsafeMutableBufferPointer { room in
                    state.next_out = room.baseAddress
                    state.avail_out = UInt32(room.count)
                    return (inflate(&state, Z_NO_FLUSH), Int(state.avail_out))
                }
                output += piece.prefix(piece.count - free)
                guard output.count <= limit else {
                    throw ModelArchiveError("the compressed data expands to more than \(limit) bytes")
                }
                switch status {
                case Z_STREAM_END: return output
                case Z_OK: continue
                // This is not an error in zlib: it needs more input, and there is none.
                case Z_BUF_ERROR: throw ModelArchiveError("the compressed data is damaged: it ends early")
                default:
                    let reason = state.msg.map { String(cString: $0) } ?? "zlib's error \(status)"
                    throw ModelArchiveError("the compressed data is damaged: \(reason)")
                }
            }
        }
    }
}
