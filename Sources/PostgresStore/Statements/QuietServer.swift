/// Since when nobody else has written: what was found then still holds, but for what this session did.
///
/// A transaction that changes anything takes the server's next number. While every number since a state of the database is
/// one of this session's own, all rows are as they were then, but for what this session did. One number of anybody else's,
/// in whatever database of the server, ends that.
/// Source: PostgreSQL manual, "Transaction ID and Snapshot Information Functions".
struct QuietServer: Hashable {
    /// The number of the next transaction, of any session, that changes anything.
    var next: Int
    /// That number when this began.
    var since: Int
}

extension PostgresConnection {
    /// Begins at a state of the database, inside its transaction.
    func beginQuiet() throws {
        guard !options.isReadOnly else { return }
        guard let next = try quietNumber() else { return quiet = nil }
        if quiet?.next != next { quiet = QuietServer(next: next, since: next) }
    }

    /// Follows the number that a batch of this session has taken.
    func takeNumber(_ number: Int?) {
        quiet = quiet.flatMap { $0.next == number ? QuietServer(next: $0.next + 1, since: $0.since) : nil }
    }

    /// Whether nobody else has written since the last survey, as far as the current transaction sees. It may have taken its own
    /// number already.
    func isQuiet() throws -> Bool {
        guard let next = quiet?.next, let number = try quietNumber() else { return false }
        return number == next || number == next - 1
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
