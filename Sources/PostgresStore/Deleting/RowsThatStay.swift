import PriceStore

/// The place of a row.
struct RowPlace {
    /// The `oid` of the real table.
    var table: Int
    /// Its `ctid`; nil: only the real table is known, as with rows of chunks, which may be compressed.
    var place: String?
}

/// The rows of a table that a deletion keeps.
struct RowsThatStay {
    let session: PostgresConnection
    let table: PostgresTable

    /// Throws if no readable row is left, because another session removed the rows that were to stay. The caller then undoes the batch.
    ///
    /// The row that was left after the last batch is checked first, or the chunk that had one. Without an index, a search in each batch
    /// would read again what was deleted before, and of a hypertable it would plan for all chunks.
    ///
    /// - Parameters:
    ///   - date: the date by which rows are readable; nil if no row must be left.
    ///   - condition: the condition of the rows to delete.
    func requireSome(by date: DateAttribute?, besides condition: SQLFragment = .never) throws {
        guard let date else { return }
        let scope = RowScope(table)
        let sql = try scope.date(date)
        let readable = sql.readable()
        if let seen = session.lastSeen[table.oid], let source = try source(of: seen) {
            let isThere = SQLFragment.all(
                (seen.place.map { ["\(RowScope.alias).ctid = " + .bound($0, "tid")] } ?? []) + [readable])
            let query = "SELECT 1 FROM \(source) AS \(RowScope.alias)" + isThere.whereClause + " LIMIT 1"
            if try session.exists(query, isRepeated: true) { return }
        }
        session.lastSeen[table.oid] = nil
        let hasPlaces = table.isSingle || table.isPartitioned && !table.isDistributed
        let place = hasPlaces ? BatchDelete.place(scope) : table.isHypertable ? "\(RowScope.alias).tableoid" : "1"
        let select = SQLFragment("SELECT \(place) FROM \(scope.from)")
        var found: ServerRow?
        if sql.reading == .ordered, try table.dateIndex(scope.attribute(date.name)) != nil {
            found = try session.row(select + readable.whereClause + " ORDER BY \(sql.column) DESC LIMIT 1")
        } else {
            let isRest = "(" + condition + ") IS NOT TRUE"
            found =
                try session.row(select + SQLFragment.all([readable, isRest]).whereClause + " LIMIT 1")
                ?? session.row(select + readable.whereClause + " LIMIT 1")
        }
        guard let found else { throw StoreError.lastRow(of: table.name, store: session.name) }
        if hasPlaces || table.isHypertable {
            session.lastSeen[table.oid] = RowPlace(
                table: try found.int("tableoid"), place: hasPlaces ? try found.text("ctid") : nil)
        }
    }

    /// The real table of a row, in SQL; nil if it no longer belongs to the table.
    private func source(of seen: RowPlace) throws -> String? {
        if table.isSingle { return table.sql }
        if table.isHypertable { return try session.row(TimescaleSQL.chunk(seen.table, of: table))?.text("name") }
        return try session.leaves(of: table).first { $0.oid == seen.table }.map { "ONLY \($0.sql)" }
    }
}
