package import PriceStore

/// The work of an ``ArchiveRestoration`` in PostgreSQL.
final class PostgresRestoration: ServerArchiveSearch, RestorationWork {
    private let writer: PostgresWriter
    /// The error that refused the last attempt; nil if there was none.
    private var failure: ServerFault?

    var storeName: String { writer.name }
    var mayDiffer: Bool { tables.contains { !$0.triggers.isEmpty } }
    private var isDistributed: Bool { tables.contains(where: \.target.isDistributed) }

    init(_ archive: ServerArchive, _ writer: PostgresWriter) {
        self.writer = writer
        super.init(archive, writer)
    }

    func transaction(isLast: Bool, _ body: () throws -> Void) throws(StoreError) -> [String: TriggeredRows] {
        try writer.batch("restoring rows") {
            // After a crash of the server nobody would restore this batch again.
            try writer.execute("SET LOCAL synchronous_commit = on")
            // A row must be refused when it is inserted, not at the end.
            try writer.execute("SET CONSTRAINTS ALL IMMEDIATE")
            try body()
            // If the type of a column has changed, the server would convert values to it.
            try writer.requireSchema(
                of: archive.tables.map(\.target), since: "the undo began: nothing of this batch is restored")
        }
        // On a server, the writes of triggers are not counted.
        return [:]
    }

    // MARK: Compared with the store

    func mustCompare(_ rows: ArchivedRows) throws -> Bool {
        let table = archive.tables[rows.table]
        // The error of a worker does not say that it refuses a row, so the keys are checked first.
        return try isDistributed || table.key.isEmpty && restored(to: table).contains(where: rows.rows.contains)
    }

    func key(of row: Int64, in number: Int) throws -> [StoreValue] {
        let table = archive.tables[number]
        guard !table.key.isEmpty else { return [.integer(row)] }
        return try writer.onlyRow(
            "SELECT \(table.archivedKey.joined(separator: ", ")) FROM \(table.source) AS a WHERE "
                + table.isIn(row...row)
        ).values(at: table.key.indices)
    }

    func noteRestored(_ rows: RowsToRestore) throws {
        let table = archive.tables[rows.table]
        guard table.key.isEmpty else { return }
        for range in rows.ranges {
            try writer.execute(
                "INSERT INTO \(archive.place.table("retention_restored")) VALUES (" + .bound(archive.run, "text")
                    + ", \(table.number), \(range.lowerBound), \(range.upperBound)) ON CONFLICT (run, table_number, first_row) "
                    + "DO UPDATE SET last_row = greatest(retention_restored.last_row, excluded.last_row)")
        }
    }

    // MARK: Inserted

    func insert(_ rows: [RowsToRestore]) throws -> Bool {
        let insertions = rows.map {
            archive.tables[$0.table].insertion($0.rows, besides: $0.leftOut.sorted(), isPart: rows.count > 1)
        }
        let expected = rows.reduce(0) { $0 + $1.count }
        return try attempt {
            guard insertions.count > 1 else { return try writer.execute(insertions[0]).changedCount == expected }
            // Keys are checked at the end of the statement, when all rows of a circle exist.
            let parts = insertions.enumerated().map { "inserted_\($0) AS (" + $1 + ")" }
            let counts = insertions.indices.map { "(SELECT count(*) FROM inserted_\($0))" }
            return try writer.count("WITH " + .joined(parts, by: ", ") + " SELECT \(counts.joined(separator: " + "))")
                == expected
        }
    }

    func insert(_ row: Int64, of number: Int) throws -> RowRefusal? {
        let insertion = archive.tables[number].insertion(row...row)
        return try attempt { try writer.execute(insertion).changedCount == 1 }
            ? nil : failure?.refusal ?? .isIgnored
    }

    func attempt(_ body: () throws -> Bool) throws -> Bool {
        struct IsUndone: Error {}
        failure = nil
        do {
            try writer.transaction(.normal) {
                do {
                    guard try body() else { throw IsUndone() }
                } catch let fault as ServerFault where fault.isAboutRow || isDistributed && fault.isOfWorker {
                    failure = fault
                    throw IsUndone()
                }
            }
            return true
        } catch is IsUndone {
            return false
        }
    }

    // MARK: References

