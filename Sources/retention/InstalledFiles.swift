@preconcurrency import Glibc
import RetentionJob

/// Files that are installed with the program and found relative to it.
enum InstalledFiles {
    /// The absolute path of the policy file's JSON Schema; nil: the program was not installed with it.
    static var schema: String? {
        guard var folders = FilePlace.realPath("/proc/self/exe")?.split(separator: "/").dropLast(),
            folders.popLast() == "bin"
        else { return nil }
        let path = "/" + (folders + ["share", "retention", "retention.schema.json"]).joined(separator: "/")
        return access(path, R_OK) == 0 ? path : nil
    }
}
