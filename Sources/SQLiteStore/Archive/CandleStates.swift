import GRDB
import PriceStore

/// The candles of an archive, compared with the store before anything is restored.
///
/// Rows and the candles that they became are one transaction, also here. So either a candle is as the run has left it, or it is as it
/// was before and its rows are in the store.
struct CandleStates {
    /// What would be done to the candles of a table of the store, by its name.
    private(set) var tables: [String: RestorableTable] = [:]
    /// Archived candles that have been archived before, in an earlier transaction of the run, by the number of the table.
    private(set) var repeated: [Int: Set<Int64>] = [:]
    /// Rows whose keys are those of candles that the restoration deletes before, by the name of the table.
    private(set) var freedCounts: [String: Int] = [:]

    init(_ archive: AttachedArchive, _ known: KnownRows, _ connection: SQLiteFileConnection, _ db: Database) throws {
        let rollups = archive.parts.filter { part in part.contains { archive.tables[$0.table].holdsCandles } }
        guard !rollups.isEmpty else { return }
        for table in archive.tables where table.holdsCandles {
            try read(table, of: archive, rollups, known, connection, db)
        }
        for number in Set(rollups.joined().map(\.table)) where archive.tables[number].holdsRows {
            try findConflicts(number, archive, rollups, known, db)
        }
    }

    private mutating func read(
        _ table: RestorationTable, of archive: AttachedArchive, _ parts: [[ArchivedRows]], _ known: KnownRows,
        _ connection: SQLiteFileConnection, _ db: Database
    ) throws {
        if let reason = try connection.obstacle(toUndoneCandlesOf: table.table, db) {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "the candles of \(table.table) cannot be restored: \(reason)",
                hint: "nothing was changed")
        }
        var found = tables[table.table] ?? RestorableTable(table: table.table)
        /// The rows about candles that are not as the run has left them, with the first row about the same candle.
        var left: [(row: Int64, first: Int64)] = []
        var changed: Set<Int64> = []
        let isAsBefore = try db.makeStatement(sql: table.candleIsAsBefore(archive.rows(of: table)))
        let cursor = try Row.fetchCursor(
            db, sql: table.candleStates(in: parts.joinedRows(of: table.number)))
        while let state = try cursor.next() {
            let (row, first): (Int64, Int64) = (state["row"], state["first"])
            let (isMade, isWritten): (Bool, Bool) = (state["is_made"], state["is_written"])
            if row != first { repeated[table.number, default: []].insert(row) }
            if isWritten {
                if row == first {
                    if isMade { found.deletedCandleCount += 1 } else { found.restoredCandleCount += 1 }
                } else if !(state["follows"] as Bool) {
                    changed.insert(first)
                }
                continue
            }
            left.append((row, first))
            guard row == first, !(state["is_before"] as Bool) else { continue }
            if try Bool.fetchOne(isAsBefore, arguments: [row]) != true { changed.insert(first) }
        }
        left.sort { $0.row < $1.row }
        var rest = left[...]
        for part in parts {
            for portion in part where portion.table == table.number {
                let others = rest.prefix { $0.row <= portion.rows.upperBound }
                rest = rest.dropFirst(others.count)
                guard !others.isEmpty, try !hasRows(part, archive, known, db) else { continue }
                changed.formUnion(others.map(\.first))
            }
        }
        found.changedCandleCount += changed.count
        tables[table.table] = found
    }

    /// Whether the store has all rows of a transaction.
    private func hasRows(
        _ part: [ArchivedRows], _ archive: AttachedArchive, _ known: KnownRows, _ db: Database
    ) throws -> Bool {
        defer { try? known.forget(db) }
        for portion in part where archive.tables[portion.table].holdsRows {
            let table = archive.tables[portion.table]
            try known.find(table, portion.rows, db)
            guard try known.count(table, .present, db) == portion.rows.count else { return false }
        }
        return true
    }

    /// Counts the rows whose keys are in use, by others or by candles that are deleted before they are restored.
    private mutating func findConflicts(
        _ number: Int, _ archive: AttachedArchive, _ parts: [[ArchivedRows]], _ known: KnownRows, _ db: Database
    ) throws {
        let table = archive.tables[number]
        defer { try? known.forget(db) }
        for rows in parts.joinedRows(of: number) { try known.find(table, rows, db) }
        let count = try known.count(table, .conflict, db)
        guard count > 0 else { return }
        var freed = 0
        for candles in archive.tables where candles.holdsCandles && candles.table == table.table {
            freed += try Int.fetchOne(db, sql: known.count(table, besides: candles)) ?? 0
        }
        freedCounts[table.table, default: 0] += freed
        tables[table.table, default: RestorableTable(table: table.table)].blockedCount += count - freed
    }
}

extension AttachedArchive {
    /// The table with the deleted rows of the table of the store that another one is about; nil: none.
    func rows(of other: RestorationTable) -> RestorationTable? {
        tables.first { $0.holdsRows && $0.table == other.table }
    }
}

extension [RestorableTable] {
    /// Adds what was found about candles.
    mutating func add(_ states: CandleStates) {
        for index in indices {
            guard let found = states.tables[self[index].table] else { continue }
            self[index].restoredCandleCount = found.restoredCandleCount
            self[index].deletedCandleCount = found.deletedCandleCount
            self[index].changedCandleCount = found.changedCandleCount
            self[index].blockedCount = found.blockedCount
        }
    }
}
