import PriceStore
import RetentionJob
import RetentionPolicy

/// A missing store, the line that names it, and the files in its folder.
struct MissingStore {
    let path: String
    /// The store as named by the caller.
    let name: String
    /// Where the policy names the store, such as `retention.yaml, line 2`; nil: the command line names it.
    var place: String?
    /// The name of the policy's file; nil: there is none.
    var policy: String?

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
        guard let names = PendingPattern.entries(of: folder)?.names else {
            return "the folder \(folder) does not exist"
        }
        let files = names.sorted().filter { name in
            name != policy && !name.hasPrefix(".") && !Self.otherEndings.contains(where: name.lowercased().hasSuffix)
                && FilePlace(FilePlace.path(name, in: folder)).facts?.isFolder == false
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
}
