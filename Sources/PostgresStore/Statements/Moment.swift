import PriceStore

/// When something was found in the database.
struct Moment: Hashable {
    /// The state of the database, as the server names it.
    var state: String?
    /// Since when nobody else had written; nil: somebody may write.
    var quietSince: Int?
    /// The batches of this session before it.
    var batchCount: Int
}

/// The batches of a session that may have changed rows, by the tables that they reach.
struct OwnChanges {
    var batchCount = 0
    /// The last batch of each table.
    fileprivate var last: [Int: (table: PostgresTable, batch: Int)] = [:]
    /// The last batch after which triggers may have changed any table.
    fileprivate var lastOfAny = 0
}

extension PostgresConnection {
    /// The moment of the next statement, or of the current transaction if it sees one state.
    func moment() throws -> Moment {
        let state = try texts(SQLFragment("SELECT pg_current_snapshot()")).first
        return Moment(state: state, quietSince: try isQuiet() ? quiet?.since : nil, batchCount: ownChanges.batchCount)
    }

    /// Whether what was found at a moment still holds, apart from what batches of this session have changed since.
    func isCurrent(_ found: Moment, _ now: Moment) -> Bool {
        found.state == now.state || found.quietSince != nil && found.quietSince == now.quietSince
    }

    /// Notes what a batch may change.
    func noteBatch(on tables: [PostgresTable], firesTriggers: Bool) {
        ownChanges.batchCount += 1
        for table in tables { ownChanges.last[table.oid] = (table, ownChanges.batchCount) }
        if firesTriggers { ownChanges.lastOfAny = ownChanges.batchCount }
    }

    /// Forgets the rows that rules keep of a table if batches may have changed rows of it since they were found: a cascade, a trigger
    /// or another rule may have deleted some.
    func forgetChangedRows(of table: PostgresTable) throws {
        let changes = try ownChanges.last.values.filter {
            if case .none = try kinship(of: $0.table, to: table) { false } else { true }
        }
        let last = max(ownChanges.lastOfAny, changes.map(\.batch).max() ?? 0)
        keptRows = keptRows.filter { $0.key.table != table.oid || $0.value.moment.batchCount >= last }
        thinnedRows = thinnedRows.filter { $0.key.table != table.oid || $0.value.moment.batchCount >= last }
    }
}
