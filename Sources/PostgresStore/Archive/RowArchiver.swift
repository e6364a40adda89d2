import PriceStore

/// A table of an archive. It holds rows, references or candles of one table of the store.
struct ArchiveTable {
    let kind: ArchivedKind
    let number: Int
    let table: PostgresTable
    /// The columns that identify a row of the store, or a candle by its group and time; empty if none do.
    let key: [String]
    /// The columns of the store's table that are kept: all columns, those that a delete can clear, or those of a candle besides its key.
    let columns: [String]
    /// The archive's table in SQL.
    let sql: String

    /// The columns whose values are restored: those that are not generated.
    var restored: [String] { columns.filter { table.entity.attribute(named: $0)?.isGenerated != true } }

    /// The column with the numbers of the archive's rows, in SQL.
    var rowNumber: String { Self.rowNumber(besides: columns).quotedIdentifier }

    static func rowNumber(besides columns: [String]) -> String {
        var name = "retention_row"
        while columns.contains(name) { name += "_" }
        return name
    }

    /// The names of the columns in the archive: those of the store, or the key with the old and the new values.
    static func names(_ kind: ArchivedKind, key: [String], columns: [String]) -> [String] {
        guard kind != .rows else { return columns }
        return key.indices.map { "key_\($0 + 1)" } + columns.indices.map { "old_\($0 + 1)" }
            + columns.indices.map { "new_\($0 + 1)" }
    }

    /// The definition of the archive's table: columns with types and collations, without constraints.
    var definition: String {
        let sources = kind == .rows ? columns : key + columns + columns
        let selected = zip(sources, Self.names(kind, key: key, columns: columns)).map {
            "\($0.quotedIdentifier) AS \($1.quotedIdentifier)"
        }
        return "AS SELECT \(selected.joined(separator: ", ")) FROM \(table.sql) WITH NO DATA"
    }
}

/// Copies the rows that a run deletes to its archive, in the transactions that delete them.
final class RowArchiver {
    let place: ArchivePlace
    let run: String
    /// The names of the rules. A part refers to a rule by its index.
    let rules: [String]
    private(set) var tables: [ArchiveTable] = []
    private(set) var partCount = 0

    init(_ place: ArchivePlace, run: String, rules: [String]) {
        self.place = place
        self.run = run
        self.rules = rules
    }

    /// The archive's table for the rows of a table of the store, or for references or candles with some columns.
    func table(
        _ kind: ArchivedKind, of table: PostgresTable, key: [String]? = nil, _ columns: [String]? = nil
    ) throws -> ArchiveTable {
        let found = tables.first {
            $0.kind == kind && $0.table.oid == table.oid && $0.key == key ?? $0.key
                && $0.columns == columns ?? $0.columns
        }
        guard let found else { throw StoreError(.defect, store: place.schema, message: "the archive lacks a table") }
        return found
    }

    /// Starts the part of the next transaction, or of a repeated one.
    func part(of rule: String, _ reach: ReachOfDelete, _ connection: PostgresDatabase) throws -> ArchivePart {
        guard let number = rules.firstIndex(of: rule) else {
            throw StoreError(.defect, store: place.schema, message: "the archive was begun without the rule \(rule)")
        }
        return ArchivePart(archiver: self, rule: number, number: partCount, reach: reach, connection: connection)
    }

    func didCommit(_ part: ArchivePart) { if !part.portions.isEmpty { partCount = part.number + 1 } }

    /// Creates the tables that deletes can need, in a transaction of its own.
    func prepare(_ reach: ReachOfDelete, _ rollup: Rollup?, _ connection: PostgresDatabase) throws(StoreError) {
        var added: [ArchiveTable] = []
        func add(_ kind: ArchivedKind, _ table: PostgresTable, key: [String]? = nil, _ columns: [String]) {
            let key = key ?? table.rowKey
            let isKnown = (tables + added).contains {
                $0.kind == kind && $0.table.oid == table.oid && $0.key == key && $0.columns == columns
            }
            guard !isKnown else { return }
            let number = tables.count + added.count
            added.append(
                ArchiveTable(
                    kind: kind, number: number, table: table, key: key, columns: columns,
                    sql: place.table(ArchivePlace.tableName(run, number))))
        }
        for table in reach.losing { add(.rows, table, table.entity.attributes.map(\.name)) }
        try connection.run("preparing the archive") {
            for cleared in try reach.cleared() { add(.references, cleared.table, cleared.columns) }
            guard let rollup else { return }
            let candles = try CandleTable(rollup, connection)
            add(.candles, candles.table, key: candles.key, candles.fields)
        }
        guard !added.isEmpty else { return }
        try connection.batch("preparing the archive") {
            for table in added {
                try place.makeTable(table.sql, table.definition, mark: ArchivePlace.mark(of: run))
                try connection.execute(
                    "ALTER TABLE \(table.sql) ADD COLUMN \(table.rowNumber) int8 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
                )
                let values: [SQLFragment] = [
                    .bound(run, "text"), "\(table.number), '\(table.kind.rawValue)'",
                    .bound(table.table.schema, "text"), .bound(table.table.relation, "text"),
                    .bound(ArchivePlace.tableName(run, table.number), "text"),
                    .list(table.key, "text"), .list(table.restored, "text"),
                ]
                try connection.execute(
                    "INSERT INTO \(place.table("retention_tables")) VALUES ("
                        + .joined(values, by: ", ") + ")")
            }
        }
        tables += added
    }
}
