@preconcurrency package import Glibc
import PriceStore

/// Where a path leads: the real folder, the name in it, and the file.
///
/// Two paths to one file are equal however they are written, even if the file does not exist yet: they have the same inode, or the same
/// inode of the folder and the same name. Names are compared without case, because some folders ignore case. No file is opened: closing a
/// second handle to an open database would release its locks.
package struct FilePlace {
    /// The identity of a file or folder, whatever its name.
    struct Number: Hashable {
        private var device: UInt64
        private var inode: UInt64

        init(_ facts: stat) {
            device = UInt64(facts.st_dev)
            inode = UInt64(facts.st_ino)
        }
    }

    /// The identity of a file in one state. The inode alone is not enough because it is reused soon; the time of the last change is not.
    struct Mark: Hashable {
        var number: Number
        var sizeBytes: Int64
        private var changedSeconds: Int
        private var changedNanoseconds: Int

        init(_ facts: stat) {
            number = Number(facts)
            sizeBytes = Int64(facts.st_size)
            changedSeconds = facts.st_ctim.tv_sec
            changedNanoseconds = facts.st_ctim.tv_nsec
        }
    }

    /// The path of the folder, without symbolic links; as written if there is no such folder.
    package let folder: String
    /// The name in the folder.
    package let name: String
    /// The file at the path, without following a symbolic link; nil if there is none.
    package let facts: stat?
    private let folderNumber: Number?
    /// The inode of that file; nil if there is none. It is used again once the file is gone.
    package var inode: Int64? { facts.map { Int64(bitPattern: UInt64($0.st_ino)) } }

    /// Reads what is at a path.
    ///
    /// - Parameter followsLink: whether a symbolic link is replaced by the file that it leads to. Links among the
    ///   folders are always followed.
    package init(_ path: String, followsLink: Bool = false) {
        let path = followsLink ? Self.realPath(path) ?? path : path
        let parts = Self.parts(path)
        let parent = parts.dropLast().joined(separator: "/")
        let written = path.hasPrefix("/") ? "/" + parent : parent.isEmpty ? "." : parent
        folder = Self.realPath(written) ?? written
        name = parts.last ?? ""
        folderNumber = Self.number(of: folder)
        facts = Self.facts(of: name, in: folder)
    }

    /// The names of a path.
    package static func parts(_ path: String) -> [String] {
        path.fields(separatedBy: "/").filter { !$0.isEmpty && $0 != "." }
    }

    private init(_ name: String, beside other: FilePlace) {
        (folder, folderNumber, self.name) = (other.folder, other.folderNumber, name)
        facts = Self.facts(of: name, in: folder)
    }

    private static func facts(of name: String, in folder: String) -> stat? {
        var facts = stat()
        return lstat(path(name, in: folder), &facts) == 0 ? facts : nil
    }

    /// A folder or a symbolic link on the way to a file, or the file.
    package struct Step {
        /// Its path, without symbolic links among the folders before it.
        package let path: String
        /// What is there; nil: nothing.
        package let facts: stat?
        /// The parts of the path that follow; empty: this is the file, or a link to it.
        package let rest: [String]

        /// The place of a link to the file; nil: it is a link to a folder.
        package var ofFile: FilePlace? { rest.isEmpty ? FilePlace(path) : nil }

        /// The path of the file from here. The links before are followed, and those after are as written.
        package var filePath: String { ([path] + rest).joined(separator: "/") }
    }

    /// The symbolic links on the way from a path to its file, in the order in which they are followed.
    ///
    /// Example: `/data` is a link to `/disk/data`, and `prices.sqlite` in it a link to `gold.sqlite`. Then the links of
    /// `/data/prices.sqlite` lead by `/data/prices.sqlite` and by `/disk/data/prices.sqlite`.
    package static func links(_ path: String) -> [Step] {
        steps(path).filter { $0.facts?.isLink == true }
    }

    /// The way from a path to its file.
    package static func steps(_ path: String) -> [Step] {
        var (found, linkCount, rest) = ([Step](), 0, parts(path))
        var place = path.hasPrefix("/") ? [] : parts(realPath(".") ?? "")
        while let part = rest.first {
            rest.removeFirst()
            if part == ".." {
                place = place.dropLast()
                continue
            }
            place.append(part)
            let next = "/" + place.joined(separator: "/")
            var facts = stat()
            let isThere = lstat(next, &facts) == 0
            found.append(Step(path: next, facts: isThere ? facts : nil, rest: rest))
            guard isThere, facts.isLink else { continue }
            // As many are followed as by the kernel.
            linkCount += 1
            guard linkCount <= 40, let target = target(ofLink: next) else { return found }
            place = target.hasPrefix("/") ? [] : place.dropLast()
            rest = parts(target) + rest
        }
        return found
    }

    /// The target of a symbolic link; nil: it cannot be read.
    private static func target(ofLink path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Whether the folder exists.
    package var hasFolder: Bool { folderNumber != nil }

    /// The path, without symbolic links among its folders.
    package var path: String { Self.path(name, in: folder) }

    /// The file of the same name plus an ending, such as a side file of a database.
    package func sibling(_ ending: String) -> FilePlace { FilePlace(name + ending, beside: self) }

    /// Whether another file has a name reserved for this database: that of a side file such as `…-wal`, or of a run's file such as
    /// `….retention-lock`.
    package func isSideFile(_ other: FilePlace) -> Bool {
        let (name, others) = (name.lowercased(), other.name.lowercased())
        return folderNumber == other.folderNumber && folder == other.folder
            && (others.hasPrefix(name + "-") || others.hasPrefix(name + ".retention-"))
    }

    /// Whether both are the same file, or would be once it exists.
    package func isSame(as other: FilePlace) -> Bool {
        if let facts, let others = other.facts, Number(facts) == Number(others) { return true }
        return folderNumber == other.folderNumber && (folderNumber != nil || folder == other.folder)
            && name.lowercased() == other.name.lowercased()
    }

    /// Why this file cannot be written, as a clause; nil: it is a regular file with one name, or does not exist.
    package var obstacle: String? {
        guard let facts else { return name.isEmpty ? "is not a file name" : nil }
        switch facts.st_mode & S_IFMT {
        case S_IFREG: return facts.st_nlink > 1 ? "has \(facts.st_nlink) names (hard links)" : nil
        case S_IFLNK: return "is a symbolic link; name the file it points to"
        case S_IFDIR: return "is a folder; name a file"
        case S_IFIFO: return "is a named pipe"
        case S_IFCHR, S_IFBLK: return "is a device"
        default: return "is not a regular file"
        }
    }

    /// The first bytes of the file; empty if it does not exist; nil, with `errno`, if it cannot be read. Must not be called for an open
    /// database.
    package func firstBytes(_ count: Int) -> [UInt8]? {
        guard facts != nil else { return [] }
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let got = read(descriptor, &bytes, count)
        return got < 0 ? nil : Array(bytes.prefix(got))
    }

    /// The identity of the file or folder at a path, after all links; nil: there is none.
    static func number(of path: String) -> Number? {
        var facts = stat()
        return stat(path, &facts) == 0 ? Number(facts) : nil
    }

    /// The path of a name in a folder.
    package static func path(_ name: String, in folder: String) -> String {
        folder == "/" ? "/" + name : folder + "/" + name
    }

    /// The absolute path without symbolic links; nil, with `errno`, if it does not exist.
    package static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}

extension stat {
    package var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
    package var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
}
