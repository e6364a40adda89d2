import GRDB
import PriceStore

extension CandleStates {
    init(_ archive: AttachedArchive, _ known: KnownRows, _ connection: SQLiteFile, _ db: Database) throws {
        let candles = archive.tables.filter(\.holdsCandles)
        for table in candles {
            guard let reason = try connection.obstacle(toUndoneCandlesOf: table.table, db) else { continue }
            throw StoreError.candlesCannotBeRestored(table.table, reason, .unsupported, store: connection.name)
        }
        let parts = archive.parts.filter { part in part.contains { archive.tables[$0.table].holdsCandles } }
        let present =
            try archive.mayBeUndoneInPart ? Array(parts.reversed().prefix { try archive.hasRows($0, known, db) }) : []
        try self.init(
            parts, presentCount: present.count,
            names: Dictionary(uniqueKeysWithValues: candles.map { ($0.number, $0.table) })
        ) { number, body in
            let table = archive.tables[number]
            let rows = archive.tables.first { $0.holdsRows && $0.table == table.table }
            let query = table.candleStates(
                in: parts.joinedRows(of: number),
                restored: present.isEmpty ? nil : (rows, rows.map { present.joinedRows(of: $0.number) } ?? []))
            let cursor = try Row.fetchCursor(db, sql: query)
            while let row = try cursor.next() {
                try body(
                    ArchivedCandle(
                        row: row["row"], first: row["first"], isMade: row["is_made"], isWritten: row["is_written"],
                        follows: (row["follows"] as Bool?) == true, isBefore: (row["is_before"] as Bool?) == true))
            }
        }
        let left = Array(parts.prefix(partCount))
        for number in Set(left.joined().map(\.table)) where archive.tables[number].holdsRows {
            try findConflicts(archive.tables[number], archive, left, known, db)
        }
    }

    /// Counts the rows whose key another row uses, or a candle that is deleted before they are restored.
    private mutating func findConflicts(
        _ table: RestorationTable, _ archive: AttachedArchive, _ parts: [[ArchivedRows]], _ known: KnownRows,
        _ db: Database
    ) throws {
        var freed: Set<Int64> = []
        for candles in archive.tables where candles.holdsCandles && candles.table == table.table {
            let ranges = parts.joinedRows(of: candles.number)
            if !ranges.isEmpty { freed.formUnion(try Int64.fetchSet(db, sql: table.rows(madeBy: candles, in: ranges))) }
        }
        var (conflicts, freedConflicts, freedPresent) = (0, 0, 0)
        try known.forEachFound(table, parts.joinedRows(of: table.number), db) { found in
            conflicts += found.conflicts.count
            freedConflicts += found.conflicts.count(where: freed.contains)
            freedPresent += found.present.count(where: freed.contains)
        }
        addConflicts(conflicts, freed: freedConflicts, freedEqual: freedPresent, in: table.table)
    }
}

extension AttachedArchive {
    fileprivate func hasRows(_ part: [ArchivedRows], _ known: KnownRows, _ db: Database) throws -> Bool {
        try part.allSatisfy { portion in
            let table = tables[portion.table]
            // Usually it has none of them, which the first row shows.
            return try !table.holdsRows
                || [portion.rows.lowerBound...portion.rows.lowerBound, portion.rows].allSatisfy { rows in
                    try known.find(table, rows, db).present.count == rows.count
                }
        }
    }
}
