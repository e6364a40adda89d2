import PriceStore

extension CandleStates {
    /// So many candles are held at a time.
    private static let rowsAtATime = 10_000

    init(_ archive: ServerArchive, _ restored: RestoredRows, _ connection: PostgresConnection) throws {
        self = try connection.snapshot {
            var states = CandleStates()
            let parts = try archive.parts.filter { part in
                try part.contains { archive.tables[$0.table].holdsCandles }
                    && !archive.hasRows(part, restored, connection)
            }
            for (number, table) in archive.tables.enumerated() where table.holdsCandles {
                try states.add(table, number, parts.joinedRows(of: number), connection)
            }
            for number in Set(parts.joined().map(\.table)) where archive.tables[number].holdsRows {
                let table = archive.tables[number]
                // Nothing tells which row of a table without a key uses the place of another.
                guard !table.key.isEmpty else { continue }
                let freed = archive.tables.enumerated().filter {
                    $1.holdsCandles && $1.target.number == table.target.number
                }.map { $1.isMade(in: parts.joinedRows(of: $0)) }
                for rows in parts.joinedRows(of: number) {
                    let found = try connection.rows(
                        table.conflicts(rows, archive.references(of: table), isFreed: .any(freed))
                    ).first?.compactMap { $0.flatMap { Int($0) } }
                    guard let found, found.count == 3 else { continue }
                    states.addConflicts(found[0], freed: found[1], freedEqual: found[2], in: table.table)
                }
            }
            return states
        }
    }

    private mutating func add(
        _ table: RestorationTable, _ number: Int, _ ranges: [ClosedRange<Int64>], _ connection: PostgresConnection
    ) throws {
        guard !ranges.isEmpty else { return }
        try connection.execute("DECLARE retention_candles NO SCROLL CURSOR FOR " + table.candleStates(ranges))
        var found: ArraySlice<[String?]> = []
        var isEnd = false
        try add(number, of: table.table) {
            if found.isEmpty, !isEnd {
                found = try connection.rows(SQLFragment("FETCH \(Self.rowsAtATime) FROM retention_candles"))[...]
                isEnd = found.count < Self.rowsAtATime
            }
            guard let row = found.popFirst(), let place = row[0].flatMap({ Int64($0) }),
                let first = row[1].flatMap({ Int64($0) })
            else { return nil }
            return ArchivedCandle(
                row: place, first: first, isMade: row[2] == "t", isWritten: row[3] == "t", follows: row[4] == "t")
        }
        try connection.execute("CLOSE retention_candles")
    }
}

extension ServerArchive {
    /// Whether the store has all rows of a transaction.
    fileprivate func hasRows(
        _ part: [ArchivedRows], _ restored: RestoredRows, _ connection: PostgresConnection
    ) throws -> Bool {
        try part.allSatisfy { portion in
            let table = tables[portion.table]
            guard table.holdsRows else { return true }
            return table.key.isEmpty
                ? try portion.rows.allSatisfy(restored.rows(of: table).contains)
                : try !connection.exists(table.missing(portion.rows, references(of: table)))
        }
    }
}
