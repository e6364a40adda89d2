import GRDB
import PriceStore

/// A temporary stand-in for a table to which a rehearsal adds rows.
///
/// It has the table's own constraints and unique indexes, so that SQLite itself decides what a new row meets. Rows of
/// the store that a new row might collide with are copied in first and hidden in the store; a view shows both.
struct ShadowTable {
    /// The view of all rows, in SQL.
    let view: String
    /// The temporary table, in SQL.
    let table: String
    /// The temporary table of the keys of hidden rows, in SQL.
    let hidden: String
    /// Sets of columns that must be unique, each with the condition of a partial index.
    let uniqueKeys: [[String]]
    /// The rowid that the next new row would get; nil: the table has none, or the row brings its own.
    var nextRowID: Int64?
}

extension SQLiteConnection {
    /// Foretells the insert of one row: it goes into the shadow of its table.
    func rehearseInsert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        try run("rehearsing a row of \(entity)") { db in
            let scope = try scope(entity, db)
            let key = scope.table.name.lowercased()
            var shadow = try temporaries.shadows[key] ?? makeShadow(scope.table, db)
            temporaries.shadows[key] = shadow
            var values = values
            try hideCollisions(scope, shadow, values, db)
            // SQLite gives a new row the largest rowid plus one; the shadow must not begin at 1 again.
            let rowID = scope.table.rowID ?? ""
            let bringsRowID =
                scope.table.rowIDAlias.map { alias in
                    values.contains { $0.key.lowercased() == alias.lowercased() && !$0.value.isNull }
                } ?? false
            if let next = shadow.nextRowID, !bringsRowID, scope.table.rowIDAlias != nil {
                values = values.filter { $0.key.lowercased() != rowID.lowercased() }
                values[rowID] = .integer(next)
            }
            try db.execute(sql: "SAVEPOINT retention_rehearsal")
            var outcome = try insert(scope, values, onConflict, into: shadow.table, db)
            if outcome == .saved, let broken = try brokenReference(scope, values, db) {
                outcome = .rejected(broken)
                try db.execute(sql: "ROLLBACK TO retention_rehearsal")
            }
            try db.execute(sql: "RELEASE retention_rehearsal")
            if outcome == .saved, let next = shadow.nextRowID {
                var given = next
                if bringsRowID, let alias = scope.table.rowIDAlias,
                    case .integer(let value)? = values.first(where: { $0.key.lowercased() == alias.lowercased() })?
                        .value
                {
                    given = value
                }
                shadow.nextRowID = max(next, given &+ 1)
                temporaries.shadows[key] = shadow
            }
            return outcome
        }
    }

    private func makeShadow(_ table: SQLiteTable, _ db: Database) throws -> ShadowTable {
        guard table.insertTriggers.isEmpty else {
            throw StoreError(
                .unsupported, store: name,
                message: "refusing to foretell the pending rows of \(table.name): it has a trigger on INSERT "
                    + "(\(table.insertTriggers.joined(separator: ", "))) (unsupported_schema)",
                hint: "a run saves the rows and the trigger fires; only a dry run cannot tell its effect")
        }
        guard table.entity.kind == .table, !table.keySQL.isEmpty else {
            throw StoreError(.unsupported, store: name, message: "rows cannot be saved into \(table.name)")
        }
        let own = temporaryName("shadow")
        let definitions = try Row.fetchAll(
            db,
            sql: "SELECT type, name, sql FROM main.sqlite_schema WHERE lower(tbl_name) = lower(?) AND sql IS NOT NULL "
                + "AND type IN ('table', 'index') ORDER BY type DESC", arguments: [table.name])
        for (index, definition) in definitions.enumerated() {
            let text: String = definition["sql"]
            if definition["type"] == "table" {
                guard let renamed = SchemaText.afterName(text, keyword: "TABLE") else {
                    throw StoreError(
                        .unsupported, store: name, message: "the definition of \(table.name) cannot be read")
                }
                try db.execute(sql: "CREATE TEMP TABLE \(own) \(SchemaText.withoutForeignKeys(renamed))")
            } else if text.uppercased().hasPrefix("CREATE UNIQUE"), let rest = SchemaText.afterTable(text) {
                try db.execute(sql: "CREATE UNIQUE INDEX temp.\(own)_\(index) ON \(own) \(rest)")
            }
        }
        let hidden = temporaryName("hidden")
        let keys = table.keySQL.indices.map { "k\($0)" }.joined(separator: ", ")
        try db.execute(sql: "CREATE TEMP TABLE \(hidden) (\(keys), PRIMARY KEY (\(keys))) WITHOUT ROWID")
        let view = temporaryName("rows")
        var columns = table.entity.attributes.map(\.name.quotedIdentifier)
        if let rowID = table.rowID, table.rowIDAlias == nil {
            columns.insert("\(rowID) AS \(rowID.quotedIdentifier)", at: 0)
        }
        let list = columns.joined(separator: ", ")
        let isHidden = zip(table.keySQL.indices, table.keySQL).map { "hidden.k\($0) = stored.\($1)" }
        try db.execute(
            sql: """
                CREATE TEMP VIEW \(view) AS SELECT \(list) FROM \(table.sql) AS stored
                WHERE NOT EXISTS (SELECT 1 FROM temp.\(hidden) AS hidden WHERE \(isHidden.joined(separator: " AND ")))
                UNION ALL SELECT \(list) FROM temp.\(own)
                """)
        return ShadowTable(
            view: "temp.\(view)", table: "temp.\(own)", hidden: "temp.\(hidden)",
            uniqueKeys: try uniqueKeys(table, db), nextRowID: try nextRowID(table, db))
    }

    private func uniqueKeys(_ table: SQLiteTable, _ db: Database) throws -> [[String]] {
        var keys: [[String]] = []
        if !table.entity.primaryKey.isEmpty { keys.append(table.entity.primaryKey) }
        for index in table.indexes where index.isUnique {
            let columns = index.columns.compactMap(\.name)
            guard columns.count == index.columns.count else {
                throw StoreError(
                    .unsupported, store: name,
                    message: "refusing to foretell the pending rows of \(table.name): it has a unique index on an "
                        + "expression (\(index.name)) (unsupported_schema)",
                    hint: "a run saves the rows as the index allows; only a dry run cannot tell which")
            }
            if !keys.contains(columns) { keys.append(columns) }
        }
        return keys
    }

    private func nextRowID(_ table: SQLiteTable, _ db: Database) throws -> Int64? {
        guard let rowID = table.rowID else { return nil }
        var largest = try Int64.fetchOne(db, sql: "SELECT max(\(rowID.quotedIdentifier)) FROM \(table.sql)") ?? 0
        if try catalog.table("sqlite_sequence", db) != nil {
            let used = try Int64.fetchOne(
                db, sql: "SELECT seq FROM main.sqlite_sequence WHERE lower(name) = lower(?)", arguments: [table.name])
            largest = max(largest, used ?? 0)
        }
        return largest == .max ? nil : largest + 1
    }

    /// Moves the store's rows that share a unique key with a new row into the shadow.
    private func hideCollisions(
        _ scope: RowScope, _ shadow: ShadowTable, _ values: [String: StoreValue], _ db: Database
    ) throws {
        let table = scope.table
        let columns = table.entity.attributes.filter { !$0.isGenerated }.map(\.name.quotedIdentifier)
        for key in shadow.uniqueKeys {
            let given = key.compactMap { column in
                values.first { $0.key.lowercased() == column.lowercased() }.map { (column, $0.value) }
            }
            // A key column that the row does not bring takes its default, or NULL, which collides with nothing.
            guard given.count == key.count, !given.contains(where: { $0.1.isNull }) else { continue }
            let matches = given.map { "stored.\($0.0.quotedIdentifier) = ?" }.joined(separator: " AND ")
            let arguments = given.map(\.1.databaseValue)
            let keys = table.keySQL.map { "stored.\($0)" }.joined(separator: ", ")
            try execute(
                SQLFragment(
                    "INSERT OR IGNORE INTO \(shadow.hidden) SELECT \(keys) FROM \(table.sql) AS stored WHERE \(matches)",
                    arguments), db)
            guard db.changesCount > 0 else { continue }
            var list = columns
            if let rowID = table.rowID, table.rowIDAlias == nil { list.insert(rowID, at: 0) }
            let names = list.joined(separator: ", ")
            try execute(
                SQLFragment(
                    "INSERT OR IGNORE INTO \(shadow.table) (\(names)) SELECT \(names) FROM \(table.sql) AS stored WHERE \(matches)",
                    arguments), db)
        }
    }

    /// Which foreign key of a new row points at nothing, or nil. The shadow itself has no foreign keys.
    private func brokenReference(_ scope: RowScope, _ values: [String: StoreValue], _ db: Database) throws -> String? {
        for key in scope.table.entity.relationships {
            let given = key.sourceAttributes.map { column in
                values.first { $0.key.lowercased() == column.lowercased() }?.value ?? .null
            }
            guard !given.contains(.null) else { continue }
            let parent = try self.scope(key.destination, db)
            let matches = key.destinationAttributes.map { "\(RowScope.alias).\($0.quotedIdentifier) = ?" }
            let found = try row(
                SQLFragment(
                    "SELECT 1 FROM \(parent.from()) WHERE \(matches.joined(separator: " AND ")) LIMIT 1",
                    given.map(\.databaseValue)), db)
            if found == nil { return "FOREIGN KEY constraint failed" }
        }
        return nil
    }
}
