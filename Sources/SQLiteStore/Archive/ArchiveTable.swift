import GRDB
import GRDBSQLite
import PriceStore

/// A table of an archive. It holds rows, references or candles of one table of the store.
struct ArchiveTable: Hashable {
    let kind: ArchivedKind
    let storeTable: String
    /// The table's name in the archive.
    let name: String
    /// The columns that identify a row of the store: the rowid, or the primary key of a table without one. For a candle they are its group
    /// and its time.
    let key: [String]
    /// The index of the rowid among the columns; nil if the table has none.
    let rowIDColumn: Int?
    /// The columns of the store's table that are kept. For rows: all that can be written, led by the rowid if that is not a column of its
    /// own. For references: those that a delete can clear. For candles: those that a run writes besides the key.
    let columns: [String]
    /// The table's definition in the store.
    let definition: String
    /// The columns in the archive with their types and collations, in SQL.
    private let declarations: [String]

    var archiveColumns: [String] {
        switch kind {
        case .rows: columns
        case .references, .candles: key + columns.map { "old_" + $0 } + columns.map { "new_" + $0 }
        }
    }

    /// The name by which SQL reaches the rowid of a table of an archive; ``RowArchiver`` numbers its rows with it. It is a built-in name
    /// that is not a column, or ``rowColumn`` if all of these are columns.
    static func rowNumber(besides columns: [String]) -> String {
        let taken = Set(columns.map { $0.folded })
        return ["_rowid_", "rowid", "oid"].first { !taken.contains($0) } ?? rowColumn
    }

    /// The rowid column of an archive's table whose other columns use all built-in names of the rowid.
    static let rowColumn = "retention_row"

    /// The name of the rowid in the archive.
    var rowNumber: String { Self.rowNumber(besides: archiveColumns) }

    /// Whether a name is reserved for the archive's own tables.
    static func isReserved(_ name: String) -> Bool {
        ["retention_", "sqlite_", "rows_"].contains { name.folded.hasPrefix($0) }
    }

    /// The table for the deleted rows of a table of the store.
    ///
    /// - Parameter number: replaces a reserved name.
    static func rows(
        of table: String, number: Int, _ connection: SQLiteFile, _ db: Database
    ) throws -> ArchiveTable? {
        guard let shape = try StoredShape(of: table, connection, db) else { return nil }
        return ArchiveTable(
            kind: .rows, storeTable: table, name: isReserved(table) ? "rows_\(number)" : table, key: shape.key,
            rowIDColumn: shape.table.isWithoutRowID ? nil : shape.columns.firstIndex { shape.key == [$0.name] },
            columns: shape.columns.map(\.name), definition: shape.table.definition,
            declarations: shape.columns.map(\.declaration))
    }

    static func references(
        of table: String, columns: [String], number: Int, _ connection: SQLiteFile, _ db: Database
    ) throws -> ArchiveTable? {
        guard let shape = try StoredShape(of: table, connection, db) else { return nil }
        let kept = shape.columns(named: columns)
        return ArchiveTable(.references, shape, key: shape.keyColumns(besides: kept.map(\.name)), kept, number: number)
    }

    static func candles(
        of rollup: Rollup, number: Int, _ connection: SQLiteFile, _ db: Database
    ) throws -> ArchiveTable? {
        guard let shape = try StoredShape(of: rollup.target, connection, db) else { return nil }
        let key = rollup.key
        let fields = CandleField.allCases.filter { $0 != .time }.map { rollup.names[$0] }
        return ArchiveTable(
            .candles, shape, key: shape.columns(named: key), shape.columns(named: fields), number: number)
    }

