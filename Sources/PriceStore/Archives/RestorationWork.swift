/// The rows of a table to restore: those of a range, except some.
package struct RowsToRestore: Hashable, Sendable {
    /// The table's index among the tables that are restored.
    package let table: Int
    package let rows: ClosedRange<Int64>
    /// Rows that the store has, and rows that are skipped.
    package var leftOut: Set<Int64> = []

    package init(_ portion: ArchivedRows) { (table, rows) = (portion.table, portion.rows) }

    package var count: Int { rows.count - leftOut.count }

    /// The rows to insert, in as few ranges as possible.
    package var ranges: [ClosedRange<Int64>] {
        guard !leftOut.isEmpty else { return [rows] }
        return rows.ranges { !leftOut.contains($0) }
    }
}

extension ClosedRange<Int64> {
    /// The numbers of the range that meet a condition, in as few ranges as possible.
    package func ranges(where isMet: (Int64) -> Bool) -> [ClosedRange<Int64>] {
        var found: [ClosedRange<Int64>] = []
        for number in self where isMet(number) {
            if let last = found.last, last.upperBound + 1 == number {
                found[found.count - 1] = last.lowerBound...number
            } else {
                found.append(number...number)
            }
        }
        return found
    }
}

/// Why the store does not take a row.
package struct RowRefusal: Hashable, Sendable {
    package var reason: String
    /// Whether the row refers to one that is not in the store, and can be inserted together with it.
    package var lacksRow = false
    /// Whether the store may take the row once other rows are there.
    package var mayPass = false

    package init(_ reason: String, lacksRow: Bool = false, mayPass: Bool = false) {
        (self.reason, self.lacksRow, self.mayPass) = (reason, lacksRow, mayPass)
    }

    package static let isIgnored = RowRefusal("a trigger ignores it")
    package static let lacksParent = RowRefusal(
        "a row that it refers to is not in the store", lacksRow: true, mayPass: true)
}

/// The rows of a table whose references were restored, and why those of others stay cleared, as a clause, by the row's number.
package typealias RestoredReferences = (changedCount: Int, obstacles: [Int64: String])

/// How an engine finds the children of archived rows, for an undo and for its dry run. Rows are known by their numbers in the archive.
package protocol ArchiveSearch {
    associatedtype Table: RestorableSource

    var tables: [Table] { get }

    /// Finds the rows that refer to some rows of another table of the archive.
    func children(
        _ rows: RowsToRestore, by relationship: Relationship, of parent: Int, _ parents: Set<Int64>
    ) throws -> [Int64]

    /// Records that a row is skipped, for engines that need this in SQL.
    func noteSkipped(_ row: Int64, of table: Int) throws
}

extension ArchiveSearch {
    package func noteSkipped(_ row: Int64, of table: Int) throws {}

    /// The tables of the archive with skipped rows that a relationship refers to.
    package func parents(_ relationship: Relationship, in skipped: [Int: Set<Int64>]) -> [Int] {
        skipped.keys.sorted().filter { tables[$0].table.folded == relationship.destination.folded }
    }

    /// Skips the rows whose parents are skipped, and their children.
    ///
    /// - Parameter body: receives the index of each row's portion, the row, and the number of its parent's table.
    package func skipChildren(
        _ portions: inout [RowsToRestore], of skipped: inout [Int: Set<Int64>],
        _ body: (_ portion: Int, _ row: Int64, _ parent: Int) throws -> Void
    ) throws {
        var hasFound = true
        while hasFound {
            hasFound = false
            for index in portions.indices {
                let table = portions[index].table
                for relationship in tables[table].relationships {
                    for parent in parents(relationship, in: skipped) {
                        let rows = try children(
                            portions[index], by: relationship, of: parent, skipped[parent] ?? [])
                        for row in rows {
                            portions[index].leftOut.insert(row)
                            skipped[table, default: []].insert(row)
                            try noteSkipped(row, of: table)
                            try body(index, row, parent)
                        }
                        hasFound = hasFound || !rows.isEmpty
                    }
                }
            }
        }
    }

    /// Counts the rows that an undo skips because it skips their parents.
    ///
    /// - Parameters:
    ///   - conflicts: the rows whose keys other rows use, by table number.
    ///   - find: finds the rows of a range that the store has, or whose keys other rows use.
    package func countChildren(
        of conflicts: [Int: Set<Int64>], in parts: [[ArchivedRows]], _ counts: inout [RestorableTable],
        find: (ArchivedRows) throws -> Set<Int64>
    ) throws {
        var skipped = conflicts.filter { !$1.isEmpty }
        guard !skipped.isEmpty else { return }
        for (table, rows) in skipped { for row in rows { try noteSkipped(row, of: table) } }
        var portions: [RowsToRestore] = []
        for table in tables.indices where tables[table].holdsRows {
            for rows in parts.joinedRows(of: table) {
                let portion = ArchivedRows(table: table, rows: rows)
                portions.append(RowsToRestore(portion))
                portions[portions.count - 1].leftOut = try find(portion)
            }
        }
        let names = portions.map { tables[$0.table].table }
        try skipChildren(&portions, of: &skipped) { portion, _, _ in
            guard let index = counts.firstIndex(where: { $0.table == names[portion] }) else { return }
            counts[index].conflictCount += 1
        }
    }
}

/// What an engine does for an ``ArchiveRestoration``.
package protocol RestorationWork: AnyObject, ArchiveSearch {
    var storeName: String { get }
    /// Whether restored rows can differ from the archived ones.
    var mayDiffer: Bool { get }

    /// Carries out work in one transaction. The engine may run the work again.
    ///
    /// - Parameter isLast: whether this is the last transaction, which must be on disk when it ends.
    /// - Returns: the rows that triggers of the store have written, by the name of their table.
    func transaction(isLast: Bool, _ body: () throws -> Void) throws(StoreError) -> [String: TriggeredRows]

    /// Carries out work, and rolls it back if it returns false.
    func attempt(_ body: () throws -> Bool) throws -> Bool

    /// Whether rows must be compared with the store before they are inserted.
    func mustCompare(_ rows: ArchivedRows) throws -> Bool

    /// Finds the rows that the store has, equal in every value, and the rows whose key another row uses.
    func find(_ rows: ArchivedRows) throws -> (present: Set<Int64>, conflicts: Set<Int64>)

    /// Inserts rows that may refer to each other. If one cannot be inserted, none is, and the result is false.
    func insert(_ rows: [RowsToRestore]) throws -> Bool

    func insert(_ row: Int64, of table: Int) throws -> RowRefusal?

    /// Records that rows were restored, for engines that cannot tell them from equal ones.
    func noteRestored(_ rows: RowsToRestore) throws

    func key(of row: Int64, in table: Int) throws -> [StoreValue]

    /// Gives cleared references their old values, unless they were changed since or a row that they need was skipped.
    func restoreReferences(_ rows: ArchivedRows, skipped: [Int: Set<Int64>]) throws -> RestoredReferences

    /// Gives candles their old values, and deletes those that the run made.
    ///
    /// - Returns: the candles; nil: one of them is not as the run left it.
    func restoreCandles(_ rows: ArchivedRows) throws -> (restored: [Int64], deleted: [Int64])?
}

extension RestorationWork {
    package func noteRestored(_ rows: RowsToRestore) throws {}
}
