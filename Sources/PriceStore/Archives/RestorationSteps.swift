/// Rows of a table of an archive that one transaction deleted, by their numbers in the archive.
package struct ArchivedRows: Hashable, Sendable {
    /// The table's index among the tables that are restored.
    package var table: Int
    package var rows: ClosedRange<Int64>

    package init(table: Int, rows: ClosedRange<Int64>) {
        self.table = table
        self.rows = rows
    }
}

/// What is restored together: rows of one table, rows of several tables that refer to each other, or references.
package struct RestorationStep: Hashable, Sendable {
    package var portions: [ArchivedRows]
    /// Whether all rows must be restored in one transaction: they refer to each other in a circle, or became candles.
    package var isWhole: Bool
    /// Whether the next step belongs to the same transaction: the candles that the rows became.
    package var joinsNext = false

    package var rowCount: Int { portions.reduce(0) { $0 + $1.rows.count } }
}

/// What a table of an archive holds.
package enum ArchivedKind: String, Sendable {
    /// Deleted rows.
    case rows
    /// Old and new values of references that were cleared.
    case references
    /// Old and new values of candles to which rows were added. If there was no candle, all old values are NULL.
    case candles
}

/// A table of an archive, as far as the order of a restoration depends on it.
package protocol RestorableSource {
    var kind: ArchivedKind { get }
    var table: String { get }
    /// The references of the store's table to other tables.
    var relationships: [Relationship] { get }
    /// The names of the triggers of the store's table that writing the rows, references or candles sets off.
    var triggers: [String] { get }
    /// The virtual tables that these triggers write.
    var indexes: [FollowingIndex] { get }
}

extension RestorableSource {
    package var holdsRows: Bool { kind == .rows }
    package var holdsCandles: Bool { kind == .candles }
    package var indexes: [FollowingIndex] { [] }
}

extension StoreError {
    /// The error for rows that became candles and cannot be restored; the reason is a clause.
    package static func candlesCannotBeRestored(
        _ table: String, _ reason: String, _ kind: Kind = .constraint, store: String
    ) -> StoreError {
        StoreError(
            kind, store: store, message: "rows that became candles of \(table) cannot be restored: \(reason)",
            hint: "nothing of this batch is changed")
    }
}

/// The order of a restoration: the last transaction of the run first, and in each transaction first the rows, parents before children, then
/// the references, and then the candles. Rows and the candles that they became are restored in one transaction.
package struct RestorationSteps {
    package let steps: [RestorationStep]
    /// The next step, and how many rows of its first portion are done.
    package var place = (step: 0, rows: Int64(0))

    /// Orders the rows of some transactions, which are given in the order of the run.
    package init(_ parts: [[ArchivedRows]], of tables: [some RestorableSource]) {
        var steps: [RestorationStep] = []
        // Most parts have the same tables, so each set of tables is ordered once.
        var orders: [Set<Int>: [(tables: [Int], isWhole: Bool)]] = [:]
        for part in parts.reversed() {
            let rows = Dictionary(firstOf: part.filter { tables[$0.table].holdsRows }.map { ($0.table, $0) })
            let numbers = Set(rows.keys)
            let order = orders[numbers] ?? Self.groups(of: numbers, tables)
            orders[numbers] = order
            let others = part.filter { !tables[$0.table].holdsRows }
            let candles = others.filter { tables[$0.table].holdsCandles }
            let first = steps.count
            for group in order {
                steps.append(RestorationStep(portions: group.tables.compactMap { rows[$0] }, isWhole: group.isWhole))
            }
            for portion in others.filter({ !tables[$0.table].holdsCandles }) + candles {
                steps.append(RestorationStep(portions: [portion], isWhole: false))
            }
            guard !candles.isEmpty else { continue }
            for index in first..<steps.count {
                steps[index].isWhole = true
                steps[index].joinsNext = index < steps.count - 1
            }
        }
        self.steps = steps
    }

    /// Whether a place is after the last step.
    package func isEnd(_ place: (step: Int, rows: Int64)) -> Bool { place.step >= steps.count }

    /// The steps, or pieces of steps, of the next transaction, and the place after them.
    package func next(rows: Int) -> (steps: [RestorationStep], place: (step: Int, rows: Int64)) {
        var batch: [RestorationStep] = []
        var next = place
        var room = Int64(max(1, rows))
        while next.step < steps.count {
            let step = steps[next.step]
            let isJoined = batch.last?.joinsNext ?? false
            guard room > 0 || isJoined else { break }
            if step.isWhole || step.portions.isEmpty {
                if !batch.isEmpty, !isJoined, step.rowCount > room { break }
                batch.append(step)
                room -= Int64(step.rowCount)
                next = (next.step + 1, 0)
                continue
            }
            var portion = step.portions[0]
            // What was deleted last is restored first.
            let last = portion.rows.upperBound - next.rows
            let first = max(portion.rows.lowerBound, last - room + 1)
            portion.rows = first...last
            batch.append(RestorationStep(portions: [portion], isWhole: false))
            room -= last - first + 1
            next =
                first == step.portions[0].rows.lowerBound
                ? (next.step + 1, 0) : (next.step, next.rows + (last - first + 1))
        }
        return (batch, next)
    }

    /// Groups the tables so that a row refers only to rows of its own group and of earlier ones.
    private static func groups(
        of numbers: Set<Int>, _ tables: [some RestorableSource]
    ) -> [(tables: [Int], isWhole: Bool)] {
        var groups: [(tables: [Int], isWhole: Bool)] = []
        var waiting = numbers.sorted()
        func parents(_ number: Int) -> Set<String> {
            Set(tables[number].relationships.map { $0.destination.folded })
        }
        while !waiting.isEmpty {
            let names = Set(waiting.map { tables[$0].table.folded })
            let free = waiting.filter { parents($0).isDisjoint(with: names) }
            guard !free.isEmpty else {
                groups.append((waiting, true))
                break
            }
            groups += free.map { ([$0], false) }
            waiting.removeAll(where: free.contains)
        }
        return groups
    }
}

extension [[ArchivedRows]] {
    /// The rows of a table in these parts, in as few ranges as possible.
    package func joinedRows(of table: Int) -> [ClosedRange<Int64>] {
        var ranges: [ClosedRange<Int64>] = []
        for rows in joined().filter({ $0.table == table }).map(\.rows).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = ranges.last, last.upperBound + 1 == rows.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound...rows.upperBound
            } else {
                ranges.append(rows)
            }
        }
        return ranges
    }

    /// The tables of the store with the numbers of their archived rows, by name.
    package func emptyCounts(of tables: [some RestorableSource]) -> [RestorableTable] {
        var counts: [RestorableTable] = []
        for (number, table) in tables.enumerated() {
            let index = counts.firstIndex { $0.table == table.table } ?? counts.count
            if index == counts.count { counts.append(RestorableTable(table: table.table)) }
            counts[index].triggers = Set(counts[index].triggers + table.triggers).sorted()
            counts[index].indexes += table.indexes.filter { !counts[index].indexes.contains($0) }
            guard table.holdsRows else { continue }
            counts[index].archivedCount += joinedRows(of: number).reduce(0) { $0 + $1.count }
        }
        return counts.sorted { $0.table < $1.table }
    }
}

extension RestorationPart {
    package var skippedCount: Int { tables.values.reduce(0) { $0 + $1.skippedCount } }

    package mutating func note(_ table: String, _ change: (inout RestoredTable) -> Void) {
        change(&tables[table, default: RestoredTable()])
    }
}
