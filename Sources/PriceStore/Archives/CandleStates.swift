/// A candle of an archive, compared with the store.
package struct ArchivedCandle: Sendable {
    /// Its number in the archive.
    package var row: Int64
    /// The number of the first candle in the archive with the same key; several transactions may have added to one candle.
    package var first: Int64
    /// Whether there was no candle before.
    package var isMade: Bool
    /// Whether the store's candle is as this row, or a later one about the same candle, has left it.
    package var isWritten: Bool
    /// Whether nobody has changed the candle between the row before about the same candle and this one.
    package var follows: Bool

    /// Makes a candle; engines do.
    package init(row: Int64, first: Int64, isMade: Bool, isWritten: Bool, follows: Bool) {
        self.row = row
        self.first = first
        self.isMade = isMade
        self.isWritten = isWritten
        self.follows = follows
    }
}

/// The candles of an archive, compared with the store before anything is restored.
///
/// Rows and the candles that they became are one transaction, also in an undo. So a transaction whose rows are all in the store has been
/// undone or was never committed, and its candles are not touched. All other candles must be as the run has left them.
package struct CandleStates {
    /// What would be done to the candles of a table of the store, by its name.
    private var tables: [String: RestorableTable] = [:]
    /// Archived candles that have been archived before, in an earlier transaction of the run, by the number of the table.
    package private(set) var repeated: [Int: Set<Int64>] = [:]
    /// Rows whose keys are those of candles that the restoration deletes before, by the name of the table: candles with other values, and
    /// with the same.
    private var freedCounts: [String: (other: Int, equal: Int)] = [:]

    /// Makes an archive without candles.
    package init() {}

    /// Adds the candles of a table.
    ///
    /// - Parameters:
    ///   - number: the table's place in the archive.
    ///   - table: its name in the store.
    ///   - next: gives one candle after the other, those of one key in the order of the run; nil: there are no more.
    package mutating func add(_ number: Int, of table: String, next: () throws -> ArchivedCandle?) throws {
        var found = tables[table] ?? RestorableTable(table: table)
        var changed: Set<Int64> = []
        while let candle = try next() {
            let isFirst = candle.row == candle.first
            if !isFirst { repeated[number, default: []].insert(candle.row) }
            if !candle.isWritten || !isFirst && !candle.follows {
                changed.insert(candle.first)
            } else if isFirst {
                if candle.isMade { found.deletedCandleCount += 1 } else { found.restoredCandleCount += 1 }
            }
        }
        found.changedCandleCount += changed.count
        tables[table] = found
    }

    /// Adds rows that became candles and whose keys are in use by rows with other values.
    ///
    /// - Parameters:
    ///   - freed: those whose keys are in use by candles that are deleted before.
    ///   - freedEqual: rows that are equal to such candles.
    package mutating func addConflicts(_ count: Int, freed: Int, freedEqual: Int, in table: String) {
        freedCounts[table, default: (0, 0)].other += freed
        freedCounts[table, default: (0, 0)].equal += freedEqual
        guard count > freed else { return }
        tables[table, default: RestorableTable(table: table)].blockedCount += count - freed
    }

    /// Adds to the counts of tables what is known of candles.
    package func add(to counts: inout [RestorableTable]) {
        for index in counts.indices {
            guard let found = tables[counts[index].table] else { continue }
            counts[index].restoredCandleCount = found.restoredCandleCount
            counts[index].deletedCandleCount = found.deletedCandleCount
            counts[index].changedCandleCount = found.changedCandleCount
            counts[index].blockedCount = found.blockedCount
        }
    }

    /// Leaves rows whose keys become free out of the conflicts, and out of the rows that are there.
    package func removeFreed(from counts: inout [RestorableTable]) {
        for index in counts.indices {
            guard let freed = freedCounts[counts[index].table] else { continue }
            counts[index].conflictCount -= freed.other
            counts[index].presentCount -= freed.equal
        }
    }
}
