public import PriceStore

extension PostgresWriter {
    /// Vacuums and analyzes the tables of this run if requested; otherwise autovacuum does it.
    ///
    /// New rows reuse the space of deleted ones. Files shrink only if their ends are empty.
    public func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult {
        let before = try sizeBytes()
        guard request.mode == .vacuum else { return ReclaimResult(sizeBytesBefore: before, sizeBytesAfter: before) }
        var warning: String?
        try run("returning free space") {
            for table in changedTables.sorted() {
                guard request.mayContinue() else {
                    warning = "stopped before all tables were vacuumed"
                    break
                }
                // A dropped partition needs no VACUUM.
                try execute("VACUUM (ANALYZE) \(table)")
            }
        }
        return ReclaimResult(sizeBytesBefore: before, sizeBytesAfter: try sizeBytes(), warning: warning)
    }
}
