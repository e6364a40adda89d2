import PriceStore

/// Partitions between their detaching and their drop. A mark, the comment of the table, says what to do with one that a
/// run left behind: its rows are not deleted, so that it is attached again.
extension PostgresConnection {
    /// What marks a partition that is to be detached and dropped. Its own number is in it, so that a copy of the database
    /// made from a dump, with other numbers, has no valid mark. The parent's number and the bounds follow it.
    private static func mark(_ number: Int, of table: PostgresTable) -> String {
        "retention: expired partition \(number) of \(table.number), "
    }

    /// Detaches partitions and returns those that are. Nobody sees their rows any more.
    func detach(_ leaves: [Leaf], of table: PostgresTable) throws -> [Leaf] {
        try batch("marking partitions of \(table.name)", isExclusive: true) {
            // Who uses them now would be waited for when they are detached already.
            try execute("LOCK TABLE \(leaves.map(\.sql).joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
            try execute(
                script: leaves.map {
                    let mark = Self.mark($0.number, of: table) + "\($0.parentNumber) \($0.bounds)"
                    return "COMMENT ON TABLE \($0.sql) IS \(mark.quotedLiteral)"
                })
        }
        var detached: [Leaf] = []
        for leaf in leaves {
            guard let parent = leaf.parent else { continue }
            do {
                try execute("ALTER TABLE \(parent) DETACH PARTITION \(leaf.sql) CONCURRENTLY")
                detached.append(leaf)
            } catch let fault as ServerFault where !fault.isConnectionLost && !detached.isEmpty {
                // What is detached is dropped; the next batch has the same trouble and reports it.
                break
            }
        }
        try takeNumbers(ofDetached: detached)
        return detached
    }

    /// Attaches a detached partition again, inside a transaction. Its bounds are still its constraint, so that its rows need
    /// not be looked at.
    func attach(_ leaf: Leaf) throws {
        guard let parent = leaf.parent, let bounds = PartitionBounds(leaf.bounds) else { return }
        try execute("ALTER TABLE \(parent) ATTACH PARTITION \(leaf.sql) \(bounds.clause)")
        try execute("COMMENT ON TABLE \(leaf.sql) IS NULL")
    }

    /// Attaches the partitions again that a run has detached, or begun to detach, and not dropped; takes the mark off those
    /// that are still attached.
    func attachAgain(of table: PostgresTable) throws {
        for leaf in try markedPartitions(of: table) {
            if leaf.state == .pending, let parent = leaf.leaf.parent {
                try execute("ALTER TABLE \(parent) DETACH PARTITION \(leaf.leaf.sql) FINALIZE")
            }
            do {
                try batch("attaching \(leaf.leaf.name) again", isExclusive: true) {
                    if leaf.state == .attached {
                        try execute("COMMENT ON TABLE \(leaf.leaf.sql) IS NULL")
                    } else {
                        try attach(leaf.leaf)
                    }
                }
            } catch {
                throw leaf.state == .attached || error.kind == .unreachable
                    ? error : Self.notAttached(leaf.leaf, table, error)
            }
        }
    }

    private static func notAttached(_ leaf: Leaf, _ table: PostgresTable, _ error: StoreError) -> StoreError {
        StoreError(
            error.kind, store: error.store,
            message: "\(leaf.name), which an earlier run has detached, cannot be attached to \(table.name) again: "
                + error.message, engineCode: error.engineCode,
            hint: "its rows are still there: attach it to \(table.name) or drop it")
    }

    /// The tables that a run has detached, whose rows are no longer visible in their table.
    func abandonedPartitions(of table: PostgresTable) throws -> [Leaf] {
        try markedPartitions(of: table).filter { $0.state != .attached }.map(\.leaf)
    }

    /// How far a marked partition has come.
    private enum DetachState: String {
        case attached
        case pending
        case detached
    }

    private func markedPartitions(of table: PostgresTable) throws -> [(leaf: Leaf, state: DetachState)] {
        let marked = try rows(
            """
            SELECT c.oid::int8, n.nspname, c.relname, d.description,
                CASE WHEN i.inhrelid IS NULL THEN 'detached' WHEN i.inhdetachpending THEN 'pending' ELSE 'attached' END
            FROM pg_description d JOIN pg_class c ON c.oid = d.objoid JOIN pg_namespace n ON n.oid = c.relnamespace
            LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
            WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND c.relkind = 'r' AND pg_has_role(c.relowner, 'USAGE')
            AND starts_with(d.description, 'retention: expired partition ' || c.oid || ' of ' ||
            """ + SQLFragment(" ") + .bound("\(table.number)", "text") + " || ', ') ORDER BY c.oid")
        guard !marked.isEmpty else { return [] }
        let parents = try parents(in: table)
        return marked.compactMap { row in
            guard let number = row[0].flatMap({ Int($0) }), let state = row[4].flatMap(DetachState.init) else {
                return nil
            }
            // Any owner of the table can write the comment: only numbers and bounds are read from it.
            let words = (row[3] ?? "").dropFirst(Self.mark(number, of: table).count).split(separator: " ", maxSplits: 1)
            guard words.count == 2, let parent = parents.first(where: { "\($0.number)" == words[0] }),
                PartitionBounds(String(words[1])) != nil
            else { return nil }
            let leaf = Leaf(
                number: number, sql: "\((row[1] ?? "").quotedIdentifier).\((row[2] ?? "").quotedIdentifier)",
                name: row[2] ?? "", parent: parent.sql, parentNumber: parent.number, bounds: String(words[1]))
            return (leaf, state)
        }
    }

    /// A partitioned table and the partitions of it that are divided themselves.
    func parents(in table: PostgresTable) throws -> [(number: Int, sql: String)] {
        let query =
            "SELECT c.oid::int8, n.nspname, c.relname FROM pg_partition_tree(" + .bound("\(table.number)", "regclass")
            + ") t JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace "
            + "WHERE c.relkind = 'p' ORDER BY t.level, c.oid"
        return try rows(query).map { row in
            (
                row[0].flatMap { Int($0) } ?? 0,
                "\((row[1] ?? "").quotedIdentifier).\((row[2] ?? "").quotedIdentifier)"
            )
        }
    }
}
