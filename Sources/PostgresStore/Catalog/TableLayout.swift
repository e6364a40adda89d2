package import PriceStore

extension PostgresDatabase {
    /// The size of the database in bytes.
    package func sizeBytes() throws(StoreError) -> Int64 {
        try run("reading the size") {
            try Int64(count("SELECT pg_database_size(current_database())"))
        }
    }

    /// The size of a table, its indexes and all of its parts, in bytes, on all servers; nil for a view.
    package func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try run("reading the size of \(entity)") {
            guard let table = try table(entity), table.entity.kind == .table else { return nil }
            let function =
                try table.isHypertable
                ? "\(schema(ofExtension: "timescaledb") ?? "public").hypertable_size"
                : table.isDistributed ? "citus_total_relation_size" : "pg_total_relation_size"
            return try leaves(of: table).reduce(0) { sum, leaf in
                try sum + Int64(count("SELECT \(function)(\(leaf.oid)::regclass)"))
            }
        }
    }

    /// How a table is divided and by whom, and the server's own jobs on it; nil for a plain table.
    package func layout(ofEntity entity: String) throws(StoreError) -> String? {
        try run("reading the layout of \(entity)") {
            guard let table = try table(entity), table.entity.kind == .table else { return nil }
            var parts = table.isHypertable ? try hypertableLayout(table) : []
            if table.isDistributed { parts.append(try distributedLayout(table)) }
            if table.isPartitioned { parts.append(try partitionLayout(table)) }
            if table.isColumnar { parts.append("columnar") }
            return parts.isEmpty ? nil : parts.joined(separator: "; ")
        }
    }

    private func hypertableLayout(_ table: PostgresTable) throws -> [String] {
        let chunkCount = try count("SELECT count(*) FROM pg_inherits WHERE inhparent = \(table.oid)")
        let compressedCount = try rows(TimescaleSQL.compressedChunks(table)).count
        var text = table.aggregate == nil ? "hypertable" : "continuous aggregate"
        text += ", " + chunkCount.counted("chunk")
        if let dimension = try row(TimescaleSQL.dimension(table)), let length = try dimension.optionalText("length") {
            text += " of \(length) by \(try dimension.text("column_name"))"
        }
        if compressedCount > 0 { text += ", \(compressedCount) of them compressed" }
        let (aggregates, leastAges) = try Aggregates(session: self, table: table).described()
        if !aggregates.isEmpty { text += "; continuous aggregates: \(aggregates.joined(separator: ", "))" }
        let policies = try rows(
            "SELECT j.proc_name, coalesce(j.config ->> 'drop_after', j.config ->> 'compress_after', j.config ->> 'start_offset') "
                + "AS age FROM _timescaledb_config.bgw_job j JOIN _timescaledb_catalog.hypertable h ON h.id = j.hypertable_id "
                + "WHERE " + TimescaleSQL.isOf(table) + " ORDER BY j.id"
        ).map { try $0.text("proc_name") + ($0.optionalText("age").map { " (\($0))" } ?? "") }
        if !policies.isEmpty { text += "; policies of the server: \(policies.joined(separator: ", "))" }
        return [text] + leastAges
    }

    private func distributedLayout(_ table: PostgresTable) throws -> String {
        let row = try row(
            "SELECT citus_table_type, distribution_column, shard_count FROM citus_tables "
                + "WHERE table_name = \(table.oid)::regclass")
        let kind = try row?.text("citus_table_type") ?? "reference"
        guard let row, kind == "distributed" else { return "\(kind) table" }
        return "distributed by \(try row.text("distribution_column")), \(try row.int("shard_count").counted("shard"))"
    }

    private func partitionLayout(_ table: PostgresTable) throws -> String {
        let key = try texts("SELECT pg_get_partkeydef(\(table.oid))").first ?? ""
        let leaves = try leaves(of: table)
        let columnarCount = leaves.count(where: \.isColumnar)
        return "\(leaves.count.counted("partition")) by \(key)"
            + (columnarCount > 0 ? ", \(columnarCount) of them columnar" : "")
    }
}
