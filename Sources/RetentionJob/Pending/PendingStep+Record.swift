@preconcurrency import Glibc
import PriceStore

/// The record is updated to match the files before any file is imported.
extension PendingStep {
    /// Finds the files of the record that are no longer where they were: moved to `done/`, renamed, or missing.
    ///
    /// A renamed file is found by its hash, even if it has grown, and is continued under its new name. The entry of a
    /// missing file frees its name and stays: if the file comes back, its rows are not saved twice.
    ///
    /// - Parameter keepsMoved: whether files in `done/` are deleted later, for which their entries are needed.
    /// - Returns: false if the run was stopped.
    func settleRecord(_ patterns: [PendingPattern], keepsMoved: Bool) throws -> Bool {
        for entry in taken.values.sorted(by: { $0.path < $1.path }) {
            if entry.isMoved {
                if !keepsMoved, let writer { try TakenFiles.remove(paths: [entry.path], from: writer) }
                continue
            }
            let isAbsent = entry.isMissing || Self.isNothing(at: entry.path)
            if isAbsent, entry.isComplete, let target = placeInDone(of: entry) {
                try settle(entry, movedTo: target, keepsMoved: keepsMoved)
                continue
            }
            switch try findRenamed(entry, isAbsent: isAbsent, patterns) {
            case .stopped: return false
            case .found(let file, let source): try adopt(entry, as: file, of: source, patterns)
            case .nowhere where isAbsent && !entry.isMissing: try setAside(entry)
            case .nowhere: break
            }
        }
        return true
    }

    private enum Search {
        case found(PendingPattern.File, source: Int)
        case nowhere, stopped
    }

    private static func isNothing(at path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// Looks for the file of an entry under another name.
    private func findRenamed(_ entry: TakenFiles.Entry, isAbsent: Bool, _ patterns: [PendingPattern]) throws -> Search {
        var candidates: [(file: PendingPattern.File, source: Int, sizeBytes: Int64)] = []
        for (index, pattern) in patterns.enumerated() {
            for file in pattern.files().files where taken[file.path] == nil && refused[file.path] == nil {
                guard let bytes = try? PendingFile(path: file.path), bytes.sizeBytes >= entry.sizeBytes else {
                    continue
                }
                candidates.append((file, index, bytes.sizeBytes))
            }
        }
        // One that has not grown comes first.
        for (file, source, _) in candidates.sorted(by: { $0.sizeBytes < $1.sizeBytes }) {
            guard let bytes = try? PendingFile(path: file.path) else { continue }
            guard let isSame = try isText(of: entry, bytes) else { return .stopped }
            guard isSame else { continue }
            // A copy of a file that still exists is a separate file.
            if !isAbsent, let original = try? PendingFile(path: entry.path), original.sizeBytes >= entry.sizeBytes {
                guard let isThere = try isText(of: entry, original) else { return .stopped }
                if isThere { return .nowhere }
            }
            return .found(file, source: source)
        }
        return .nowhere
    }

    /// Whether a file begins with the text of an entry; nil: the run was stopped.
    private func isText(of entry: TakenFiles.Entry, _ bytes: PendingFile) throws -> Bool? {
        try bytes.sha256(through: entry.sizeBytes, mayContinue: pauses.mayContinue).map { $0 == entry.sha256 }
    }

    /// Continues a file under its new name, if the same source matches it: another one may use another entity.
    private func adopt(
        _ entry: TakenFiles.Entry, as file: PendingPattern.File, of source: Int, _ patterns: [PendingPattern]
    ) throws {
        let place = FilePlace(entry.filePath)
        guard patterns.count == 1 || patterns.firstIndex(where: { $0.takes(place) }) == source else {
            refused[file.path] =
                "begins with the text of \(entry.filePath), of which an interrupted run saved \(entry.savedBytes) "
                + "bytes, and may belong to another entry of `pending`; give it that name again"
            return
        }
        note("\(file.displayName) was \(entry.filePath) when a run was interrupted; its saved rows are not saved again")
        var next = entry
        next.path = file.path
        try replace(entry, with: next, newFile: file)
    }

    /// Frees the name of a missing file, and reports it once.
    private func setAside(_ entry: TakenFiles.Entry) throws {
        if !entry.isComplete {
            report(
                problem:
                    "\(entry.path) is missing, and only its first \(entry.savedBytes) bytes are saved; if it comes "
                    + "back under any name, the next run continues with the rest")
        }
        var next = entry
        next.path = entry.missingPath
        try replace(entry, with: next, newFile: nil)
    }

    private func replace(_ entry: TakenFiles.Entry, with next: TakenFiles.Entry, newFile: PendingPattern.File?) throws {
        var next = next
        taken[entry.path] = nil
        defer { taken[next.path] = next }
        guard let writer else { return }
        // The bad lines of the saved rows get the old name. Their hidden file is removed last, so that a crash loses
        // none.
        let rejected = try waitingRejected(of: entry)
        try rejected?.giveName()
        if rejected != nil || newFile == nil { next.rejectedBytes = 0 }
        try TakenFiles.replace(entry.path, with: next, in: writer)
        rejected?.discard()
    }

    /// The bad lines that an interrupted run left under the old name; nil if there are none.
    private func waitingRejected(of entry: TakenFiles.Entry) throws -> RejectedFile? {
        let (folder, name) = entry.parts
        let file = PendingPattern.File(folder: folder, name: name, displayName: entry.filePath)
        guard entry.rejectedBytes > 0, RejectedFile.isWaiting(for: file) else { return nil }
        do {
            return try RejectedFile(for: file, committedBytes: entry.rejectedBytes)
        } catch is FileProblem {
            return nil
        }
    }

    private func settle(_ entry: TakenFiles.Entry, movedTo target: String, keepsMoved: Bool) throws {
        taken[entry.path] = nil
        guard let writer else { return }
        if keepsMoved {
            try TakenFiles.note(path: entry.path, movedTo: target, in: writer)
        } else {
            try TakenFiles.remove(paths: [entry.path], from: writer)
        }
    }

    /// The path of an imported file in `done/`; nil if it is not there.
    private func placeInDone(of entry: TakenFiles.Entry) -> String? {
        let folder = "\(entry.parts.folder)/\(PendingFile.doneFolder)"
        var number = 1
        while true {
            let path = "\(folder)/\(NumberedName.name(entry.parts.name, number: number))"
            guard let moved = try? PendingFile(path: path) else { return nil }
            if moved.holds(entry) { return path }
            number += 1
        }
    }
}
