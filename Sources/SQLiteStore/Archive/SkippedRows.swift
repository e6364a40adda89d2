import GRDB
import PriceStore

/// The rows of an archive that an undo skips, in a temporary table, and what refers to them.
struct SkippedRows: ArchiveSearch {
    let archive: AttachedArchive
    let db: Database
    /// The temporary table, with the numbers of tables and rows.
    let name: String

    var tables: [RestorationTable] { archive.tables }

    init(of archive: AttachedArchive, _ db: Database) throws {
        (self.archive, self.db, name) = (archive, db, archive.connection.temporaryName("skipped"))
        try db.execute(
            sql: "CREATE TEMP TABLE \(name) (number INTEGER, row INTEGER, PRIMARY KEY (number, row)) WITHOUT ROWID")
    }

    func remove() throws { try db.execute(sql: "DROP TABLE IF EXISTS temp.\(name)") }

    func noteSkipped(_ row: Int64, of table: Int) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO temp.\(name) VALUES (?, ?)", arguments: [table, row])
    }

    func children(
        _ rows: RowsToRestore, by relationship: Relationship, of parent: Int, _ parents: Set<Int64>
    ) throws -> [Int64] {
        let table = archive.tables[rows.table]
        let references = relationship.sourceAttributes.map { "a." + $0.quotedIdentifier }
        return try Int64.fetchAll(
            db,
            sql: "SELECT a.\(table.rowID) FROM \(table.source) AS a WHERE a.\(table.rowID) BETWEEN ? AND ? AND "
                + (try isAmong(references, relationship, parent)),
            arguments: [rows.rows.lowerBound, rows.rows.upperBound]
        ).filter { !rows.leftOut.contains($0) }
    }

    /// Whether values refer to a skipped row, in SQL. The comparison follows the column to which the foreign key refers.
    func isAmong(_ values: [String], _ relationship: Relationship, _ parent: Int) throws -> String {
        let table = archive.tables[parent]
        let collations = try archive.connection.catalog.table(table.table, db)?.collations ?? [:]
        let values = zip(values, relationship.destinationAttributes).map { value, key in
            value + (collations[key.folded].map { " COLLATE \($0.quotedIdentifier)" } ?? "")
        }
        let keys = relationship.destinationAttributes.map { "p." + $0.quotedIdentifier }.list
        return """
            (\(values.list)) IN (SELECT \(keys) FROM \(table.source) AS p WHERE p.\(table.rowID) IN
            (SELECT row FROM temp.\(name) WHERE number = \(parent)))
            """
    }
}
