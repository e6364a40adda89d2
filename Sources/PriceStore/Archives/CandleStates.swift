/// A candle of an archive, compared with the store.
package struct ArchivedCandle: Sendable {
    /// Its number in the archive.
    package var row: Int64
    /// The number of the first candle in the archive with the same key; several transactions may have added to one candle.
    package var first: Int64
    /// Whether the store had no such candle before this transaction.
    package var isMade: Bool
    /// Whether the store has the candle exactly once, as this transaction left it.
    package var isWritten: Bool
    /// Whether nobody changed the candle between the previous row for it and this one.
    package var follows: Bool
    /// Whether the store has the candle as it was before this transaction, or a restored row in its place; also false where that is not
    /// checked.
    package var isBefore: Bool

    package init(row: Int64, first: Int64, isMade: Bool, isWritten: Bool, follows: Bool, isBefore: Bool) {
        self.row = row
        self.first = first
        self.isMade = isMade
        self.isWritten = isWritten
        self.follows = follows
        self.isBefore = isBefore
    }
}

/// The candles of an archive, compared with the store before anything is restored.
///
/// A transaction contains rows and the candles that they became. An undo begins with the last transaction of the run, so the transactions
/// that are already undone, or were never committed, are the last ones. Their rows are in the store, and their candles are not touched. The
/// rows alone are no proof, because a feed may have sent them again. So the number of undone transactions is the one that no candle
/// contradicts. The candles of all other transactions must be as the run left them.
package struct CandleStates {
    /// Passes the candles of a table to a closure, ordered by the first number of their key and then by their own number.
    package typealias Reader = (_ table: Int, _ body: (ArchivedCandle) throws -> Void) throws -> Void

    /// How many transactions with candles remain to be undone: the first ones of the run.
    package private(set) var partCount: Int
    /// Archived candles that an earlier transaction of the run also archived, by table number.
    package private(set) var repeated: [Int: Set<Int64>] = [:]
    private let parts: [[ArchivedRows]]
    /// The last candle of each transaction, by table number.
    private var ends: [Int: [(row: Int64, part: Int)]] = [:]
    /// What the restoration would do to the candles of a table of the store, by the table's name.
    private var tables: [String: RestorableTable] = [:]
    /// Archived rows whose keys are used by candles that the restoration deletes first, by table name: candles with other values, and
    /// candles equal to the row.
    private var freedCounts: [String: (other: Int, equal: Int)] = [:]

    /// Compares the transactions that wrote candles, in the order of the run, with the tables of the store.
    ///
    /// - Parameter presentCount: how many of the last transactions may be undone, because the store has all their rows.
    package init(
        _ parts: [[ArchivedRows]], presentCount: Int, names: [Int: String], reader: Reader
    ) throws {
        self.parts = parts
        partCount = parts.count
        for (index, part) in parts.enumerated() {
            for portion in part { ends[portion.table, default: []].append((portion.rows.upperBound, index)) }
        }
        if presentCount > 0 {
            // The numbers of transactions still to be undone that no candle contradicts.
            var possible = RangeSet(parts.count - presentCount..<parts.count + 1)
            for number in names.keys where ends[number] != nil {
                try forEachCandle(number, reader) { candle in
                    if let first = candle.first, !first.isBefore {
                        possible.remove(contentsOf: 0..<part(of: first, number) + 1)
                    }
                    for (index, row) in candle.enumerated() where !row.isWritten {
                        let next = index + 1 < candle.count ? part(of: candle[index + 1], number) : parts.count
                        possible.remove(contentsOf: part(of: row, number) + 1..<next + 1)
                    }
                }
            }
            // If none is left, a candle was changed; the loop below finds it.
            partCount = possible.ranges.first?.lowerBound ?? parts.count
        }
        for (number, name) in names where ends[number] != nil {
            var found = tables[name] ?? RestorableTable(table: name)
            try forEachCandle(number, reader) { candle in
                let rows = candle.filter { part(of: $0, number) < partCount }
                guard let first = rows.first, let last = rows.last else { return }
                repeated[number, default: []].formUnion(rows.dropFirst().map(\.row))
                if !last.isWritten || !rows.dropFirst().allSatisfy(\.follows) {
                    found.changedCandleCount += 1
                } else if first.isMade {
                    found.deletedCandleCount += 1
                } else {
                    found.restoredCandleCount += 1
                }
            }
            tables[name] = found
        }
    }

    /// Passes the archived rows of each candle of a table to a closure.
    private func forEachCandle(
        _ number: Int, _ reader: Reader, _ body: ([ArchivedCandle]) throws -> Void
    ) throws {
        var rows: [ArchivedCandle] = []
        try withoutActuallyEscaping(body) { body in
            try reader(number) { row in
                if let first = rows.first, first.first != row.first {
                    try body(rows)
                    rows.removeAll(keepingCapacity: true)
                }
                rows.append(row)
            }
            if !rows.isEmpty { try body(rows) }
        }
    }

    private func part(of candle: ArchivedCandle, _ number: Int) -> Int {
        let ends = ends[number] ?? []
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle].row < candle.row { low = middle + 1 } else { high = middle }
        }
        return ends.indices.contains(low) ? ends[low].part : parts.count
    }

    /// Whether the transaction that wrote some candles is already undone.
    package func isUndone(_ portion: ArchivedRows) -> Bool {
        partCount < parts.count
            && ends[portion.table]?.contains { $0.part >= partCount && $0.row == portion.rows.upperBound } == true
    }

    /// Adds rows that became candles and whose keys are used by rows with other values.
    ///
    /// - Parameters:
    ///   - freed: how many of these keys are used by candles that the restoration deletes first.
    ///   - freedEqual: how many rows are equal to such candles.
    package mutating func addConflicts(_ count: Int, freed: Int, freedEqual: Int, in table: String) {
        freedCounts[table, default: (0, 0)].other += freed
        freedCounts[table, default: (0, 0)].equal += freedEqual
        guard count > freed else { return }
        tables[table, default: RestorableTable(table: table)].blockedCount += count - freed
    }

    package func add(to counts: inout [RestorableTable]) {
        for index in counts.indices {
            guard let found = tables[counts[index].table] else { continue }
            counts[index].restoredCandleCount = found.restoredCandleCount
            counts[index].deletedCandleCount = found.deletedCandleCount
            counts[index].changedCandleCount = found.changedCandleCount
            counts[index].blockedCount = found.blockedCount
        }
    }

    /// Subtracts rows whose keys become free from the conflicts and from the rows that are present.
    package func removeFreed(from counts: inout [RestorableTable]) {
        for index in counts.indices {
            guard let freed = freedCounts[counts[index].table] else { continue }
            counts[index].conflictCount -= freed.other
            counts[index].presentCount -= freed.equal
        }
    }
}
