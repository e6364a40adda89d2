import GRDB
import PriceStore

extension CandleStates {
    init(_ archive: AttachedArchive, _ known: KnownRows, _ connection: SQLiteFileConnection, _ db: Database) throws {
        self.init()
        let parts = try archive.parts.filter { part in
            try part.contains { archive.tables[$0.table].holdsCandles } && !archive.hasRows(part, known, db)
        }
        for table in archive.tables where table.holdsCandles {
            if let reason = try connection.obstacle(toUndoneCandlesOf: table.table, db) {
                throw StoreError.candlesCannotBeRestored(table.table, reason, .unsupported, store: connection.name)
            }
            let ranges = parts.joinedRows(of: table.number)
            guard !ranges.isEmpty else { continue }
            let cursor = try Row.fetchCursor(db, sql: table.candleStates(in: ranges))
            try add(table.number, of: table.table) {
                try cursor.next().map { row in
                    ArchivedCandle(
                        row: row["row"], first: row["first"], isMade: row["is_made"], isWritten: row["is_written"],
                        follows: row["follows"] ?? false)
                }
            }
        }
        for number in Set(parts.joined().map(\.table)) where archive.tables[number].holdsRows {
            try findConflicts(archive.tables[number], archive, parts.joinedRows(of: number), known, db)
        }
    }

    /// Counts the rows whose keys are in use, by others or by candles that are deleted before they are restored.
    private mutating func findConflicts(
        _ table: RestorationTable, _ archive: AttachedArchive, _ ranges: [ClosedRange<Int64>], _ known: KnownRows,
        _ db: Database
    ) throws {
        defer { try? known.forget(db) }
        for rows in ranges { try known.find(table, rows, db) }
        let count = try known.count(table, .conflict, db)
        guard count > 0 else { return }
        let freed = try archive.tables.filter { $0.holdsCandles && $0.table == table.table }.reduce(0) {
            $0 + (try Int.fetchOne(db, sql: known.count(table, besides: $1)) ?? 0)
        }
        addConflicts(count, freed: freed, in: table.table)
    }
}

extension AttachedArchive {
    /// Whether the store has all rows of a transaction.
    fileprivate func hasRows(_ part: [ArchivedRows], _ known: KnownRows, _ db: Database) throws -> Bool {
        defer { try? known.forget(db) }
        for portion in part where tables[portion.table].holdsRows {
            let table = tables[portion.table]
            // Mostly it has none of them, which the first shows.
            for rows in [portion.rows.lowerBound...portion.rows.lowerBound, portion.rows] {
                try known.find(table, rows, db)
                guard try known.count(table, .present, db) == rows.count else { return false }
            }
        }
        return true
    }
}
