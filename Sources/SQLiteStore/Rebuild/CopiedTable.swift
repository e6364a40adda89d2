import GRDB
import PriceStore

/// A table whose rows are copied with their rowids.
struct CopiedTable {
    private let name: String
    /// The writable columns, and the rowid if no column is the rowid.
    private let columns: [String]
    /// Whether rows can be copied as they are: no column is generated, and the rowid is not written separately.
    private let isPlain: Bool
    /// The hint that makes SQLite read the table itself, whatever its indexes contain.
    private let hint: String

    init(_ name: String, _ connection: SQLiteFile, _ db: Database) throws {
        self.name = name
        guard let table = try connection.catalog.stored(name, db) else {
            throw connection.failure(.defect, "a rebuild does not find the table \(name)")
        }
        let attributes = table.entity.attributes
        let written = attributes.filter { !$0.isGenerated }.map(\.name)
        var hidden: [String] = []
        if !table.isWithoutRowID, table.rowIDAlias == nil {
            guard let rowID = table.rowID else {
                throw connection.failure(
                    .unsupported,
                    "the columns of \(name) hide its rowid (rowid, _rowid_ and oid are all taken), which a rebuild must keep"
                )
            }
            hidden = [rowID]
        }
        columns = hidden + written
        isPlain = hidden.isEmpty && written.count == attributes.count
        hint = table.tableHint
    }

    /// A row that breaks a constraint is an error, even if the schema would skip or change it (`ON CONFLICT`).
    private static let insert = "INSERT OR ABORT INTO"

    func copyAll(to schema: String) -> String {
        let head = "\(Self.insert) \(schema).\(name.quotedIdentifier)"
        let list = columns.map(\.quotedIdentifier).list
        return isPlain
            ? "\(head) SELECT * FROM main.\(name.quotedIdentifier)"
            : "\(head) (\(list)) SELECT \(list) FROM main.\(name.quotedIdentifier)\(hint)"
    }

    /// The statement that copies the rows for which a condition is not true.
    func copy(to schema: String, except removed: SQLFragment) -> SQLFragment {
        let list = columns.map(\.quotedIdentifier).list
        let values = columns.map { "\(RowScope.alias).\($0.quotedIdentifier)" }.list
        return """
            \(Self.insert) \(schema).\(name.quotedIdentifier) (\(list)) SELECT \(values) FROM main.\(name.quotedIdentifier) \
            AS \(RowScope.alias)\(hint) WHERE (\(removed)) IS NOT TRUE
            """
    }
}
