import GRDB
package import PriceStore

extension SQLiteWriter {
    /// Begins the archive of a run: a file in the folder that the request names.
    package func beginArchive(_ request: ArchiveRequest) throws(StoreError) {
        archiver = try RowArchiver(ArchiveFile(request, store: storeIdentifier), rules: request.rules)
    }

    /// Checks the archive, syncs it to disk and closes it.
    package func completeArchive() throws(StoreError) -> ArchiveResult? {
        guard let archiver else { return nil }
        self.archiver = nil
        try run("ending the archive") { try archiver.remove($0) }
        return try archiver.complete()
    }

    /// Runs a transaction that deletes rows, and archives the rows before it commits.
    ///
    /// - Parameter body: the transaction. It gets the archiver; nil if the rows are not archived.
    func archived(
        _ work: DeleteWork, _ body: (RowArchiver?) throws -> BatchDeleteResult
    ) throws -> BatchDeleteResult {
        guard work.archiveRule != nil else { return try body(nil) }
        guard let archiver else {
            throw failure(.unsupported, "rows must be archived, but no archive was started")
        }
        do {
            let result = try body(archiver)
            archiver.finish()
            return result
        } catch {
            throw try archiver.withdraw() ?? error
        }
    }
}

extension BatchDeleteResult {
    /// The number of deleted rows of all tables.
    var removedCount: Int { deletedCount + cascadedCount + deletedByTriggers.values.reduce(0, +) }
}
