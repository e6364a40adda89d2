@preconcurrency import Glibc
import RetentionJob

/// Finds whether a user other than root can change what a path leads to: the file itself, or a folder or symbolic link on the way.
struct TrustedPath {
    /// What another user can change.
    struct Weakness {
        var path: String
        /// The owner, if it is not root; nil: the group or others can write it.
        var owner: uid_t?
        /// Whether this is the file itself, not something on the way.
        var isLast = false
        /// Whether this is a folder for all users, such as `/tmp`.
        var isShared = false
    }

    /// The first part of the path that others can change; nil: there is none. A missing part cannot be changed.
    ///
    /// In a folder with the sticky bit, such as `/tmp`, other users cannot replace what belongs to root. The file itself must be writable
    /// by root only.
    static func weakness(_ path: String) -> Weakness? {
        var rest = parts(absolute(path))
        var place = "/"
        var links = 0
        if let weakness = look(at: place, isLast: rest.isEmpty) { return weakness }
        while let part = rest.first {
            rest.removeFirst()
            if part == "." { continue }
            if part == ".." {
                place = place.lastIndex(of: "/").map { String(place[..<$0]) } ?? ""
                if place.isEmpty { place = "/" }
                continue
            }
            let next = (place == "/" ? "" : place) + "/" + part
            var facts = stat()
            guard lstat(next, &facts) == 0 else { return nil }
            guard facts.st_mode & S_IFMT == S_IFLNK else {
                place = next
                if let weakness = look(at: place, isLast: rest.isEmpty) { return weakness }
                continue
            }
            links += 1
            guard facts.st_uid == 0 else { return Weakness(path: next, owner: facts.st_uid) }
            guard links <= FilePlace.mostLinks, let target = FilePlace.target(ofLink: next) else { return nil }
            if target.hasPrefix("/") { place = "/" }
            rest = parts(target) + rest
        }
        return nil
    }

    private static func look(at path: String, isLast: Bool) -> Weakness? {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return nil }
        if facts.st_uid != 0 { return Weakness(path: path, owner: facts.st_uid, isLast: isLast) }
        guard facts.st_mode & 0o022 != 0, isLast || facts.st_mode & S_ISVTX == 0 else { return nil }
        return Weakness(path: path, owner: nil, isLast: isLast, isShared: facts.st_mode & S_ISVTX != 0)
    }

    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    private static func parts(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }
}
