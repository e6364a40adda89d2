/// Restores the rows of an archive, one transaction after the other; see docs/undo.md. It is the same for all engines.
///
/// One statement inserts the rows of each table where that is possible. If it fails, the rows are compared with the store. If that is not
/// enough, they are inserted one by one.
package final class ArchiveRestoration<Work: RestorationWork>: Restoration {
    package let rules: [String]
    package let tables: [RestorableTable]
    package var mayDiffer: Bool { work.mayDiffer }
    private let work: Work
    private let candles: CandleStates
    private var steps: RestorationSteps
    /// The rows that were not restored, by table number.
    private var skipped: [Int: Set<Int64>] = [:]

    /// Makes the restoration of some transactions, in the order of the run.
    package init(_ work: Work, rules: [String], parts: [[ArchivedRows]], candles: CandleStates) {
        (self.work, self.rules, self.candles) = (work, rules, candles)
        steps = RestorationSteps(parts, of: work.tables)
        var tables = parts.emptyCounts(of: work.tables)
        candles.add(to: &tables)
        self.tables = tables
    }

    package func restoreNext(rows: Int) throws(StoreError) -> RestorationPart {
        let (batch, next) = steps.next(rows: rows)
        let before = skipped
        var part = RestorationPart()
        do {
            // The archive may be removed after the undo, so the last transaction must be on disk.
            let triggered = try work.transaction(isLast: steps.isEnd(next)) {
                // An engine may run this again after a lost connection.
                part = RestorationPart()
                skipped = before
                try carryOut(batch, &part)
            }
            part.byTriggers = triggered.filter { !$1.isEmpty }
        } catch {
            skipped = before
            throw error
        }
        steps.place = next
        part.hasMore = !steps.isEnd(next)
        return part
    }

    /// Carries out the steps of a transaction. Candles are restored only if no row that became one of them was skipped.
    private func carryOut(_ batch: [RestorationStep], _ part: inout RestorationPart) throws {
        var before = part.skippedCount
        for step in batch {
            if let portion = step.portions.first, work.tables[portion.table].holdsCandles {
                guard part.skippedCount == before else {
                    throw StoreError.candlesCannotBeRestored(
                        name(portion.table), part.skipped.last?.reason ?? "rows that became candles were skipped",
                        store: work.storeName)
                }
                // Candles of transactions that are already undone are not touched.
                if !candles.isUndone(portion) { try restoreCandles(portion, &part) }
            } else if let portion = step.portions.first, !work.tables[portion.table].holdsRows {
                try restoreReferences(portion, &part)
            } else {
                try restoreRows(step.portions, &part)
            }
            if !step.joinsNext { before = part.skippedCount }
        }
    }

    private func name(_ table: Int) -> String { work.tables[table].table }

    private func restoreRows(_ portions: [ArchivedRows], _ part: inout RestorationPart) throws {
        var rows = portions.map(RowsToRestore.init)
        let mustCompare = try portions.contains { portion in
            // A row whose parent was skipped would belong to the row that uses the parent's key now.
            let hasSkippedParents = work.tables[portion.table].relationships.contains {
                !work.parents($0, in: skipped).isEmpty
            }
            return try hasSkippedParents || work.mustCompare(portion)
        }
        if try mustCompare || !work.insert(rows) {
            try compare(&rows, &part)
            if try !work.insert(rows) { try insertEach(&rows, &part) }
        }
        for portion in rows {
            part.note(name(portion.table)) { $0.restoredCount += portion.count }
            try work.noteRestored(portion)
        }
    }

    // MARK: Compared with the store

    /// Leaves out the rows that the store already has, the rows whose key another row uses, and the children of the latter.
    private func compare(_ portions: inout [RowsToRestore], _ part: inout RestorationPart) throws {
        for index in portions.indices {
            let (table, rows) = (portions[index].table, portions[index].rows)
            let found = try work.find(ArchivedRows(table: table, rows: rows))
            portions[index].leftOut.formUnion(found.present)
            if !found.present.isEmpty { part.note(name(table)) { $0.presentCount += found.present.count } }
            for row in found.conflicts.sorted() {
                try skip(row, "the store has another row with its key", &portions[index], &part)
            }
        }
        try skipChildren(&portions, &part)
    }

    /// Skips the rows whose parents were skipped, and their children.
    private func skipChildren(_ portions: inout [RowsToRestore], _ part: inout RestorationPart) throws {
        let tables = portions.map(\.table)
        try work.skipChildren(&portions, of: &skipped) { portion, row, parent in
            try tell(row, of: tables[portion], "its row of \(name(parent)) was not restored", &part)
        }
    }

    private func skip(
        _ row: Int64, _ reason: String, _ rows: inout RowsToRestore, _ part: inout RestorationPart
    ) throws {
        rows.leftOut.insert(row)
        skipped[rows.table, default: []].insert(row)
        try work.noteSkipped(row, of: rows.table)
        try tell(row, of: rows.table, reason, &part)
    }

    private func tell(_ row: Int64, of table: Int, _ reason: String, _ part: inout RestorationPart) throws {
        part.note(name(table)) { $0.skippedCount += 1 }
        try list(row, of: table, reason, &part)
    }

    private func list(_ row: Int64, of table: Int, _ reason: String, _ part: inout RestorationPart) throws {
        guard part.skipped.count < 100 else { return }
        part.skipped.append(SkippedRow(table: name(table), key: try work.key(of: row, in: table), reason: reason))
    }

    // MARK: Row by row

    private typealias Refused = (portion: Int, row: Int64, refusal: RowRefusal)

    /// Inserts the remaining rows one by one and skips those that the store refuses.
    ///
    /// A child may be inserted before its parent is refused; it would then belong to the row that has the parent's key. So an attempt with
    /// a refused row is rolled back, and the next attempt leaves out that row and its children.
    private func insertEach(_ portions: inout [RowsToRestore], _ part: inout RestorationPart) throws {
        while true {
            var refused: [Refused] = []
            let isInserted = try work.attempt {
                refused = try insertLeft(portions)
                return refused.isEmpty
            }
            if isInserted { return }
            let others = refused.filter { !$0.refusal.lacksRow }
            // Rows that refer to each other are inserted together.
            if try others.isEmpty && work.insert(portions) { return }
            for row in others.isEmpty ? refused : others {
                try skip(row.row, row.refusal.reason, &portions[row.portion], &part)
            }
            try skipChildren(&portions, &part)
        }
    }

    /// Inserts the remaining rows one by one until another pass no longer helps, and returns the refused ones.
    private func insertLeft(_ portions: [RowsToRestore]) throws -> [Refused] {
        var waiting = portions.indices.flatMap { index in
            // The rows deleted last are restored first.
            portions[index].rows.reversed().filter { !portions[index].leftOut.contains($0) }.map { (index, $0) }
        }
        while true {
            var refused: [Refused] = []
            for (portion, row) in waiting {
                guard let refusal = try work.insert(row, of: portions[portion].table) else { continue }
                refused.append((portion, row, refusal))
            }
            // A row may wait for its parent, which comes later in the pass.
            guard refused.contains(where: \.refusal.mayPass), refused.count < waiting.count else { return refused }
            waiting = refused.map { ($0.portion, $0.row) }
        }
    }

    // MARK: References and candles

    private func restoreReferences(_ portion: ArchivedRows, _ part: inout RestorationPart) throws {
        let found = try work.restoreReferences(portion, skipped: skipped)
        part.note(name(portion.table)) {
            $0.referenceCount += found.changedCount
            $0.skippedReferenceCount += found.obstacles.count
        }
        for (row, obstacle) in found.obstacles.sorted(by: { $0.key < $1.key }) {
            try list(row, of: portion.table, "its reference is not restored: \(obstacle)", &part)
        }
    }

    private func restoreCandles(_ portion: ArchivedRows, _ part: inout RestorationPart) throws {
        guard let found = try work.restoreCandles(portion) else {
            throw StoreError.candlesCannotBeRestored(
                name(portion.table), "one of them was changed during the undo, or exists more than once",
                store: work.storeName)
        }
        // A candle that an earlier transaction of the run also changed is counted there.
        let repeated = candles.repeated[portion.table] ?? []
        part.note(name(portion.table)) {
            $0.restoredCandleCount += found.restored.count { !repeated.contains($0) }
            $0.deletedCandleCount += found.deleted.count { !repeated.contains($0) }
        }
    }
}
