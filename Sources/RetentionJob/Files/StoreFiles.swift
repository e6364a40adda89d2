@preconcurrency import Glibc
import PriceStore
package import RetentionPolicy

/// The files that a pattern of stores matches.
///
/// `*`, `?` and `[…]` match within one part of a path, and the part `**` any number of folders. Only a dot matches a leading dot. Links to
/// folders are not followed. A file is found once, whatever its names. Left out are empty files, SQLite's side files, and the program's own
/// files: ledgers, archives, locks and copies.
package struct StoreFiles {
    /// The real paths, sorted.
    package private(set) var paths: [String] = []
    /// What cannot be read, each as a sentence without a full stop.
    package private(set) var problems: [String] = []
    /// The patterns of `except` that match no file.
    package private(set) var unused: [String] = []
    /// The files with the names by which they were found.
    private var found: [(real: String, names: Set<String>)] = []
    private var places: [FilePlace.Number: Int] = [:]

    /// Looks for the files.
    ///
    /// - Parameters:
    ///   - ownPaths: files of the policy, such as the policy itself.
    ///   - isOwn: whether another file is one of the program's own.
    package init(_ pattern: StorePattern, ownPaths: [String], isOwn: (String) -> Bool) {
        find(pattern.parts(of: pattern.written)[...], in: "")
        let own = Set(ownPaths.compactMap { FilePlace.realPath($0) })
        found.removeAll { own.contains($0.real) || isOwn($0.real) }
        for text in pattern.except {
            let excepted = found.indices.filter { index in
                found[index].names.contains { Self.matches($0, pattern, text) }
            }
            if excepted.isEmpty { unused.append(text) }
            for index in excepted.reversed() { found.remove(at: index) }
        }
        paths = found.map(\.real).sorted()
    }

    /// Whether a path, which a pattern matches, leads to no file.
    package static func isGone(_ path: String, of pattern: StorePattern) -> Bool {
        FilePlace(path).facts == nil && matches(path, pattern, pattern.written)
            && !pattern.except.contains { matches(path, pattern, $0) }
    }

    /// Whether a pattern matches a path, or a folder of it. A `*` matches slashes too.
    private static func matches(_ path: String, _ pattern: StorePattern, _ text: String) -> Bool {
        let bases = [pattern.baseFolder, FilePlace.realPath(pattern.baseFolder) ?? pattern.baseFolder]
        return bases.contains { base in
            let whole = "/" + StorePattern(text, baseFolder: base).parts(of: text).joined(separator: "/")
            return [whole, whole.replacing("/**/", with: "/")].contains {
                fnmatch($0, path, FNM_PERIOD) == 0 || fnmatch($0 + "/*", path, FNM_PERIOD) == 0
            }
        }
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
        let isPattern = PendingPattern.isPattern(part)
        for name in isPattern ? names(in: folder, matching: part) : [part] {
            let path = "\(folder)/\(name)"
            if !rest.isEmpty {
                // Folders before the first wildcard are used as they are, links too.
                if !isPattern || isFolder(path) { find(rest, in: path) }
            } else if !Self.sideFileEndings.contains(where: name.hasSuffix), let real = FilePlace.realPath(path) {
                guard let facts = FilePlace(real).facts, facts.isRegularFile, facts.st_size > 0 else { continue }
                let index = places[FilePlace.Number(facts), default: found.count]
                if index == found.count {
                    places[FilePlace.Number(facts)] = index
                    found.append((real, [real]))
                }
                found[index].names.insert(path)
            }
        }
    }

    private mutating func names(in folder: String, matching pattern: String) -> [String] {
        let place = folder.isEmpty ? "/" : folder
        func note(_ text: String) {
            let problem = "\(place): \(text)"
            if !problems.contains(problem) { problems.append(problem) }
        }
        guard let entries = PendingPattern.entries(of: place) else {
            if errno != ENOENT { note("cannot be read: \(String(systemError: errno))") }
            return []
        }
        if entries.hasOthers { note("a name that is not UTF-8 is left out") }
        return PendingPattern.names(entries.names, matching: pattern)
    }

    private func isFolder(_ path: String) -> Bool { FilePlace(path).facts?.isFolder == true }

    private static let sideFileEndings = ["-wal", "-shm", "-journal", ".retention-lock", ".retention-copy"]
}
