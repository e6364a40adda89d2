import GRDB
import GRDBSQLite
public import PriceStore

/// A row to insert: its values by column name, and what to do if its key already exists.
struct NewRow {
    /// The values in the order of the columns, so that rows with the same columns share a statement.
    var values: [(column: String, value: StoreValue)]
    var onConflict: ConflictPolicy
    /// The SQL name and value of a rowid to insert, or nil if SQLite chooses it.
    var rowID: (name: String, value: Int64)?
    /// The entity number and lock counter of a Core Data row. A row that replaces another keeps the old row's values and increments the
    /// counter.
    var identity: [(column: String, value: StoreValue)] = []
    /// The condition of the rows that it may replace, and the reason given for others, or nil if it may replace all.
    var replaceable: (condition: SQLFragment, otherwise: String)?
}

extension SQLiteFile {
    /// The row to insert, with its values by column name.
    ///
    /// NULL for a rowid means that SQLite chooses one, so it is left out. Otherwise a row that replaces another would get a new rowid.
    func newRow(
        _ values: [String: StoreValue], _ onConflict: ConflictPolicy, _ scope: RowScope, _ db: Database
    ) throws -> NewRow {
        // Names as in the schema are the rule; others are found by comparing all.
        var named = scope.table.entity.attributes.compactMap { attribute in
            values[attribute.name].map { (column: attribute.name, value: $0) }
        }
        if named.count < values.count {
            named = zip(try scope.attributes(values.keys, store: name).map(\.name), values.values)
                .map { (column: $0, value: $1) }.sorted { $0.column < $1.column }
        }
        if let alias = scope.table.rowIDAlias { named.removeAll { $0.0 == alias && $0.1.isNull } }
        var row = NewRow(values: named, onConflict: onConflict)
        row.replaceable = try replaceable(onConflict, scope, db)
        return row
    }

    /// The condition of the rows of a scope that a new row may replace, and the reason given for others, or nil if it may replace all.
    func replaceable(
        _ onConflict: ConflictPolicy, _ scope: RowScope, _ db: Database
    ) throws -> (condition: SQLFragment, otherwise: String)? {
        guard onConflict == .replace, !heldFromReplacing.isEmpty else { return nil }
        let holds = try heldFromReplacing.filter { try held($0, scope, db) != nil }
        guard !holds.isEmpty else { return nil }
        return (try notHeld(holds, by: nil, scope, db), holds.refusalToReplace)
    }

    /// Inserts one row into a table, and returns the stored one in the columns requested. A broken constraint is returned; other errors are
    /// thrown.
    func insert(
        _ row: NewRow, into target: String, returning names: [String], _ db: Database
    ) throws -> (outcome: InsertOutcome, row: [StoreValue]) {
        let wasInTransaction = db.isInsideTransaction
        do {
            let found = try rows(insertStatement(row, into: target, returning: names), db)
            if names.isEmpty ? db.changesCount > 0 : !found.isEmpty { return (.saved, found.first ?? []) }
            guard row.onConflict == .replace, let replaceable = row.replaceable, try !isStored(row, in: target, db)
            else { return (.ignored, []) }
            return (.rejected(replaceable.otherwise), [])
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_CONSTRAINT || error.resultCode == .SQLITE_MISMATCH
        {
            // If a trigger has raised ROLLBACK, all rows of the transaction are gone, not only this one.
            guard db.isInsideTransaction == wasInTransaction else { throw error }
            let reason = outOfStepIndex(error, db).map { "\($0.fact); \($0.remedy)" } ?? error.message
            return (.rejected(reason ?? "a constraint of the store"), [])
        }
    }

    /// Whether a stored row has all values of a new one, so that replacing it changes nothing.
    private func isStored(_ row: NewRow, in target: String, _ db: Database) throws -> Bool {
        guard !row.values.isEmpty else { return false }
        // Texts that are equal in a collation may differ.
        let same = row.values.map { "\($0.column.quotedIdentifier) IS ? COLLATE BINARY" }.joined(separator: " AND ")
        return try exists(SQLFragment("SELECT 1 FROM \(target) WHERE " + same, row.values.map(\.value)), db)
    }

    private func insertStatement(_ row: NewRow, into target: String, returning names: [String]) -> SQLFragment {
        let onConflict = row.onConflict
        // Most rows have the columns of the row before.
        let isPlain = row.identity.isEmpty && row.rowID == nil && row.replaceable == nil && names.isEmpty
        if isPlain, let last = lastInsert, last.target == target, last.onConflict == onConflict,
            last.columns.elementsEqual(row.values.lazy.map(\.column))
        {
            return SQLFragment(last.text, row.values.map(\.value))
        }
        var brought = row.values + row.identity
        if let rowID = row.rowID { brought.append((rowID.name, .integer(rowID.value))) }
        let columns = brought.map(\.column.quotedIdentifier)
        // A row that replaces another keeps the old identity and increments the lock counter.
        var sets = onConflict == .fail ? [] : zip(row.values, columns).map { "\($1) = excluded.\($1)" }
        if !sets.isEmpty, !row.identity.isEmpty { sets.append("Z_OPT = ifnull(Z_OPT, 0) + 1") }
        let text = insertText(
            into: target, columns, onConflict, sets: sets,
            where: onConflict == .replace ? row.replaceable?.condition.text : nil,
            returning: names.map(\.quotedIdentifier))
        if isPlain {
            lastInsert = (target, row.values.map(\.column), onConflict, text)
        }
        let arguments = onConflict == .replace && !sets.isEmpty ? row.replaceable?.condition.arguments ?? [] : []
        return SQLFragment(text, brought.map(\.value) + arguments)
    }
}

extension SQLiteFile {
    /// The text of an INSERT of one row.
    func insertText(
        into target: String, _ columns: [String], _ onConflict: ConflictPolicy, sets: [String],
        where condition: String? = nil, returning names: [String]
    ) -> String {
        let marks = columns.map { _ in "?" }.list
        var text = "INSERT OR ABORT INTO \(target) " + (condition == nil ? "" : "AS \(RowScope.alias) ")
        text += columns.isEmpty ? "DEFAULT VALUES" : "(\(columns.list)) VALUES (\(marks))"
        switch onConflict {
        case .ignore where !sets.isEmpty: text += " ON CONFLICT DO NOTHING"
        // REPLACE would delete the old row and whatever cascades from it.
        case .replace where !sets.isEmpty:
            text += " ON CONFLICT DO UPDATE SET " + sets.list
            if let condition { text += " WHERE " + condition }
        default: break
        }
        return names.isEmpty ? text : text + " RETURNING " + names.list
    }
}

extension SQLiteWriter {
    /// Inserts one row.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        try change("saving a row of \(entity)") { try save(values, onConflict, into: entity, $0) }
    }
}