    /// Why the table cannot be made in an archive, as a clause; nil if it can.
    ///
    /// - Parameter values: what the table holds, for the message.
    func obstacle(_ values: String, _ db: Database) -> String? {
        let columns = (rowNumber == Self.rowColumn ? [rowNumber] : []) + archiveColumns
        if columns.count > Int(sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_COLUMN, -1)) {
            return
                "a table of \(columns.count) columns would be needed for \(values) of \(storeTable), more than SQLite allows"
        }
        // A linear search for each of thousands of names would take a second.
        let counts = Dictionary(columns.map { ($0.folded, 1) }, uniquingKeysWith: +)
        return columns.first { counts[$0.folded] != 1 }.map {
            "the column \($0) of \(storeTable) has a name that an archive uses for \(values)"
        }
    }

    var creation: String {
        let number = rowNumber == Self.rowColumn ? ["\(rowNumber) INTEGER PRIMARY KEY"] : []
        return "CREATE TABLE \(name.standardIdentifier) (\((number + declarations).list))"
    }

    /// The statement that adds rows to the archive's table. Its last argument is their number.
    func insertion(ofAtMost rows: Int) -> String {
        let marks = "(" + Array(repeating: "?", count: archiveColumns.count).list + ")"
        let values = Array(repeating: marks, count: rows).list
        let columns = archiveColumns.map(\.quotedIdentifier).list
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
    /// Makes a table of old and new values.
    private init(
        _ kind: ArchivedKind, _ shape: StoredShape, key: [StoredShape.Column], _ kept: [StoredShape.Column], number: Int
    ) {
        self.init(
            kind: kind, storeTable: shape.table.name, name: "retention_\(kind.rawValue)_\(number)",
            key: key.map(\.name),
            rowIDColumn: nil, columns: kept.map(\.name), definition: shape.table.definition,
            declarations: key.map(\.declaration)
                + kept.map { $0.declaration(named: "old_" + $0.name) }
                + kept.map { $0.declaration(named: "new_" + $0.name) })
    }
}

/// The columns of a table of the store that can be read and written by name.
struct StoredShape {
    struct Column {
        let name: String
        /// The declared type; empty if a type would change values.
        let type: String
        let collation: String

        var declaration: String { declaration(named: name) }

        func declaration(named name: String) -> String {
            // A declared type is any text: in quotes it stays unchanged and cannot become SQL. Collations other than these belong to the
            // programs that use the store.
            let collation = ["NOCASE", "RTRIM"].contains(collation.uppercased()) ? " COLLATE " + collation : ""
            return name.standardIdentifier + (type.isEmpty ? "" : " " + type.standardIdentifier) + collation
        }
    }

    let table: SQLiteTable
    /// The rowid if it is not a column, then the columns that can be written.
    let columns: [Column]
    /// The rowid, or the primary key of a table without one.
    let key: [String]
    /// The rowid if it is not a column. It does not identify a row for long: VACUUM changes it, and a new row can get it.
    let hiddenRowID: String?
    var primaryKey: [String] { table.entity.primaryKey }

    /// Reads a table. It is nil if there is no such ordinary table, or if nothing identifies its rows.
    init?(of name: String, _ connection: SQLiteFile, _ db: Database) throws {
        guard let table = try connection.catalog.stored(name, db), table.entity.kind == .table else { return nil }
        self.table = table
        let stored = table.entity.attributes.filter { !$0.isGenerated }.map { attribute in
            // In a STRICT table, ANY keeps every value; elsewhere it would turn texts into numbers.
            let isAny = table.isStrict && attribute.declaredType.uppercased() == "ANY"
            return Column(
                name: attribute.name, type: isAny ? "" : attribute.declaredType,
                collation: table.collation(of: attribute.name))
        }
        if table.isWithoutRowID {
            (key, hiddenRowID, columns) = (table.entity.primaryKey, nil, stored)
        } else {
            guard let rowID = table.rowID else { return nil }
            key = [rowID]
            hiddenRowID = table.rowIDAlias == nil ? rowID : nil
            columns = (hiddenRowID.map { [Column(name: $0, type: "INTEGER", collation: "")] } ?? []) + stored
        }
    }

    /// The columns with these names, in the order of the table.
    func columns(named names: [String]) -> [Column] {
        columns.filter { column in names.contains { $0.folded == column.name.folded } }
    }

    /// The columns that identify a row whose references have changed. If the rowid is not a column, they are the declared key, or the rowid
    /// with all other columns.
    func keyColumns(besides changed: [String]) -> [Column] {
        guard hiddenRowID != nil else { return columns.filter { key.contains($0.name) } }
        if !primaryKey.isEmpty, Set(primaryKey).isDisjoint(with: changed) {
            return columns.filter { primaryKey.contains($0.name) }
        }
        return columns.filter { !changed.contains($0.name) }
    }
}
