import GRDB
import PriceStore

/// A table whose rows are copied with their rowids.
struct CopiedTable {
    private let name: String
    /// The columns that can be written, with the rowid where no column is it.
    private let columns: [String]
    /// Whether SQLite can take the rows over as they are: no column is generated, no rowid is written apart.
    private let isPlain: Bool
    /// Has the rows read in the table itself, whatever an index says of them.
    private let hint: String

    init(_ name: String, _ connection: SQLiteFileConnection, _ db: Database) throws {
        self.name = name
        guard let table = try connection.catalog.stored(name, db) else {
            throw StoreError(.defect, store: connection.name, message: "a rebuild does not find the table \(name)")
        }
        let attributes = table.entity.attributes
        let written = attributes.filter { !$0.isGenerated }.map(\.name)
        let hasHiddenRowID = !table.isWithoutRowID && table.rowIDAlias == nil
        if hasHiddenRowID, table.rowID == nil {
            throw StoreError(
                .unsupported, store: connection.name,
                message:
                    "the columns of \(name) hide its rowid (rowid, _rowid_ and oid are all taken), which a rebuild must keep"
            )
        }
        columns = (hasHiddenRowID ? [table.rowID ?? ""] : []) + written
        isPlain = !hasHiddenRowID && written.count == attributes.count
        hint = table.tableHint
    }

    /// A row that breaks a constraint is an error, also where the schema would have it left out or changed (`ON CONFLICT`).
    private static let insert = "INSERT OR ABORT INTO"

    /// Copies all rows.
    func copyAll(to schema: String) -> String {
        let head = "\(Self.insert) \(schema).\(name.quotedIdentifier)"
        let list = columns.map(\.quotedIdentifier).joined(separator: ", ")
        return isPlain
            ? "\(head) SELECT * FROM main.\(name.quotedIdentifier)"
            : "\(head) (\(list)) SELECT \(list) FROM main.\(name.quotedIdentifier)\(hint)"
    }

    /// Copies the rows of which a condition is not true.
    func copy(to schema: String, except removed: SQLFragment) -> SQLFragment {
        let list = columns.map(\.quotedIdentifier).joined(separator: ", ")
        let values = columns.map { "\(RowScope.alias).\($0.quotedIdentifier)" }.joined(separator: ", ")
        return SQLFragment(
            "\(Self.insert) \(schema).\(name.quotedIdentifier) (\(list)) SELECT \(values) FROM main.\(name.quotedIdentifier) "
                + "AS \(RowScope.alias)\(hint) WHERE (")
            + removed + ") IS NOT TRUE"
    }
}
