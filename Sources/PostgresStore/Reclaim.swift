public import PriceStore

extension PostgresStore {
    /// The size of the database in bytes.
    public func sizeBytes() throws(StoreError) -> Int64 {
        try run("reading the size") {
            try rows(SQLFragment("SELECT pg_database_size(current_database())")).first?[0].flatMap { Int64($0) } ?? 0
        }
    }

    /// The room that a table, its indexes and its partitions take, in bytes; nil for a view.
    public func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try run("reading the size of \(entity)") {
            guard let table = try table(entity), table.entity.kind == .table else { return nil }
            return try leaves(of: table).reduce(0) { sum, leaf in
                let query = "SELECT pg_total_relation_size(" + SQLFragment.bound("\(leaf.number)", "regclass") + ")"
                return try sum + (rows(query).first?[0].flatMap { Int64($0) } ?? 0)
            }
        }
    }
}

extension PostgresWriter {
    /// Has the tables of this run cleaned and analysed where that was asked for; else it is autovacuum's work.
    ///
    /// The room of deleted rows is used again by new rows; files shrink only where their ends are empty.
    public func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult {
        let before = try sizeBytes()
        guard request.mode == .vacuum else { return ReclaimResult(sizeBytesBefore: before, sizeBytesAfter: before) }
        var warning: String?
        try run("giving room back") {
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
