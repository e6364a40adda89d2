@preconcurrency import Glibc
import PriceStore
package import RetentionPolicy

/// The files that match a pattern of pending files.
///
/// `*`, `?` and `[…]` match within one part of a path; only a dot matches a leading dot. The pattern before its first such part is used
/// literally, including symbolic links, because the operator wrote it.
package struct PendingPattern {
    /// A file that can be imported.
    struct File: Hashable {
        /// The real path of its folder.
        var folder: String
        var name: String
        /// The name in messages: relative to the policy's folder if the file is below it.
        var displayName: String

        var path: String { "\(folder)/\(name)" }
    }

    /// The folder before the pattern's first wildcard.
    let root: String
    private let parts: [String]
    /// The pattern of the name; empty: the pattern is of the root alone.
    private var name: String { parts.suffix(1).joined() }
    private let baseFolder: String
    /// The store and the ledger. They must never be opened and closed outside their own connection.
    private let databases: [String]

    package init(_ source: PendingSource, databases: [String] = []) {
        baseFolder = source.baseFolder
        self.databases = databases
        let absolute = source.files.hasPrefix("/") ? source.files : "\(source.baseFolder)/\(source.files)"
        let all = absolute.split(separator: "/").map(String.init)
        let literalCount = min(all.count - 1, all.firstIndex(where: Self.isPattern) ?? all.count)
        root = "/" + all.prefix(max(0, literalCount)).joined(separator: "/")
        parts = Array(all.dropFirst(max(0, literalCount)))
    }

    /// The files in name order, and the problems with others, each as a sentence.
    func files() -> (files: [File], problems: [String]) {
        var files: [File] = []
        var problems: [String] = []
        for (folder, shown) in folders(&problems) {
            for name in Self.names(in: folder, matching: self.name) where canBeTaken(name, in: folder) {
                let file = File(folder: folder, name: name, displayName: display("\(shown)/\(name)"))
                var status = stat()
                guard lstat(file.path, &status) == 0 else { continue }
                switch status.st_mode & S_IFMT {
                case S_IFREG where isDatabase(status): continue
                case S_IFREG: files.append(file)
                case S_IFLNK: problems.append("\(file.displayName): refusing to follow a symbolic link")
                default: continue
                }
            }
        }
        return (files, problems)
    }

    /// The real paths of the folders that are searched.
    package func realFolders() -> [String] {
        var problems: [String] = []
        return folders(&problems).map(\.real)
    }

    /// Whether a file would be imported as a pending file.
    package func takes(_ place: FilePlace) -> Bool {
        fnmatch(name, place.name, FNM_PERIOD) == 0 && canBeTaken(place.name, in: place.folder)
            && realFolders().contains(place.folder)
    }

    private func folders(_ problems: inout [String]) -> [(real: String, shown: String)] {
        let isDone = "/" + PendingFile.doneFolder
        guard !parts.dropLast().contains(PendingFile.doneFolder),
            parts.count > 1 || !root.hasSuffix(isDone) && FilePlace.realPath(root)?.hasSuffix(isDone) != true
        else {
            problems.append(
                "\(display(root)): files in a folder named \(PendingFile.doneFolder) are never taken, because their rows are "
                    + "saved already; move them to another folder")
            return []
        }
        guard let realRoot = FilePlace.realPath(root) else {
            if errno != ENOENT, errno != ENOTDIR {
                problems.append("\(display(root)): cannot be opened: \(String(systemError: errno))")
            }
            return []
        }
        var found = [(real: realRoot, shown: root)]
        for part in parts.dropLast() {
            guard part != ".." else {
                problems.append("\(parts.joined(separator: "/")): '..' after a wildcard is not allowed")
                return []
            }
            found = found.flatMap { parent in
                Self.names(in: parent.real, matching: part).compactMap { name in
                    guard name != PendingFile.doneFolder, let real = FilePlace.realPath("\(parent.real)/\(name)") else {
                        return nil
                    }
                    let shown = "\(parent.shown)/\(name)"
                    guard real.hasPrefix(FilePlace.path("", in: realRoot)) else {
                        problems.append("\(display(shown)): refusing to follow a symbolic link out of \(display(root))")
                        return nil
                    }
                    return (real, shown)
                }
            }
        }
        for folder in found where access(folder.real, R_OK | X_OK) != 0 {
            problems.append("\(display(folder.shown)): cannot be read: \(String(systemError: errno))")
        }
        return found.filter { !$0.real.hasSuffix("/" + PendingFile.doneFolder) }
    }

    /// Excludes unfinished files of other programs, this program's own files, and databases.
    private func canBeTaken(_ name: String, in folder: String) -> Bool {
        let endings = [
            ".part", ".tmp", PendingFile.rejectedEnding, ".sqlite", ".sqlite3", ".db", "-wal", "-shm", "-journal",
            ".retention-lock",
        ]
        return !name.hasPrefix(".") && !endings.contains(where: name.hasSuffix)
            && !databases.contains("\(folder)/\(name)")
    }

    /// Whether a file is one of the databases under another name.
    private func isDatabase(_ file: stat) -> Bool {
        file.st_nlink > 1 && databases.contains { FilePlace.number(of: $0) == FilePlace.Number(file) }
    }

    private func display(_ path: String) -> String {
        path.hasPrefix(baseFolder + "/") ? String(path.dropFirst(baseFolder.count + 1)) : path
    }

    static func isPattern(_ part: String) -> Bool { part.contains { "*?[".contains($0) } }

    /// The names in a folder that match one part of a pattern, sorted. A name without wildcards is returned unchanged.
    static func names(in folder: String, matching pattern: String) -> [String] {
        isPattern(pattern) ? names(entries(of: folder)?.names ?? [], matching: pattern) : [pattern]
    }

    /// The names that match one part of a pattern, sorted.
    static func names(_ names: [String], matching pattern: String) -> [String] {
        names.filter { fnmatch(pattern, $0, FNM_PERIOD) == 0 }.sorted()
    }

    /// The names in a folder, and whether there are others that are not UTF-8, which a report cannot name; nil: `errno` says why it cannot
    /// be read.
    package static func entries(of folder: String) -> (names: [String], hasOthers: Bool)? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var found = (names: [String](), hasOthers: false)
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let name { found.names.append(name) } else { found.hasOthers = true }
        }
        return found
    }
}

/// File names with a number before the ending, as `prices-2.csv` for `prices.csv`.
enum NumberedName {
    /// The name with a number; for 1, the name itself.
    static func name(_ name: String, number: Int) -> String {
        guard number > 1 else { return name }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return fitting(name, "-\(number)") }
        return fitting(String(name[..<dot]), "-\(number)\(name[dot...])")
    }

    /// A name with an ending, shortened before the ending to the limit of file systems.
    static func fitting(_ name: String, _ ending: String) -> String {
        var name = name
        while !name.isEmpty, name.utf8.count + ending.utf8.count > Int(NAME_MAX) { name.removeLast() }
        return name + ending
    }
}
