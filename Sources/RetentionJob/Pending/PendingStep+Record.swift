import PriceStore

/// The record and the files are compared before any file is imported.
extension PendingStep {
    /// Opens the files of the record, and notes the entries whose file is not there with the text that was saved. One
    /// that has moved to `done/` is settled.
    ///
    /// - Parameter keepsMoved: whether files in `done/` are deleted later, for which their entries are needed.
    /// - Returns: false if the run was stopped.
    func settleRecord(keepsMoved: Bool) throws -> Bool {
        for entry in taken.values.sorted(by: { $0.path < $1.path }) {
            if entry.isMoved {
                if !keepsMoved, let writer { try TakenFiles.remove(paths: [entry.path], from: writer) }
                continue
            }
            if let bytes = try? PendingFile(path: entry.path), bytes.sizeBytes >= entry.sizeBytes {
                guard let hash = try bytes.sha256(through: entry.sizeBytes, mayContinue: pauses.mayContinue) else {
                    return false
                }
                if hash == entry.sha256 {
                    begun[entry.path] = bytes
                    continue
                }
            }
            if entry.isComplete, let target = placeInDone(of: entry) {
                try settle(entry, movedTo: target, keepsMoved: keepsMoved)
            } else {
                lost.append(entry)
            }
        }
        return true
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
