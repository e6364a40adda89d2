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
        let path = path.hasPrefix("/") ? path : FilePlace.path(path, in: FilePlace.realPath(".") ?? "/")
        let steps = FilePlace.steps(path)
        if let weakness = look(at: "/", FilePlace("/").facts, isLast: steps.isEmpty) { return weakness }
        for step in steps {
            guard let facts = step.facts else { return nil }
            if facts.isLink {
                guard facts.st_uid == 0 else { return Weakness(path: step.path, owner: facts.st_uid) }
            } else if let weakness = look(at: step.path, facts, isLast: step.rest.isEmpty) {
                return weakness
            }
        }
        return nil
    }

    private static func look(at path: String, _ facts: stat?, isLast: Bool) -> Weakness? {
        guard let facts else { return nil }
        if facts.st_uid != 0 { return Weakness(path: path, owner: facts.st_uid, isLast: isLast) }
        guard facts.st_mode & 0o022 != 0, isLast || facts.st_mode & S_ISVTX == 0 else { return nil }
        return Weakness(path: path, owner: nil, isLast: isLast, isShared: facts.st_mode & S_ISVTX != 0)
    }
}
