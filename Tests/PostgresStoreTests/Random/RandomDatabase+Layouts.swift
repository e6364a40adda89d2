import PostgresCluster
import PriceStore
import TestSupport

@testable import PostgresStore

extension TableLayout {
    func makeDatabase() throws -> TestDatabase {
        isHypertable ? try .timescale() : isDistributed ? try .citus() : try TestDatabase()
    }
}

extension RandomDatabase {
    /// Makes the main table one of a layout, alone and without constraints that the layout forbids.
    mutating func take(_ layout: TableLayout) {
        self.layout = layout
        var table = main
        for index in table.columns.indices where table.columns[index].role == .key { table.columns[index].rest = "" }
        table.columns.removeAll { $0.role == .up }
        table.constraints = []
        table.rest = ""
        table.indexes.removeAll { $0.contains(" PARTITION OF ") }
        relationships = []
        let (name, date) = (table.name.quotedIdentifier, table.column(.date)?.name ?? "")
        let symbol = table.column(.symbol)?.name ?? ""
        if layout.isHypertable || layout.isPartitioned {
            encoding = .native
            for index in table.columns.indices where table.columns[index].role == .date {
                table.columns[index].type = pick(["timestamptz", "timestamp", "date"])
                table.columns[index].rest = layout.isHypertable ? "NOT NULL" : ""
                table.columns[index].isRequired = layout.isHypertable
            }
        }
        if layout.isPartitioned {
            table.rest = "PARTITION BY RANGE (\(date.quotedIdentifier))"
            table.indexes =
                [
                    "CREATE TABLE early PARTITION OF \(name) FOR VALUES FROM ('1990-01-01') TO ('2026-03-01')",
                    "CREATE TABLE march PARTITION OF \(name) FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
                    "CREATE TABLE late PARTITION OF \(name) FOR VALUES FROM ('2026-10-22') TO ('2026-10-25')",
                    "CREATE TABLE last PARTITION OF \(name) FOR VALUES FROM ('2026-10-25') TO ('2100-01-01')",
                ] + table.indexes + (chance(50) ? ["CREATE TABLE rest PARTITION OF \(name) DEFAULT"] : [])
        }
        if layout.isPartitioned, !layout.isDistributed, chance(40) {
            // Two partitions are divided further.
            for part in [0, 1] {
                let parent = ["early", "march"][part]
                table.indexes[part] += " PARTITION BY HASH (\(symbol.quotedIdentifier))"
                table.indexes += [0, 1].map {
                    "CREATE TABLE \(parent)_\($0) PARTITION OF \(parent) FOR VALUES WITH (MODULUS 2, REMAINDER \($0))"
                }
            }
        }
        if layout.isHypertable {
            table.indexes.insert(
                "SELECT create_hypertable(\(name.quotedLiteral), by_range(\(date.quotedLiteral), interval '\(pick([1, 7, 30])) days'), "
                    + "create_default_indexes => \(chance(60)))", at: 0)
        }
        if layout.isDistributed {
            table.indexes.insert(
                "SELECT create_distributed_table(\(name.quotedLiteral), \(symbol.quotedLiteral), shard_count => 4)",
                at: 0)
        }
        if layout == .compressed {
            let segments = pick([symbol.quotedIdentifier, ""])
            compression = [
                "ALTER TABLE \(name) SET (timescaledb.compress, timescaledb.compress_segmentby = \(segments.quotedLiteral), "
                    + "timescaledb.compress_orderby = \(date.quotedIdentifier.quotedLiteral))",
                "SELECT compress_chunk(c) FROM show_chunks(\(name.quotedLiteral)) c",
            ]
        }
        tables = [table]
    }
}
