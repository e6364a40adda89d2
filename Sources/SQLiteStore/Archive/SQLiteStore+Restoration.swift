import GRDB
public import PriceStore

extension SQLiteStore {
    /// What an archive holds for each table, compared with the store as it is.
    public func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable] {
        let archive = try AttachedArchive(request, self)
        return try run("comparing the archive with the store") { db in
            let references = try archive.copyReferences(db)
            defer {
                for table in references.values.joined() { try? db.execute(sql: "DROP TABLE temp.\(table.copyName)") }
            }
            return try snapshot(db) { try archive.counts(references, db) }
        }
    }
}

extension SQLiteWriter {
    /// The restoration of what a run deleted.
    public func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration {
        try SQLiteRestoration(request, self)
    }
}

extension AttachedArchive {
    /// The tables of the store with the numbers of their archived rows.
    var emptyCounts: [RestorableTable] {
        var counts: [RestorableTable] = []
        for (number, table) in tables.enumerated() {
            let index = counts.firstIndex { $0.table == table.table } ?? counts.count
            if index == counts.count { counts.append(RestorableTable(table: table.table)) }
            guard table.kind == .rows else { continue }
            counts[index].archivedCount += parts.joinedRows(of: number).reduce(0) { $0 + $1.count }
        }
        return counts.sorted { $0.table < $1.table }
    }

    /// Makes a temporary table of the old values of references for each table that also has rows in the archive.
    ///
    /// - Returns: the tables with these values, by the number of the table with the rows.
    func copyReferences(_ db: Database) throws -> [Int: [RestorationTable]] {
        var found: [Int: [RestorationTable]] = [:]
        for (number, rows) in tables.enumerated() where rows.kind == .rows {
            for references in tables where references.kind == .references && references.table == rows.table {
                try db.execute(sql: references.copy)
                found[number, default: []].append(references)
            }
        }
        return found
    }

    /// Compares all rows with the store.
    fileprivate func counts(_ references: [Int: [RestorationTable]], _ db: Database) throws -> [RestorableTable] {
        var counts = emptyCounts
        for (number, table) in tables.enumerated() {
            guard let index = counts.firstIndex(where: { $0.table == table.table }) else { continue }
            for rows in parts.joinedRows(of: number) {
                let range: StatementArguments = [rows.lowerBound, rows.upperBound]
                guard table.kind == .rows else {
                    let other = tables.first { $0.kind == .rows && $0.table == table.table }
                    counts[index].referenceCount +=
                        try Int.fetchOne(db, sql: table.referenceCount(other), arguments: range) ?? 0
                    continue
                }
                let found = try Row.fetchOne(
                    db,
                    sql: """
                        SELECT count(*), coalesce(sum(\(table.isEqual(references[number] ?? []))), 0)
                        FROM \(table.source) AS a CROSS JOIN \(table.target) AS m ON \(table.isSameKey)
                        WHERE a.\(table.rowID) BETWEEN ?1 AND ?2
                        """, arguments: range)
                let (all, equal): (Int, Int) = (found?[0] ?? 0, found?[1] ?? 0)
                counts[index].presentCount += equal
                counts[index].conflictCount += all - equal
            }
        }
        return counts
    }
}

extension [AttachedArchive.Part] {
    /// The rows of a table in these parts, as few ranges as possible.
    fileprivate func joinedRows(of table: Int) -> [ClosedRange<Int64>] {
        var joined: [ClosedRange<Int64>] = []
        for rows in flatMap(\.portions).filter({ $0.table == table }).map(\.rows).sorted(by: {
            $0.lowerBound < $1.lowerBound
        }) {
            if let last = joined.last, last.upperBound + 1 == rows.lowerBound {
                joined[joined.count - 1] = last.lowerBound...rows.upperBound
            } else {
                joined.append(rows)
            }
        }
        return joined
    }
}
