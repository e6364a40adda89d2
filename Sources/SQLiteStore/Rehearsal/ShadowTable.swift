import GRDB
import PriceStore

/// A temporary table that replaces a table to which a rehearsal adds rows.
///
/// It has the table's constraints and unique indexes, so SQLite itself finds conflicts of a new row. Stored rows that a new row collides
/// with are copied into it first and hidden in the store. A view shows both.
struct ShadowTable {
    /// The SQL name of the view of all rows.
    let view: String
    /// The SQL name of the temporary table.
    let table: String
    /// The temporary table's name without schema, as in SQLite's messages.
    let name: String
    /// An empty table with the same definition, which shows a new row before it meets any other.
    let probe: String
    /// The SQL name of the temporary table with the keys of hidden rows.
    let hidden: String
    /// The unique keys.
    let uniqueKeys: [UniqueKey]
    /// The columns whose values an insert returns: those of unique and foreign keys.
    let returned: [String]
    /// Whether rowids are never reused.
    let isAutoincrement: Bool
    /// The rowid of the next new row, or nil if it is unknown or the table has no rowid.
    var nextRowID: Int64?

    /// Columns that must be unique together.
    struct UniqueKey: Hashable {
        var columns: [Column]
        /// The condition of a partial index, as the schema writes it.
        var condition: String?

        struct Column: Hashable {
            var name: String
            var collation: String
        }
    }
}

extension SQLiteFileConnection {
    /// The error for what a run can do and a dry run cannot predict.
    func notPredictable(_ table: SQLiteTable, _ reason: String) -> StoreError {
        StoreError(
            .unsupported, store: name,
            message: "a dry run cannot count the pending rows of \(table.name): \(reason) (unsupported_schema)",
            hint: "a run saves the rows as the store allows")
    }

    func makeShadow(_ table: SQLiteTable, _ db: Database) throws -> ShadowTable {
        func unsupported(_ reason: String) -> StoreError { StoreError(.unsupported, store: name, message: reason) }
        guard table.insertTriggers.isEmpty else {
            throw notPredictable(
                table, "it has a trigger on INSERT (\(table.insertTriggers.joined(separator: ", ")))")
        }
        guard table.entity.kind == .table, !table.keySQL.isEmpty else {
            throw unsupported("rows cannot be saved into \(table.name)")
        }
        for key in table.entity.relationships + table.entity.incomingRelationships {
            if let reason = try mismatch(of: key, db) { throw unsupported(reason) }
        }
        let definition = try SchemaEntry.definition(of: table.name, db)
        guard let body = SchemaText.afterName(definition, keyword: "TABLE").map(SchemaText.withoutForeignKeys)
        else { throw unsupported("the definition of \(table.name) cannot be read") }
        let (own, probe) = (temporaryName("shadow"), temporaryName("probe"))
        try db.execute(sql: "CREATE TEMP TABLE \(own) \(body); CREATE TEMP TABLE \(probe) \(body)")
        let uniqueKeys = try makeUniqueIndexes(table, on: own, db)
        let hidden = temporaryName("hidden")
        let keys = table.keySQL.indices.map { "k\($0)" }.joined(separator: ", ")
        try db.execute(sql: "CREATE TEMP TABLE \(hidden) (\(keys), PRIMARY KEY (\(keys))) WITHOUT ROWID")
        let view = temporaryName("rows")
        var columns = table.entity.attributes.map(\.name.quotedIdentifier)
        if let rowID = table.rowID, table.rowIDAlias == nil {
            columns.insert("\(rowID) AS \(rowID.quotedIdentifier)", at: 0)
        }
        let list = columns.joined(separator: ", ")
        try db.execute(
            sql: """
                CREATE TEMP VIEW \(view) AS SELECT \(list) FROM \(table.sql) AS stored
                WHERE \(table.isNotHidden(by: "temp.\(hidden)")) UNION ALL SELECT \(list) FROM temp.\(own)
                """)
        let asked =
            uniqueKeys.flatMap { $0.columns.map(\.name) } + table.entity.relationships.flatMap(\.sourceAttributes)
        let counter = try sequence(table, db)
        if let counter {
            try db.execute(sql: "INSERT INTO temp.sqlite_sequence VALUES (?, ?)", arguments: [own, counter])
        }
        return ShadowTable(
            view: "temp.\(view)", table: "temp.\(own)", name: own, probe: "temp.\(probe)", hidden: "temp.\(hidden)",
            uniqueKeys: uniqueKeys, returned: asked.reduce(into: []) { if !$0.contains($1) { $0.append($1) } },
            isAutoincrement: counter != nil)
    }

    /// Creates the unique indexes of a table on its shadow. Returns all unique keys.
    private func makeUniqueIndexes(
        _ table: SQLiteTable, on shadow: String, _ db: Database
    ) throws -> [ShadowTable.UniqueKey] {
        var keys: [ShadowTable.UniqueKey] = []
        if let alias = table.rowIDAlias { keys.append(.init(columns: [.init(name: alias, collation: "BINARY")])) }
        // The oldest index comes first, because a new row is checked against them in order of creation.
        for (number, index) in table.indexes.reversed().enumerated() where index.isUnique {
            let columns = index.columns.compactMap { column in
                column.name.map { ShadowTable.UniqueKey.Column(name: $0, collation: column.collation) }
            }
            guard columns.count == index.columns.count else {
                throw notPredictable(table, "it has a unique index on an expression (\(index.name))")
            }
            var key = ShadowTable.UniqueKey(columns: columns)
            let text = try String.fetchOne(
                db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?", arguments: [index.name]
            )
            // An index without a text belongs to a constraint of the table, which the shadow has anyway.
            if let text {
                guard let rest = SchemaText.afterTable(text) else {
                    throw StoreError(
                        .unsupported, store: name, message: "the definition of the index \(index.name) cannot be read")
                }
                try db.execute(sql: "CREATE UNIQUE INDEX temp.\(shadow)_\(number) ON \(shadow) \(rest)")
                if index.isPartial {
                    guard let condition = SchemaText.afterColumns(rest) else {
                        throw StoreError(
                            .unsupported, store: name,
                            message: "the condition of the index \(index.name) cannot be read")
                    }
                    key.condition = condition
                }
            }
            keys.append(key)
        }
        return keys
    }

    /// The largest rowid that a table with AUTOINCREMENT has used, or nil without AUTOINCREMENT.
    private func sequence(_ table: SQLiteTable, _ db: Database) throws -> Int64? {
        guard let alias = table.rowIDAlias, table.isAutoincrement,
            try Int.fetchOne(
                db,
                sql: "SELECT (SELECT count(*) FROM main.sqlite_schema WHERE name = 'sqlite_sequence') "
                    + "* (SELECT count(*) FROM temp.sqlite_schema WHERE name = 'sqlite_sequence')") == 1
        else { return nil }
        let used = try Int64.fetchOne(
            db, sql: "SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?", arguments: [table.name])
        let largest = try Int64.fetchOne(db, sql: "SELECT max(\(alias.quotedIdentifier)) FROM \(table.sql)")
        return max(used ?? 0, largest ?? 0)
    }
}

extension SQLiteTable {
    /// The condition that a row of the table, as `stored`, is not hidden. Keys are compared byte by byte, because the collation is that of
    /// the key table, which has none.
    func isNotHidden(by hidden: String) -> String {
        "NOT EXISTS (SELECT 1 FROM \(hidden) AS hidden WHERE \(keySQL.map { "stored." + $0 }.areKey(of: "hidden")))"
    }
}
