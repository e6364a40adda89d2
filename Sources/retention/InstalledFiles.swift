@preconcurrency import Glibc

/// Files that are installed with the program, found relative to the program itself.
enum InstalledFiles {
    /// The JSON Schema of the policy file, absolute; nil: the program was not installed with it.
    static var schema: String? {
        guard let real = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(real) }
        var folders = String(cString: real).split(separator: "/").dropLast()
        guard folders.popLast() == "bin" else { return nil }
        let path = "/" + (folders + ["share", "retention", "retention.schema.json"]).joined(separator: "/")
        return access(path, R_OK) == 0 ? path : nil
    }
}
