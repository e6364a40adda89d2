public import PriceStore

extension PostgresWriter {
    /// Has the tables of this run cleaned and analysed where that was asked for; else it is autovacuum's work.
    ///
    /// The room of deleted rows is used again by new rows; files shrink only where their ends are empty.
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
                // A partition that was dropped needs none.
                try execute("VACUUM (ANALYZE) \(table)")
            }
        }
        return ReclaimResult(sizeBytesBefore: before, sizeBytesAfter: try sizeBytes(), warning: warning)
    }
}
