import GRDB
import GRDBSQLite
import PriceStore

/// A table of an archive, and the table of the store whose rows, references or candles it holds.
struct ArchiveTable: Hashable {
    let kind: ArchivedKind
    /// The table's name in the store.
    let storeTable: String
    /// The table's name in the archive.
    let name: String
    /// The columns that identify a row of the store: the rowid, or the primary key of a table without one; of a candle its group
    /// and its time.
    let key: [String]
    /// The place of the rowid among the columns; nil: the table has none.
    let rowIDColumn: Int?
    /// The columns of the store's table that are kept: all that can be written, for references those that a delete can clear, for
    /// candles those that a run writes besides the key. The rowid is the first of them where it is not a column of its own.
    let columns: [String]
    /// The table's definition in the store.
    let definition: String
    /// The columns in the archive with their types and collations, in SQL.
    private let declarations: [String]

    /// The columns in the archive.
    var archiveColumns: [String] {
        switch kind {
        case .rows: columns
        case .references, .candles: key + columns.map { "old_" + $0 } + columns.map { "new_" + $0 }
        }
    }

    /// The name of the rowid of a table of an archive, by which ``RowArchiver`` counts its rows: one that is not a column, or
    /// ``rowColumn`` where all are.
    static func rowNumber(besides columns: [String]) -> String {
        let taken = Set(columns.map { $0.folded })
        return ["_rowid_", "rowid", "oid"].first { !taken.contains($0) } ?? rowColumn
    }

    /// The column that is the rowid of a table of an archive whose other columns have all of its names.
    static let rowColumn = "retention_row"

    /// The name of the rowid in the archive.
    var rowNumber: String { Self.rowNumber(besides: archiveColumns) }

    /// Whether the archive's own tables have such names.
    static func isReserved(_ name: String) -> Bool {
        ["retention_", "sqlite_", "rows_"].contains { name.folded.hasPrefix($0) }
    }

    /// The table that keeps the deleted rows of a table of the store.
    ///
    /// - Parameter number: makes a reserved name another one.
    static func rows(of table: String, number: Int, _ db: Database) throws -> ArchiveTable? {
        guard let shape = try StoredShape(of: table, db) else { return nil }
        return ArchiveTable(
            kind: .rows, storeTable: table, name: isReserved(table) ? "rows_\(number)" : table, key: shape.key,
            rowIDColumn: shape.isWithoutRowID ? nil : shape.columns.firstIndex { shape.key == [$0.name] },
            columns: shape.columns.map(\.name), definition: shape.definition,
            declarations: shape.columns.map(\.declaration))
    }

    /// The table that keeps the references of a table of the store that were cleared.
    static func references(
        of table: String, columns: [String], number: Int, _ db: Database
    ) throws -> ArchiveTable? {
        guard let shape = try StoredShape(of: table, db) else { return nil }
        let kept = shape.columns(named: columns)
        return ArchiveTable(.references, shape, key: shape.keyColumns(besides: kept.map(\.name)), kept, number: number)
    }

    /// The table that keeps candles as they were and as they are then.
    static func candles(of rollup: Rollup, number: Int, _ db: Database) throws -> ArchiveTable? {
        guard let shape = try StoredShape(of: rollup.target, db) else { return nil }
        let key = rollup.groupedBy.map { rollup.names[group: $0] } + [rollup.names[.time]]
        let fields = CandleField.allCases.filter { $0 != .time }.map { rollup.names[$0] }
        return ArchiveTable(
            .candles, shape, key: shape.columns(named: key), shape.columns(named: fields), number: number)
    }

    /// Why the table cannot be made in an archive, as a clause; nil: it can.
    ///
    /// - Parameter values: what its old and new values are of.
    func obstacle(_ values: String, _ db: Database) -> String? {
        let columns = (rowNumber == Self.rowColumn ? [rowNumber] : []) + archiveColumns
        if columns.count > Int(sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_COLUMN, -1)) {
            return
                "a table of \(columns.count) columns would be needed for \(values) of \(storeTable), more than SQLite allows"
        }
        // Looking for each of thousands of names among all of them would take a second.
        let counts = Dictionary(columns.map { ($0.folded, 1) }, uniquingKeysWith: +)
        return columns.first { counts[$0.folded] != 1 }.map {
            "the column \($0) of \(storeTable) has a name that an archive uses for \(values)"
        }
    }

    /// Makes the table in the archive.
    var creation: String {
        let number = rowNumber == Self.rowColumn ? ["\(rowNumber) INTEGER PRIMARY KEY"] : []
        return "CREATE TABLE \(name.standardIdentifier) (\((number + declarations).joined(separator: ", ")))"
    }

    /// Adds rows to the table in the archive, so many of them as its last argument says.
    func insertion(ofAtMost rows: Int) -> String {
        let marks = "(" + Array(repeating: "?", count: archiveColumns.count).joined(separator: ", ") + ")"
        let values = Array(repeating: marks, count: rows).joined(separator: ", ")
        let columns = archiveColumns.map(\.quotedIdentifier).joined(separator: ", ")
        return "INSERT INTO \(name.quotedIdentifier) (\(columns)) SELECT * FROM (VALUES \(values)) LIMIT ?"
    }

    /// The values of a row of the store for ``insertion(ofAtMost:)``, in a trigger.
    ///
    /// - Parameter isInserted: whether there was no such row before.
    func triggerValues(isInserted: Bool) -> [String] {
        let old = columns.map { isInserted ? "NULL" : "OLD." + $0.quotedIdentifier }
        return kind == .rows
            ? old : (key.map { "NEW." + $0.quotedIdentifier }) + old + columns.map { "NEW." + $0.quotedIdentifier }
    }
}

