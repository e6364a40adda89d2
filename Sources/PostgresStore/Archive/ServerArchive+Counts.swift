import PriceStore

extension ServerArchive {
    /// Compares all rows with the store.
    func counts(_ connection: PostgresDatabase) throws -> [RestorableTable] {
        var counts = parts.emptyCounts(of: tables)
        let search = ServerArchiveSearch(self, connection)
        let candles = try CandleStates(search)
        var conflicts: [Int: Set<Int64>] = [:]
        candles.add(to: &counts)
        for (number, table) in tables.enumerated() where !table.holdsCandles {
            guard let index = counts.firstIndex(where: { $0.table == table.table }) else { continue }
            for rows in parts.joinedRows(of: number) {
                if !table.holdsRows {
                    let row = try connection.onlyRow(references(table, rows))
                    counts[index].referenceCount += try row.int("changes")
                    counts[index].skippedReferenceCount += try row.int("missing")
                } else if table.key.isEmpty {
                    counts[index].presentCount += try search.restored(to: table).count(where: rows.contains)
                } else {
                    let row = try connection.onlyRow(
                        "SELECT count(*) FILTER (WHERE is_equal) AS present, count(*) FILTER (WHERE NOT is_equal) AS conflicts "
                            + "FROM (SELECT \(table.isEqual(references(of: table))) AS is_equal FROM \(table.source) AS a "
                            + "\(table.join("a")) WHERE " + table.isIn(rows) + ") AS found")
                    counts[index].presentCount += try row.int("present")
                    let conflictCount = try row.int("conflicts")
                    counts[index].conflictCount += conflictCount
                    guard conflictCount > 0 else { continue }
                    conflicts[number, default: []].formUnion(
                        try search.find(ArchivedRows(table: number, rows: rows)).conflicts)
                }
            }
        }
        try search.countChildren(of: conflicts, in: parts, &counts) { rows in
            let found = try search.find(rows)
            return found.present.union(found.conflicts)
        }
        candles.removeFreed(from: &counts)
        return counts
    }

    /// Counts the rows whose references can be restored, and those that are neither in the store nor archived. Archived rows stand in for
    /// rows missing from the store.
    private func references(_ table: RestorationTable, _ rows: ClosedRange<Int64>) -> SQLFragment {
        let own = tables.filter { $0.holdsRows && $0.target.oid == table.target.oid }.map {
            "EXISTS (SELECT 1 FROM \($0.source) AS s WHERE \(table.isOwnRow(of: $0)))"
        }
        let isArchived = "(\((own + ["FALSE"]).joined(separator: " OR ")))"
        let changes = table.referenceUpdates.map {
            "\(table.wasCleared($0)) AND CASE WHEN \(table.isMissing) THEN \(isArchived) ELSE \(table.isCleared($0)) END"
        }
        let wasCleared = table.referenceUpdates.map(table.wasCleared).joined(separator: " OR ")
        return
            "SELECT count(*) FILTER (WHERE \(changes.map { "(\($0))" }.joined(separator: " OR "))) AS changes, "
            + "count(*) FILTER (WHERE \(table.isMissing) AND NOT \(isArchived) AND (\(wasCleared))) AS missing "
            + "FROM \(table.source) AS r LEFT JOIN \(table.target.sql) AS m ON \(table.isSameKey("r")) WHERE "
            + table.isIn(rows, alias: "r")
    }
}
