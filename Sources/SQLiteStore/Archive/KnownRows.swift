import GRDB

/// What the store has in the places of archived rows, in temporary tables.
struct KnownRows {
    /// What was found for an archived row.
    enum State: Int {
        /// Another row has its key.
        case conflict
        /// The store has it.
        case present
        /// Another row has its rowid, which is not a key: it gets a new one.
        case moves
    }

    /// The tables with the old values of references, by the number of the table with the rows.
    let references: [Int: [RestorationTable]]
    /// The rows that were found, in SQL: `number` (of the table), `row`, `state`.
    let found: String
    /// Rows without a key that the store has under another rowid; the same columns.
    private let moved: String

    /// Makes the tables, and looks for rows that have moved.
    init(_ archive: AttachedArchive, _ connection: SQLiteFileConnection, _ db: Database) throws {
        (found, moved) = ("temp." + connection.temporaryName("known"), "temp." + connection.temporaryName("moved"))
        for name in [found, moved] {
            try db.execute(
                sql:
                    "CREATE TABLE \(name) (number INTEGER, row INTEGER, state INTEGER, PRIMARY KEY (number, row)) WITHOUT ROWID"
            )
        }
        var references: [Int: [RestorationTable]] = [:]
        for (number, rows) in archive.tables.enumerated() where rows.kind == .rows {
            for table in archive.tables where table.kind == .references && table.table == rows.table {
                try db.execute(sql: table.copy)
                references[number, default: []].append(table)
            }
        }
        self.references = references
        for (number, table) in archive.tables.enumerated() where table.kind == .rows {
            guard let search = table.searchForMovedRows(references[number] ?? []),
                try Bool.fetchOne(db, sql: "SELECT EXISTS (\(search.isNeeded))") ?? false
            else { continue }
            try db.execute(
                sql:
                    "INSERT INTO \(moved) SELECT \(number), row, \(State.present.rawValue) FROM (\(search.rows))")
        }
    }

    /// Removes the tables.
    func remove(_ db: Database) throws {
        for name in [found, moved] + references.values.joined().map({ "temp." + $0.copyName }) {
            try db.execute(sql: "DROP TABLE IF EXISTS \(name)")
        }
    }

    /// Looks for rows of a table in the store.
    func find(_ table: RestorationTable, _ rows: ClosedRange<Int64>, _ db: Database) throws {
        let range: StatementArguments = [rows.lowerBound, rows.upperBound]
        func insert(_ isSame: String, otherwise: State) throws {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO \(found)
                    SELECT \(table.number), a.\(table.rowID),
                        iif(\(table.isEqual(references[table.number] ?? [])), \(State.present.rawValue), \(otherwise.rawValue))
                    FROM \(table.source) AS a CROSS JOIN \(table.target) AS m ON \(isSame)
                    WHERE a.\(table.rowID) BETWEEN ? AND ?
                    """, arguments: range)
        }
        if table.hasKey { try insert(table.isSameKey, otherwise: .conflict) }
        guard let isSamePlace = table.isSamePlace else { return }
        try db.execute(
            sql:
                "INSERT OR IGNORE INTO \(found) SELECT * FROM \(moved) WHERE number = \(table.number) AND row BETWEEN ? AND ?",
            arguments: range)
        try insert(isSamePlace, otherwise: .moves)
    }

    /// How many rows of a table were found in a state.
    func count(_ table: RestorationTable, _ state: State, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db, sql: "SELECT count(*) FROM \(found) WHERE number = ? AND state = ?",
            arguments: [table.number, state.rawValue]) ?? 0
    }

    /// A query that counts the rows of a table in a state whose keys are those of candles that the run has made, in some
    /// ranges of the archive.
    func count(
        _ table: RestorationTable, _ state: State, madeBy candles: RestorationTable, in ranges: [ClosedRange<Int64>]
    ) -> String {
        let keys = candles.key.map { "a.\($0.quotedIdentifier)" }.joined(separator: ", ")
        return """
            SELECT count(*) FROM \(found) AS k CROSS JOIN \(table.source) AS a ON a.\(table.rowID) = k.row
            WHERE k.number = \(table.number) AND k.state = \(state.rawValue) AND (\(keys)) IN (\(candles.madeKeys(in: ranges)))
            """
    }

    /// Notes that a row is left out.
    func leaveOut(_ row: Int64, of number: Int, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO \(found) VALUES (?, ?, ?)",
            arguments: [number, row, State.conflict.rawValue])
    }

    func forget(_ db: Database) throws { try db.execute(sql: "DELETE FROM \(found)") }

    /// The condition that something was found for a row.
    func isFound(_ number: Int, _ row: String, _ states: State...) -> String {
        let list = states.map { String($0.rawValue) }.joined(separator: ", ")
        return
            "EXISTS (SELECT 1 FROM \(found) AS k WHERE k.number = \(number) AND k.row = \(row) AND k.state IN (\(list)))"
    }
}
