import GRDB

/// The rows of the store that correspond to archived rows.
struct KnownRows {
    /// The numbers of archived rows, by what the store has for them.
    struct Found {
        /// The store has an equal row.
        var present: Set<Int64> = []
        /// Another row has the key.
        var conflicts: Set<Int64> = []
        /// Another row has the rowid, which is not a key. The restored row gets a new one.
        var moves: Set<Int64> = []
    }

    /// The tables with the old values of references, by the number of the table of the rows.
    let references: [Int: [RestorationTable]]
    /// The rows without a key that the store has under another rowid, by the number of the table.
    private var moved: [Int: Set<Int64>] = [:]

    /// Searches for rows whose rowid has changed.
    init(_ archive: AttachedArchive, _ db: Database) throws {
        var references: [Int: [RestorationTable]] = [:]
        for (number, rows) in archive.tables.enumerated() where rows.kind == .rows {
            for table in archive.tables + archive.otherReferences
            where table.kind == .references && table.table == rows.table {
                try db.execute(sql: table.copy)
                references[number, default: []].append(table)
            }
        }
        self.references = references
        for (number, table) in archive.tables.enumerated() where table.kind == .rows {
            guard let search = table.searchForMovedRows(references[number] ?? []),
                try Bool.fetchOne(db, sql: "SELECT EXISTS (\(search.isNeeded))") == true
            else { continue }
            moved[number] = try Int64.fetchSet(db, sql: search.rows)
        }
    }

    func remove(_ db: Database) throws {
        for table in references.values.joined() { try db.execute(sql: "DROP TABLE IF EXISTS temp.\(table.copyName)") }
    }

    /// Whether the store has some of the rows under another rowid.
    func hasMoved(_ rows: ArchivedRows) -> Bool { moved[rows.table]?.contains(where: rows.rows.contains) ?? false }

    func find(_ table: RestorationTable, _ rows: ClosedRange<Int64>, _ db: Database) throws -> Found {
        var found = Found()
        func look(_ isSame: String, otherwise: WritableKeyPath<Found, Set<Int64>>) throws {
            let cursor = try Row.fetchCursor(
                db,
                sql: """
                    SELECT a.\(table.rowID), \(table.isEqual(references[table.number] ?? []))
                    FROM \(table.source) AS a CROSS JOIN \(table.target) AS m ON \(isSame)
                    WHERE a.\(table.rowID) BETWEEN ? AND ?
                    """, arguments: [rows.lowerBound, rows.upperBound])
            while let row = try cursor.next() {
                let (number, isEqual): (Int64, Bool) = (row[0], row[1])
                guard !found.present.contains(number), !found.conflicts.contains(number) else { continue }
                found[keyPath: isEqual ? \.present : otherwise].insert(number)
            }
        }
        if table.hasKey { try look(table.isSameKey, otherwise: \.conflicts) }
        guard let isSamePlace = table.isSamePlace else { return found }
        found.present.formUnion(
            (moved[table.number] ?? []).filter { rows.contains($0) && !found.conflicts.contains($0) })
        try look(isSamePlace, otherwise: \.moves)
        return found
    }

    /// Looks for the rows of some ranges in portions, so that memory stays bounded.
    func forEachFound(
        _ table: RestorationTable, _ ranges: [ClosedRange<Int64>], _ db: Database, _ body: (Found) throws -> Void
    ) throws {
        for range in ranges {
            for first in stride(from: range.lowerBound, through: range.upperBound, by: 100_000) {
                try body(find(table, first...min(first + 99_999, range.upperBound), db))
            }
        }
    }
}
