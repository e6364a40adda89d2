import PriceStore

extension CandleStates {
    init(_ search: ServerArchiveSearch) throws {
        let (archive, connection) = (search.archive, search.connection)
        self = try connection.snapshot {
            let parts = archive.parts.filter { part in part.contains { archive.tables[$0.table].holdsCandles } }
            let present = try archive.mayBeUndoneInPart ? Array(parts.reversed().prefix(while: search.hasRows)) : []
            let names = archive.tables.enumerated().filter(\.element.holdsCandles).map { ($0, $1.table) }
            var states = try CandleStates(
                parts, presentCount: present.count, names: Dictionary(uniqueKeysWithValues: names)
            ) { number, body in
                let table = archive.tables[number]
                let rows = archive.tables.firstIndex { $0.holdsRows && $0.target.oid == table.target.oid }
                let query = table.candleStates(
                    parts.joinedRows(of: number),
                    restored: present.isEmpty
                        ? nil : (rows.map { archive.tables[$0] }, rows.map(present.joinedRows) ?? []))
                try connection.forEachPortion(of: query) { found in
                    for row in found.rows {
                        try body(
                            ArchivedCandle(
                                row: Int64(row.int("row")), first: Int64(row.int("first")),
                                isMade: row.isTrue("is_made"), isWritten: row.isTrue("is_written"),
                                follows: row.isTrue("follows"), isBefore: row.isTrue("is_before")))
                    }
                }
            }
            let left = Array(parts.prefix(states.partCount))
            for number in Set(left.joined().map(\.table)) where archive.tables[number].holdsRows {
                let table = archive.tables[number]
                // Without a key, no row can be said to take the place of another.
                guard !table.key.isEmpty else { continue }
                let freed = archive.tables.enumerated().filter {
                    $1.holdsCandles && $1.target.oid == table.target.oid
                }.map { $1.isMade(in: left.joinedRows(of: $0)) }
                for rows in left.joinedRows(of: number) {
                    let query = table.conflicts(rows, archive.references(of: table), isFreed: .any(freed))
                    let found = try connection.onlyRow(query)
                    states.addConflicts(
                        try found.int("conflicts"), freed: try found.int("freed"),
                        freedEqual: try found.int("freed_equal"), in: table.table)
                }
            }
            return states
        }
    }
}
