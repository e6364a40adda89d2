package import PriceStore
import SQLiteStore

/// Archives that the engine makes of rows of a table `price` that are deleted for it.
package enum ArchiveFixture {
    /// An identifier of a run that began at that instant.
    package static func run(at instant: Instant, _ last: Character = "A") -> String {
        let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        let milliseconds = instant.microseconds / 1000
        let time = String((0..<10).map { digits[Int(milliseconds >> Int64(5 * (9 - $0))) & 31] })
        return time + String(repeating: "0", count: 15) + String(last)
    }

    /// Deletes the rows of a store that are older than 30 days at an instant, and archives them.
    ///
    /// - Parameter isComplete: whether the archive is completed; otherwise it is left as by a run that was killed.
    package static func make(
        in folder: String, run: String, of store: String, entity: String = "price", date: String = "at",
        now: Instant, isComplete: Bool = true
    ) throws {
        let cutoff = now.advanced(byMicroseconds: -30 * 86_400_000_000)
        let writer = try SQLiteWriter(path: store)
        try writer.beginArchive(
            ArchiveRequest(
                place: folder, run: run, rules: [ArchiveRequest.Rule(name: "prices", entity: entity, cutoff: cutoff)]))
        var request = SurveyRequest(
            entity: entity, date: DateAttribute(name: date, encoding: .unixSeconds, earliest: .distantPast),
            cutoff: cutoff)
        request.deleting.archiveRule = "prices"
        let deletion = try writer.deletion(of: request)
        while try deletion.deleteNext(DeletionBounds(rows: 1000)).hasMore {}
        if isComplete { _ = try writer.completeArchive() }
    }
}
