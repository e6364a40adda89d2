import PriceStore

extension PostgresDatabase {
    /// Throws if no readable row of a table is left, because another session removed the rows that were to stay. The caller then undoes the
    /// batch.
    ///
    /// The row that was left after the last batch is checked first, or the chunk that had one. Without an index, a search in each batch
    /// would read again what was deleted before, and of a hypertable it would plan for all chunks.
    func requireRest(of table: PostgresTable, by date: DateAttribute?, besides condition: SQLFragment = .never) throws {
        guard let date else { return }
        let scope = RowScope(table)
        let sql = try scope.date(date)
        let readable = sql.readable()
        if let seen = lastSeen[table.oid], let source = try source(ofRowIn: seen.table, table) {
            let isThere = SQLFragment.all(
                (seen.place.map { ["\(RowScope.alias).ctid = " + .bound($0, "tid")] } ?? []) + [readable])
            let query = "SELECT 1 FROM \(source) AS \(RowScope.alias)" + isThere.whereClause + " LIMIT 1"
            if try exists(query, isRepeated: true) { return }
        }
        lastSeen[table.oid] = nil
        let hasPlaces = table.isSingle || table.isPartitioned && !table.isDistributed
        let place = hasPlaces ? BatchDelete.place(scope) : table.isHypertable ? "\(RowScope.alias).tableoid" : "1"
        let select = SQLFragment("SELECT \(place) FROM \(scope.from)")
        var found: ServerRow?
        if sql.reading == .ordered, table.dateIndex(date) != nil {
            found = try row(select + readable.whereClause + " ORDER BY \(sql.column) DESC LIMIT 1")
        } else {
            let isRest = "(" + condition + ") IS NOT TRUE"
            let last = table.isSingle ? [[readable, isRest, Self.lastPages(of: table)]] : []
            for part in last + [[readable, isRest], [readable]] where found == nil {
                found = try row(select + SQLFragment.all(part).whereClause + " LIMIT 1")
            }
        }
        guard let found else { throw StoreError.lastRow(of: table.name, store: name) }
        if hasPlaces || table.isHypertable {
            lastSeen[table.oid] = (try found.int("tableoid"), hasPlaces ? try found.text("ctid") : nil)
        }
    }

    /// The condition that a row is in one of the last 100 pages of a single table, which has the newest rows of most tables.
    private static func lastPages(of table: PostgresTable) -> SQLFragment {
        let page = "greatest(pg_relation_size(\(table.oid)) / current_setting('block_size')::int8 - 100, 0)"
        return "\(RowScope.alias).ctid >= (SELECT format('(%s,0)', \(page))::tid)"
    }

    /// The real table of a row, in SQL; nil if it no longer belongs to the table.
    private func source(ofRowIn oid: Int, _ table: PostgresTable) throws -> String? {
        if table.isSingle { return table.sql }
        if table.isHypertable { return try row(TimescaleSQL.chunk(oid, of: table))?.text("name") }
        return try leaves(of: table).first { $0.oid == oid }.map { "ONLY \($0.sql)" }
    }
}
