import GRDB
import PriceStore

/// The effects of a delete of objects on the rows at the other ends of their relationships.
///
/// The keys of deleted rows are in the temporary tables of a ``RemovedRows``, by step and wave. Wave 0 contains the rows that a request
/// names, and each further wave the rows that cascades add. A dry run and a run use the same statements.
struct ObjectGraph {
    let schema: CoreDataSchema
    /// The entity that the request names.
    let entity: CoreDataEntity
    let removed: RemovedRows
    let step: Int
    let connection: SQLiteFile
    let db: Database

    /// Adds the rows that cascades delete, wave by wave.
    func cascade() throws {
        var frontier: Set<String> = [entity.table]
        var wave = 0
        while !frontier.isEmpty {
            var reached: Set<String> = []
            for table in frontier.sorted() {
                let isHere = "removed.step = \(step) AND removed.wave = \(wave)"
                let links = wave == 0 ? schema.links(of: entity) : links(of: table)
                for link in links where link.relationship.deleteRule == .cascade {
                    let target = try connection.removedTable(link.destinationTable, removed, db)
                    for rows in try ends(of: link, isHere) {
                        try connection.execute(
                            "INSERT OR IGNORE INTO temp.\(target) SELECT child.Z_PK, \(step), \(wave + 1)\(rows)", db)
                        if db.changesCount > 0 { reached.insert(link.destinationTable) }
                    }
                }
            }
            frontier = reached
            wave += 1
        }
        if entity.isHistory { try removeUnusedStrings(wave) }
    }

    /// Adds the strings of the history to which only deleted transactions refer. The program's own name stays, because the next batch of a
    /// rule may need it.
    private func removeUnusedStrings(_ wave: Int) throws {
        let own = try connection.removedTable(entity.table, removed, db)
        let target = try connection.removedTable("ATRANSACTIONSTRING", removed, db)
        let (mine, others) = try CoreDataHistory.strings.reduce(into: ([String](), [String]())) { found, column in
            found.0.append(
                "SELECT child.\(column) FROM temp.\(own) AS removed CROSS JOIN main.\(entity.table) AS child "
                    + "WHERE child.Z_PK = removed.k0 AND removed.step = \(step)")
            found.1.append(
                "NOT EXISTS (SELECT 1 FROM main.\(entity.table) AS child WHERE child.\(column) = name.Z_PK AND "
                    + (try stays(entity.table)) + ")")
        }
        try connection.execute(
            """
            INSERT OR IGNORE INTO temp.\(target) SELECT name.Z_PK, \(step), \(wave) FROM main.ATRANSACTIONSTRING AS name \
            WHERE name.Z_PK IN (\(mine.joined(separator: " UNION "))) AND name.ZNAME IS NOT 'retention' AND \
            \(others.joined(separator: " AND "))
            """, db)
    }

    /// A reference that remaining rows lose, and the `FROM … WHERE …` of those rows, as `child`.
    struct Nullification {
        var table: String
        var reference: ModelLink.Reference
        /// The rows before the delete.
        var rows: String
        /// A cheaper query for the same rows after the delete, or nil if they can no longer be found then.
        var rowsAfterwards: String?
    }

    /// The references that remaining rows lose.
    func nullifications() throws -> [Nullification] {
        var found: [Nullification] = []
        let isHere = "removed.step = \(step)"
        for link in try losingLinks() {
            guard let pointing = link.pointing else { continue }
            switch link.relationship.deleteRule {
            case .noAction, .deny: continue
            case .nullify: break
            // Rows that a cascade deletes lose no reference. The inverse of a one-to-one relationship may still refer to a deleted row.
            case .cascade where link.back == nil: continue
            case .cascade: break
            }
            found.append(
                Nullification(
                    table: link.destinationTable, reference: pointing,
                    rows: try pointingBack(link, pointing, isHere, staying: true),
                    rowsAfterwards: link.coversTable ? try pointingBack(link, pointing, isHere) : nil))
        }
        return found
    }
}
