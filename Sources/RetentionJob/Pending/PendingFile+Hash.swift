import PriceStore
import RetentionPolicy

extension PendingFile {
    /// The SHA-256 of the file up to an offset, as 64 lower-case hexadecimal digits; nil: the run was stopped.
    func sha256(through end: Int64, mayContinue: () -> Bool = { true }) throws -> String? {
        var hash = SHA256()
        var isStopped = false
        var place: Int64 = 0
        while place < end, !isStopped {
            let next = min(end, place + 1 << 24)
            try withBytes(of: place..<next) { hash.update($0) }
            place = next
            isStopped = place < end && !mayContinue()
        }
        return isStopped ? nil : hash.digits()
    }

    /// Whether this is the file of an entry: same size and same bytes. Reads the file to its end.
    func holds(_ entry: TakenFiles.Entry) -> Bool {
        guard sizeBytes == entry.sizeBytes, let hash = try? sha256(through: sizeBytes) else { return false }
        return hash == entry.sha256
    }
}
