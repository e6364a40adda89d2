import PriceStore

/// What a survey has counted, for as long as nobody else writes: then it need not be counted again.
///
/// A transaction that changes anything takes the server's next number. While every number since the survey's state of the
/// database is one of this session's own, all rows are as they were then, but for what this session did. One number of
/// anybody else's, in whatever database of the server, and the rows are counted again.
/// Source: PostgreSQL manual, "Transaction ID and Snapshot Information Functions".
struct KnownCounts: Hashable {
    /// The rows of a table that meet a condition.
    struct Rows: Hashable {
        let table: Int
        let predicate: StorePredicate
    }

    /// The number of the next transaction, of any session, that changes anything.
    var next: Int
    /// That number when this began: since then nobody else has written.
    var since: Int
    /// The rows of partitions, by the tables' numbers.
    var ofPartitions: [Int: Int] = [:]
    /// The rows that deletes find, of tables where a delete has no further effects.
    var ofDeletes: [Rows: Int] = [:]

    /// Notes how many rows a delete finds after a part of it, from what was known before that.
    mutating func note(
        _ deletedCount: Int, deletedFrom table: PostgresTable, _ request: DeleteWork, _ before: KnownCounts
    ) {
        let rows = Rows(table: table.number, predicate: request.fetchRequest.predicate)
        ofDeletes[rows] = before.ofDeletes[rows].map { $0 - deletedCount }
    }
}

extension PostgresConnection {
    /// Begins to know the counts of a state of the database, inside its transaction.
    func beginKnowing() throws {
        guard !options.isReadOnly else { return }
        guard let next = try quietNumber() else { return known = nil }
        if known?.next != next { known = KnownCounts(next: next, since: next) }
    }

    /// Notes how many rows the delete of a rule finds, if all that it does is to take them away.
    ///
    /// - Parameter guards: what happens for each row of a table that is divided.
    func note(_ rowCount: Int, _ rows: SurveyRows, _ guards: TableGuards?) throws {
        let table = rows.scope.table
        let deletion = KnownCounts.Rows(table: table.number, predicate: rows.request.expired)
        if known != nil, table.isHypertable {
            // TimescaleDB's own triggers delete nothing; how many rows of a compressed segment are deleted, only the server knows.
            guard rows.scope.isTable, guards?.dropObstacle == nil,
                try self.rows(TimescaleSQL.compressedChunks(table)).isEmpty
            else { return }
            known?.ofDeletes[deletion] = rowCount
            return
        }
        // Children may be foreign tables, whose rows change without a number of this server.
        guard known != nil, rows.scope.isTable, table.isSingle || table.isPartitioned, !table.isDistributed else {
            return
        }
        let number = SQLFragment.bound("\(table.number)", "regclass")
        // Triggers of all kinds, foreign keys among them, and rules may do more; row security may show others later.
        let hasEffects = try exists(
            "SELECT 1 FROM pg_class WHERE (oid = " + number + " OR oid IN (SELECT relid FROM pg_partition_tree("
                + number
                + "))) AND (relhastriggers OR relhasrules OR relrowsecurity) LIMIT 1")
        guard !hasEffects else { return }
        known?.ofDeletes[deletion] = rowCount
    }

    /// The number of rows that a request finds, if it is known and still holds.
    func knownCount(_ table: PostgresTable, _ predicate: StorePredicate) throws -> Int? {
        guard transactionDepth == 0, let known,
            let count = known.ofDeletes[.init(table: table.number, predicate: predicate)]
        else { return nil }
        return try quietNumber() == known.next ? count : nil
    }

    /// The number of rows of partitions, if it is known and still holds. Inside a batch, when they are locked.
    func knownCount(_ leaves: [Leaf], _ known: KnownCounts?) throws -> Int? {
        guard let known, let own = self.known.map({ $0.next - 1 }), try quietNumber() == own else { return nil }
        let counts = leaves.compactMap { known.ofPartitions[$0.number] }
        return counts.count == leaves.count ? counts.reduce(0, +) : nil
    }

    /// Follows what a batch of this session did: with its number the counts are over, unless the batch says how they are
    /// now.
    func takeNumber(_ number: Int?) {
        known = known.flatMap { $0.next == number ? KnownCounts(next: $0.next + 1, since: $0.since) : nil }
    }

    /// Follows the two numbers that each detached partition took: its row in the catalog bears the second one.
    func takeNumbers(ofDetached leaves: [Leaf]) throws {
        guard let first = known?.next, let since = known?.since else { return }
        let rows = try rows(
            "SELECT oid::int8, xmin::text FROM pg_class WHERE oid = ANY (" + .tables(leaves.map(\.number)) + ")")
        let taken = Dictionary(
            rows.compactMap { row in row[0].flatMap { Int($0) }.map { ($0, row[1].flatMap { Int($0) }) } },
            uniquingKeysWith: { first, _ in first })
        // What the catalog bears are the lower 32 bits.
        let areOurs = leaves.enumerated().allSatisfy { taken[$1.number] == (first + 2 * $0 + 1) & 0xFFFF_FFFF }
        known = areOurs ? KnownCounts(next: first + 2 * leaves.count, since: since) : nil
    }

    /// Whether nobody else has written since the last survey, as far as the current transaction sees. It may have taken its own
    /// number already.
    func isAsKnown() throws -> Bool {
        guard let next = known?.next, let quiet = try quietNumber() else { return false }
        return quiet == next || quiet == next - 1
    }

    /// Where the numbers of the state of the database begin that a statement sees; nil: transactions are at work whose
    /// changes it does not see.
    private func quietNumber() throws -> Int? {
        let row =
            try execute(
                SQLFragment("SELECT pg_snapshot_xmin(s), pg_snapshot_xmax(s) FROM pg_current_snapshot() AS s"),
                isRepeated: true
            ).rows.first ?? []
        return row.first == row.last ? row.first?.flatMap { Int($0) } : nil
    }
}