extension ArchiveTable {
    /// A table of old and new values.
    private init(
        _ kind: ArchivedKind, _ shape: StoredShape, key: [StoredShape.Column], _ kept: [StoredShape.Column], number: Int
    ) {
        self.init(
            kind: kind, storeTable: shape.name, name: "retention_\(kind.rawValue)_\(number)", key: key.map(\.name),
            rowIDColumn: nil, columns: kept.map(\.name), definition: shape.definition,
            declarations: key.map(\.declaration)
                + kept.map { $0.declaration(named: "old_" + $0.name) }
                + kept.map { $0.declaration(named: "new_" + $0.name) })
    }
}

/// The columns of a table of a store as they are written and read by name.
struct StoredShape {
    struct Column {
        let name: String
        /// The declared type; empty where a type would change values.
        let type: String
        let collation: String

        var declaration: String { declaration(named: name) }

        func declaration(named name: String) -> String {
            // A declared type is any text. In quotes it is not part of the statement, and stays what it is.
            // Other collations are defined by the programs that use the store.
            let collation = ["NOCASE", "RTRIM"].contains(collation.uppercased()) ? " COLLATE " + collation : ""
            return name.standardIdentifier + (type.isEmpty ? "" : " " + type.standardIdentifier) + collation
        }
    }

    /// The table's name as the store spells it.
    let name: String
    /// The rowid where it is not a column, then the columns that can be written.
    let columns: [Column]
    /// The rowid, or the primary key of a table without one.
    let key: [String]
    /// The rowid where it is not a column: no key that lasts, because VACUUM changes it, and others can get it.
    let hiddenRowID: String?
    /// The columns of the declared primary key, in its order.
    let primaryKey: [String]
    let isWithoutRowID: Bool
    /// Whether columns accept values of their type only.
    let isStrict: Bool
    let definition: String

    /// Reads a table; nil: there is no such ordinary table, or its rows cannot be identified.
    init?(of table: String, _ db: Database) throws {
        guard
            let entry = try Row.fetchOne(
                db,
                sql:
                    "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?) AND rootpage > 0",
                arguments: [table])
        else { return nil }
        name = entry[0]
        definition = entry[1]
        // schema, name, type, ncol, wr, strict
        let list = try Row.fetchAll(db, sql: "PRAGMA main.table_list(\(name.quotedIdentifier))")
        guard let facts = list.first(where: { $0[0] == "main" }) else { return nil }
        isWithoutRowID = facts[4]
        let isStrict: Bool = facts[5]
        self.isStrict = isStrict
        // cid, name, type, notnull, dflt_value, pk, hidden
        let rows = try Row.fetchAll(db, sql: "PRAGMA main.table_xinfo(\(name.quotedIdentifier))")
        var columns: [Column] = []
        for row in rows where row[6] == 0 {
            let (column, type): (String, String) = (row[1], row[2])
            var collation: UnsafePointer<CChar>?
            sqlite3_table_column_metadata(db.sqliteConnection, "main", name, column, nil, &collation, nil, nil, nil)
            // ANY keeps every value in a STRICT table; elsewhere the word would turn texts into numbers.
            let isAny = isStrict && type.uppercased() == "ANY"
            columns.append(
                Column(name: column, type: isAny ? "" : type, collation: collation.map { String(cString: $0) } ?? ""))
        }
        primaryKey = rows.filter { $0[5] > 0 }.sorted { ($0[5] as Int) < $1[5] }.map { $0[1] }
        if isWithoutRowID {
            (key, hiddenRowID) = (primaryKey, nil)
        } else if let alias = try Self.rowIDAlias(name, rows, db) {
            (key, hiddenRowID) = ([alias], nil)
        } else {
            let names = Set(rows.map { ($0[1] as String).folded })
            guard let rowID = ["rowid", "_rowid_", "oid"].first(where: { !names.contains($0) }) else { return nil }
            (key, hiddenRowID) = ([rowID], rowID)
            columns.insert(Column(name: rowID, type: "INTEGER", collation: ""), at: 0)
        }
        self.columns = columns
    }

    /// The columns of these names, in the order of the table.
    func columns(named names: [String]) -> [Column] {
        columns.filter { column in names.contains { $0.folded == column.name.folded } }
    }

    /// The columns by which a row is found whose references have changed. Where the rowid is not a column it is the declared key,
    /// or the rowid with all other columns.
    func keyColumns(besides changed: [String]) -> [Column] {
        guard hiddenRowID != nil else { return columns.filter { key.contains($0.name) } }
        if !primaryKey.isEmpty, Set(primaryKey).isDisjoint(with: changed) {
            return columns.filter { primaryKey.contains($0.name) }
        }
        return columns.filter { !changed.contains($0.name) }
    }

    /// The column that is the rowid: an INTEGER PRIMARY KEY without an index of its own; nil: there is none.
    private static func rowIDAlias(_ table: String, _ rows: [Row], _ db: Database) throws -> String? {
        let keys = rows.filter { $0[5] > 0 }
        guard keys.count == 1, (keys[0][2] as String).uppercased() == "INTEGER" else { return nil }
        let hasIndex =
            try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM pragma_index_list(?, 'main') WHERE origin = 'pk'", arguments: [table]) ?? 0
        return hasIndex == 0 ? keys[0][1] : nil
    }
}
