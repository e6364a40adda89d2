@preconcurrency import Glibc
import PriceStore
import RetentionPolicy

/// A missing store, the line that names it, and the files in its folder.
struct MissingStore {
    /// The path that was tried.
    let path: String
    /// The store as named by the caller.
    let name: String
    /// Where the policy names the store, such as `retention.yaml, line 2`; nil: the command line names it.
    var place: String?
    /// The name of the policy's file; nil: there is none.
    var policy: String?

    /// The error for the missing store.
    var error: StoreError {
        StoreError(
            .missing, store: name, message: "store not found" + (place.map { "; it is named in \($0)" } ?? ""),
            hint: hint)
    }

    private var hint: String {
        if place != nil, name.contains("*") { return "for each file of a pattern write store: { files: \"\(name)\" }" }
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let wanted = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard let files = Self.files(in: folder)?.filter({ $0 != policy }) else {
            return "the folder \(folder) does not exist"
        }
        if let near = NearestName.match(wanted, in: files) { return "did you mean '\(near)'? It is in \(folder)" }
        let stores = files.filter { name in Self.endings.contains { name.lowercased().hasSuffix($0) } }
        guard !stores.isEmpty else { return "looked for \(path); there is no SQLite file in that folder" }
        let more = stores.count > Self.mostNames ? " and \(stores.count - Self.mostNames) more" : ""
        return "the folder \(folder) contains " + stores.prefix(Self.mostNames).joined(separator: ", ") + more
    }

    private static let mostNames = 5
    private static let endings = [".sqlite", ".sqlite3", ".db", ".db3", ".store", ".sqlitedb"]

    /// Endings of files that belong to a store or to this program and are not stores.
    private static let otherEndings = [
        "-wal", "-shm", "-journal", ".retention-lock", ".ledger.sqlite", ".yaml", ".yml",
    ]

    /// The sorted names of the files in a folder, without those whose names show that they are not stores.
    private static func files(in path: String) -> [String]? {
        guard let folder = opendir(path) else { return nil }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            guard [DT_REG, DT_LNK, DT_UNKNOWN].contains(Int(entry.pointee.d_type)) else { continue }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { start in
                start.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix("."), !otherEndings.contains(where: name.lowercased().hasSuffix) else { continue }
            names.append(name)
        }
        return names.sorted()
    }
}
