import PriceStore

/// Compares the record with the files before any file is imported.
extension PendingStep {
    /// Opens the files of the record, and notes the entries whose file with the saved text is missing. A file that has moved to `done/` is
    /// settled.
    ///
    /// - Returns: false if the run was stopped.
    func settleRecord() throws -> Bool {
        for entry in taken.values.sorted(by: { $0.path < $1.path }) {
            if let bytes = try? PendingFile(path: entry.path), bytes.sizeBytes >= entry.sizeBytes {
                guard let hash = try bytes.sha256(through: entry.sizeBytes, mayContinue: pauses.mayContinue) else {
                    return false
                }
                if hash == entry.sha256 {
                    begun[entry.path] = bytes
                    continue
                }
            }
            if entry.isComplete, isInDone(entry) {
                taken[entry.path] = nil
                if let writer { try TakenFiles.remove(path: entry.path, from: writer) }
            } else {
                lost.append(entry)
            }
        }
        return true
    }

    /// Whether an imported file is in `done/`.
    private func isInDone(_ entry: TakenFiles.Entry) -> Bool {
        let folder = "\(entry.parts.folder)/\(PendingFile.doneFolder)"
        var number = 1
        while true {
            let path = "\(folder)/\(NumberedName.name(entry.parts.name, number: number))"
            guard let moved = try? PendingFile(path: path) else { return false }
            if moved.holds(entry) { return true }
            number += 1
        }
    }
}
