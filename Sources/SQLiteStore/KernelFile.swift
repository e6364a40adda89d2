@preconcurrency import Glibc
import PriceStore

/// Files whose contents the kernel generates when they are read.
enum KernelFile {
    /// A lock listed in `/proc/locks`.
    struct Lock {
        var processID: Int32
        /// The first byte that is locked, or nil if the lock covers the whole file.
        var firstByte: Int?
        /// The device of the file as the list shows it: `fd:00`. The file system may show another one in `stat`.
        var device = ""
    }

    static func locks(ofInode inode: UInt64) -> [Lock] {
        // A line: `1: POSIX  ADVISORY  READ 4711 fd:00:123456 128 128`. The list can be long, so only matching lines become strings.
        lines(of: bytes(of: "/proc/locks"), with: ":\(inode) ").compactMap { line in
            let fields = line.split(separator: " ")
            guard let file = fields.firstIndex(where: { $0.hasSuffix(":\(inode)") }), file > 0, file + 1 < fields.count,
                let processID = Int32(fields[file - 1])
            else { return nil }
            return Lock(
                processID: processID, firstByte: Int(fields[file + 1]),
                device: String(fields[file].dropLast("\(inode)".count + 1)))
        }
    }

    /// The mount points of single files that have this name or had it when they were mounted.
    static func mounts(ofFileNamed name: String) -> [String] {
        // A line: `36 35 98:0 /folder/file /mounted/name rw,noatime master:1 - ext4 /dev/root rw`.
        lines(of: bytes(of: "/proc/self/mountinfo"), with: "/" + escaped(name) + " ").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 4, fields[3].hasSuffix("/" + escaped(name)) else { return nil }
            return unescaped(fields[4])
        }
    }

    /// The characters that the kernel writes in octal because they separate fields.
    private static let escapes = ["\\": "\\134", " ": "\\040", "\t": "\\011", "\n": "\\012"]

    private static func escaped(_ name: String) -> String {
        name.map { escapes[String($0)] ?? String($0) }.joined()
    }

    private static func unescaped(_ field: Substring) -> String {
        // The backslash comes last because it begins the other escapes.
        escapes.filter { $0.key != "\\" }.reduce(String(field)) { $0.replacing($1.value, with: $1.key) }
            .replacing("\\134", with: "\\")
    }

    private static func lines(of bytes: [UInt8], with text: String) -> [String] {
        // The zero ends the text for C.
        (bytes + [0]).withUnsafeBytes { all in
            let newline = UInt8(ascii: "\n")
            var found: [String] = []
            var rest = all
            while let base = rest.baseAddress, let hit = strstr(base.assumingMemoryBound(to: CChar.self), text) {
                let place = UnsafeRawPointer(hit) - base
                let first = rest[..<place].lastIndex(of: newline).map { $0 + 1 } ?? 0
                let end = rest[place...].firstIndex(of: newline) ?? rest.count - 1
                found.append(String(decoding: rest[first..<end], as: UTF8.self))
                rest = UnsafeRawBufferPointer(rebasing: rest[end...])
            }
            return found
        }
    }

    /// The whole file as text, or an empty string if it cannot be read.
    static func read(_ path: String) -> String { String(decoding: bytes(of: path), as: UTF8.self) }

    private static func bytes(of path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        _ = FilePortions.read(descriptor) { portion in
            bytes += portion
            return true
        }
        return bytes
    }
}
