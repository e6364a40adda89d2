@preconcurrency import Glibc
import PriceStore
package import RetentionPolicy

/// The files that a pattern of stores matches.
///
/// `*`, `?` and `[…]` match within one part of a path, and the part `**` any number of folders. Only a dot matches a leading dot. Links to
/// folders are not followed. A file is found once, whatever its names. Left out are empty files, SQLite's side files, and the program's own
/// files: ledgers, archives and locks.
package struct StoreFiles {
    /// The real paths, sorted.
    package private(set) var paths: [String] = []
    /// Folders that cannot be read, each as a sentence without a full stop.
    package private(set) var problems: [String] = []
    private var seen: Set<FilePlace.Number> = []

    /// Looks for the files.
    ///
    /// - Parameter ownIDs: the `application_id` of the program's own files.
    package init(_ pattern: StorePattern, ownIDs: Set<Int32>) {
        let written = pattern.written
        let parts = (written.hasPrefix("/") ? written : "\(pattern.baseFolder)/\(written)").split(separator: "/")
        find(parts.map(String.init)[...], in: "")
        paths = paths.filter { path in
            let name = pattern.display(path)
            return !pattern.except.contains { fnmatch($0, name, FNM_PERIOD) == 0 }
                && FileHeader.applicationID(path).map(ownIDs.contains) != true
        }.sorted()
    }

    private mutating func find(_ parts: ArraySlice<String>, in folder: String) {
        guard let part = parts.first else { return }
        let rest = parts.dropFirst()
        if part == "**" {
            find(rest, in: folder)
            for name in names(in: folder, matching: "*") where isFolder("\(folder)/\(name)") {
                find(parts, in: "\(folder)/\(name)")
            }
            return
        }
        let isPattern = part.contains { "*?[".contains($0) }
        for name in isPattern ? names(in: folder, matching: part) : [part] {
            let path = "\(folder)/\(name)"
            if !rest.isEmpty {
                // Folders before the first wildcard are used as they are, links too.
                if !isPattern || isFolder(path) { find(rest, in: path) }
            } else if !Self.sideFileEndings.contains(where: name.hasSuffix), let real = FilePlace.realPath(path) {
                let place = FilePlace(real)
                guard let facts = place.facts, facts.isRegularFile, facts.st_size > 0,
                    seen.insert(FilePlace.Number(facts)).inserted
                else { continue }
                paths.append(real)
            }
        }
    }

    private mutating func names(in folder: String, matching pattern: String) -> [String] {
        if let folder = opendir(folder.isEmpty ? "/" : folder) {
            closedir(folder)
        } else if errno != ENOENT {
            problems.append("\(folder): cannot be read: \(String(systemError: errno))")
        }
        return PendingPattern.names(in: folder.isEmpty ? "/" : folder, matching: pattern)
    }

    private func isFolder(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    private static let sideFileEndings = ["-wal", "-shm", "-journal", ".retention-lock"]
}

/// The header of a SQLite file. Source: sqlite.org/fileformat2.html, section 1.3.
private enum FileHeader {
    /// The ID of the program that made a file; nil: it cannot be read. No connection of this process may have the file open, because closing
    /// it here releases its locks.
    static func applicationID(_ path: String) -> Int32? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4)
        guard pread(descriptor, &bytes, 4, 68) == 4 else { return nil }
        return Int32(bitPattern: bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
    }
}
