package import PriceStore

extension PostgresDatabase {
    /// The size of the database in bytes.
    package func sizeBytes() throws(StoreError) -> Int64 {
        try run("reading the size") {
            try rows(SQLFragment("SELECT pg_database_size(current_database())")).first?[0].flatMap { Int64($0) } ?? 0
        }
    }

    /// The space that a table, its indexes and all of its parts take, in bytes, on all servers; nil for a view.
    package func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? {
        try run("reading the size of \(entity)") {
            guard let table = try table(entity), table.entity.kind == .table else { return nil }
            let function =
                try table.isHypertable
                ? "\(schema(ofExtension: "timescaledb") ?? "public").hypertable_size"
                : table.isDistributed ? "citus_total_relation_size" : "pg_total_relation_size"
            return try leaves(of: table).reduce(0) { sum, leaf in
                let query = "SELECT \(function)(" + SQLFragment.bound("\(leaf.number)", "regclass") + ")"
                return try sum + (rows(query).first?[0].flatMap { Int64($0) } ?? 0)
            }
        }
    }

    /// How a table is divided, by whom, and what the server does with it by itself; nil: it is a plain table.
    package func layout(ofEntity entity: String) throws(StoreError) -> String? {
        try run("reading the layout of \(entity)") {
            guard let table = try table(entity), table.entity.kind == .table else { return nil }
            var parts: [String] = []
            if table.isHypertable { parts.append(try hypertableLayout(table)) }
            if table.isDistributed { parts.append(try distributedLayout(table)) }
            if table.isPartitioned { parts.append(try partitionLayout(table)) }
            if table.isColumnar { parts.append("columnar") }
            return parts.isEmpty ? nil : parts.joined(separator: "; ")
        }
    }

    private func hypertableLayout(_ table: PostgresTable) throws -> String {
        let row = try rows(
            "SELECT d.column_name, coalesce(d.time_interval::text, d.integer_interval::text) "
                + "FROM timescaledb_information.dimensions d "
                + "WHERE d.dimension_number = 1 AND d.hypertable_schema = " + .bound(table.schema, "name")
                + " AND d.hypertable_name = " + .bound(table.relation, "name")
        ).first
        let chunkCount =
            try rows(
                "SELECT count(*) FROM pg_inherits WHERE inhparent = " + .bound("\(table.number)", "oid")
            ).first?[0].flatMap { Int($0) } ?? 0
        let compressedCount = try rows(TimescaleSQL.compressedChunks(table)).count
        var text = table.aggregate == nil ? "hypertable" : "continuous aggregate"
        text += ", " + chunkCount.counted("chunk")
        if let row, let column = row[0], let interval = row[1] { text += " of \(interval) by \(column)" }
        if compressedCount > 0 { text += ", \(compressedCount) of them compressed" }
        let policies = try rows(
            "SELECT j.proc_name, coalesce(j.config ->> 'drop_after', j.config ->> 'compress_after', j.config ->> 'start_offset') "
                + "FROM _timescaledb_config.bgw_job j JOIN _timescaledb_catalog.hypertable h ON h.id = j.hypertable_id "
                + "WHERE h.schema_name = " + .bound(table.schema, "name") + " AND h.table_name = "
                + .bound(table.relation, "name") + " ORDER BY j.id"
        ).map { "\($0[0] ?? "")\($0[1].map { " (\($0))" } ?? "")" }
        if !policies.isEmpty { text += "; policies of the server: \(policies.joined(separator: ", "))" }
        return text
    }

    private func distributedLayout(_ table: PostgresTable) throws -> String {
        let row = try rows(
            "SELECT citus_table_type, distribution_column, shard_count FROM citus_tables WHERE table_name = "
                + .bound("\(table.number)", "regclass")
        ).first
        guard let row, row[0] == "distributed" else { return "\(row?[0] ?? "reference") table" }
        let shards = row[2].flatMap { Int($0) } ?? 0
        return "distributed by \(row[1] ?? ""), \(shards.counted("shard"))"
    }

    private func partitionLayout(_ table: PostgresTable) throws -> String {
        let key = try rows("SELECT pg_get_partkeydef(" + .bound("\(table.number)", "oid") + ")").first?[0] ?? ""
        let leaves = try leaves(of: table)
        let columnarCount = leaves.count(where: \.isColumnar)
        return "\(leaves.count.counted("partition")) by \(key)"
            + (columnarCount > 0 ? ", \(columnarCount) of them columnar" : "")
    }
}
