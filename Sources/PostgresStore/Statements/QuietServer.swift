/// Since when nobody else has written: what was found then still holds, but for what this session did.
///
/// A transaction that changes anything takes the server's next `xid`. While every `xid` since a state of the database is
/// one of this session's own, all rows are as they were then, but for what this session did. One `xid` of anybody else's,
/// in whatever database of the server, ends that.
/// Source: PostgreSQL manual, "Transaction ID and Snapshot Information Functions".
struct QuietServer: Hashable {
    /// The `xid` of the next transaction, of any session, that changes anything.
    var next: Int
    /// That `xid` when this began.
    var since: Int
}

extension PostgresConnection {
    /// Begins at a state of the database, inside its transaction.
    func beginQuiet() throws {
        guard !options.isReadOnly else { return }
        guard let next = try nextXID() else { return quiet = nil }
        if quiet?.next != next { quiet = QuietServer(next: next, since: next) }
    }

    /// Follows the `xid` that a batch of this session has taken.
    func takeXID(_ xid: Int?) {
        quiet = quiet.flatMap { $0.next == xid ? QuietServer(next: $0.next + 1, since: $0.since) : nil }
    }

    /// Whether nobody else has written since the last survey, as far as the current transaction sees. It may have taken its own
    /// `xid` already.
    func isQuiet() throws -> Bool {
        guard let next = quiet?.next, let xid = try nextXID() else { return false }
        return xid == next || xid == next - 1
    }

    /// The first `xid` that is not in the state of the database that a statement sees; nil: transactions are at work whose
    /// changes it does not see.
    private func nextXID() throws -> Int? {
        let snapshot = "pg_current_snapshot() AS s WHERE pg_snapshot_xmin(s) = pg_snapshot_xmax(s)"
        return try row(SQLFragment("SELECT pg_snapshot_xmax(s) AS next FROM \(snapshot)"), isRepeated: true)?.int(
            "next")
    }
}
