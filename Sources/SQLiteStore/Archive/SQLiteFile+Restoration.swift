import GRDB
package import PriceStore

extension SQLiteFile {
    /// Compares each table of an archive with the store.
    package func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable] {
        let archive = try AttachedArchive(request, self)
        return try run("comparing the archive with the store") { db in
            try snapshot(db) {
                let known = try KnownRows(archive, db)
                defer { try? known.remove(db) }
                return try archive.counts(known, db)
            }
        }
    }
}

extension SQLiteWriter {
    /// The restoration of what a run deleted.
    package func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration {
        try SQLiteRestoration.begin(request, self)
    }
}

extension AttachedArchive {
    fileprivate func counts(_ known: KnownRows, _ db: Database) throws -> [RestorableTable] {
        var counts = parts.emptyCounts(of: tables)
        let states = try CandleStates(self, known, connection, db)
        states.add(to: &counts)
        var conflicts: [Int: Set<Int64>] = [:]
        for (number, table) in tables.enumerated() {
            guard let index = counts.firstIndex(where: { $0.table == table.table }) else { continue }
            for rows in table.holdsCandles ? [] : parts.joinedRows(of: number) {
                guard table.holdsRows else {
                    let range: [StoreValue] = [.integer(rows.lowerBound), .integer(rows.upperBound)]
                    let other = tables.first { $0.kind == .rows && $0.table == table.table }
                    counts[index].referenceCount += try connection.count(
                        SQLFragment(table.referenceCount(other), range), db)
                    counts[index].skippedReferenceCount += try connection.count(
                        SQLFragment(table.lostReferenceCount(other), range), db)
                    continue
                }
                try known.forEachFound(table, [rows], db) {
                    counts[index].presentCount += $0.present.count
                    counts[index].conflictCount += $0.conflicts.count
                    conflicts[number, default: []].formUnion($0.conflicts)
                }
            }
        }
        let skipped = try SkippedRows(of: self, db)
        defer { try? skipped.remove() }
        try skipped.countChildren(of: conflicts, in: parts, &counts) { rows in
            let found = try known.find(tables[rows.table], rows.rows, db)
            return found.present.union(found.conflicts)
        }
        states.removeFreed(from: &counts)
        return counts
    }
}