    func restoreReferences(_ portion: ArchivedRows, skipped: [Int: Set<Int64>]) throws -> RestoredReferences {
        let table = archive.tables[portion.table]
        let isOwnRowSkipped = isOwnRowSkipped(table, skipped)
        var changed: Set<Int> = []
        var restored: RestoredReferences = (0, [:])
        for update in table.referenceUpdates {
            let isBlocked = refersToSkipped(table, update, skipped)
            func restore(_ rows: ClosedRange<Int64>) throws -> Bool {
                var found: [Int] = []
                let isDone = try attempt {
                    found = try writer.numbers(
                        table.update(update, rows, unless: .any([isOwnRowSkipped, isBlocked])))
                    return true
                }
                if isDone { changed.formUnion(found) }
                return isDone
            }
            if try !restore(portion.rows) {
                for row in portion.rows where try !restore(row...row) {
                    restored.obstacles[row] = failure?.refusal.reason
                }
            }
            let left = try writer.rows(table.left(update, portion.rows, isBlocked: isBlocked, unless: isOwnRowSkipped))
            for row in left {
                restored.obstacles[Int64(try row.int("number"))] =
                    try row.isTrue("is_missing")
                    ? "its row is not in the store" : "the row that it refers to was not restored"
            }
        }
        restored.changedCount = changed.count
        return restored
    }

    private func isOwnRowSkipped(_ table: RestorationTable, _ skipped: [Int: Set<Int64>]) -> SQLFragment {
        .any(
            skipped.compactMap { number, left in
                let rows = archive.tables[number]
                guard rows.holdsRows, rows.target.oid == table.target.oid else { return nil }
                return
                    "EXISTS (SELECT 1 FROM \(rows.source) AS s WHERE \(table.isOwnRow(of: rows)) AND s.\(rows.rowNumber) = ANY ("
                    + .list(left, "int8") + "))"
            })
    }

    private func refersToSkipped(
        _ table: RestorationTable, _ update: RestorationTable.ReferenceUpdate, _ skipped: [Int: Set<Int64>]
    ) -> SQLFragment {
        guard let relationship = update.relationship,
            relationship.sourceAttributes.allSatisfy(table.columns.contains)
        else { return .never }
        let old = relationship.sourceAttributes.map { table.reference($0, "old") }
        return .any(
            skipped.filter { tables[$0.key].table.folded == relationship.destination.folded }.map {
                isAmong(old, relationship, $0.key, $0.value)
            })
    }

    // MARK: Candles

    func restoreCandles(_ rows: ArchivedRows) throws -> (restored: [Int64], deleted: [Int64])? {
        let table = archive.tables[rows.table]
        func change(_ statement: SQLFragment) throws -> [Int64] {
            try writer.numbers(statement).map { Int64($0) }
        }
        let deleted = try table.candleDeletes(rows.rows).flatMap(change)
        let restored = try table.candleUpdates(rows.rows).flatMap(change)
        let count = try writer.count(table.candleCount(rows.rows))
        return deleted.count + restored.count == count ? (restored, deleted) : nil
    }
}

extension ServerFault {
    /// Whether the error refuses a row, so that other rows may still be restored. A trigger may choose any SQLSTATE. So only errors about
    /// the connection, resources, locks, privileges of the session and the statement itself are not about a row.
    fileprivate var isAboutRow: Bool {
        guard let code, !isConnectionLost else { return false }
        return code == "42501"
            || !["08", "0A", "25", "26", "28", "34", "3B", "3D", "40", "42", "53", "54", "55", "57", "58", "F0", "XX"]
                .contains(code.prefix(2))
    }

    /// Whether a worker refused a row. The coordinator reports that as an internal error.
    fileprivate var isOfWorker: Bool { code == "XX000" && !isConnectionLost && !message.contains("connection") }

    /// Why a row is refused. A later attempt may succeed when other rows exist, unless the row's values are the reason.
    fileprivate var refusal: RowRefusal {
        code == "23503"
            ? .lacksParent
            : RowRefusal("the store refuses it: \(message)", mayPass: !["22", "23"].contains(code?.prefix(2)))
    }
}

extension PostgresDatabase {
    /// Compares each table of an archive with the store.
    package func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable] {
        try run("comparing the archive with the store") {
            try ServerArchive(request, self).counts(self)
        }
    }
}

extension PostgresWriter {
    /// The restoration of what a run deleted.
    package func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration {
        try run("reading the archive") {
            let work = PostgresRestoration(try ServerArchive(request, self), self)
            return try ArchiveRestoration(
                work, rules: work.archive.rules, parts: work.archive.parts, candles: CandleStates(work))
        }
    }
}