extension SQLiteFile {
    func save(
        _ values: [String: StoreValue], _ onConflict: ConflictPolicy, into entity: String, _ db: Database
    ) throws -> InsertOutcome {
        let scope = try scope(entity, db)
        if scope.table.managed != nil { return try insertManaged(values, onConflict, scope, db).outcome }
        let row = try newRow(values, onConflict, scope, db)
        do {
            let outcome = try checkingReferences(of: scope.table, db) {
                try insert(row, into: scope.table.sql, returning: [], db).outcome
            }
            guard outcome == .rejected(Self.refusedReference) else { return outcome }
            return .rejected(try missingReference(values, of: scope.table, db) ?? Self.refusedReference)
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_FULL && scope.table.definition.mentions("AUTOINCREMENT")
        {
            try checkRowIDs(scope.table, db)
            throw error
        }
    }

    /// Throws if a table with AUTOINCREMENT has no rowid left, which SQLite also reports as a full disk.
    private func checkRowIDs(_ table: SQLiteTable, _ db: Database) throws {
        let last = try row("SELECT max(seq) FROM main.sqlite_sequence WHERE name = \(bound: table.tableName)", db)
        guard last?.first == .integer(.max) else { return }
        throw failure(.unsupported, "\(table.name) has used the largest possible rowid, so a new row cannot get one")
    }

    /// Checks deferred foreign keys of a new row at once. At the end of the transaction one bad row would undo all others, and nobody could
    /// say which it was. A row must come after the one that it refers to.
    private func checkingReferences(
        of table: SQLiteTable, _ db: Database, _ insert: () throws -> InsertOutcome
    ) throws -> InsertOutcome {
        guard table.defersKeys else { return try insert() }
        try execute("SAVEPOINT retention_row", db)
        do {
            let hadOpen = db.hasOpenReferences
            var outcome = try insert()
            if !hadOpen, db.hasOpenReferences { outcome = .rejected(Self.refusedReference) }
            if case .rejected = outcome { try execute("ROLLBACK TO retention_row", db) }
            try execute("RELEASE retention_row", db)
            return outcome
        } catch {
            if db.isInsideTransaction { try? db.execute(sql: "ROLLBACK TO retention_row; RELEASE retention_row") }
            throw error
        }
    }
}

extension Database {
    /// Whether the transaction contains references to missing rows.
    var hasOpenReferences: Bool {
        var (open, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &highest, 0)
        return open != 0
    }
}
