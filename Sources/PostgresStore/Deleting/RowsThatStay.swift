import PriceStore

/// The place of a row.
struct RowPlace {
    /// The `oid` of the real table.
    var table: Int
    var place: String
}

/// The rows of a table that a deletion keeps.
struct RowsThatStay {
    let session: PostgresConnection
    let table: PostgresTable

    /// Throws if no readable row is left, because another session removed the rows that were to stay. The caller then undoes the batch.
    ///
    /// The row that was left after the last batch is checked first. Without an index, a search in each batch would read again what was
    /// deleted before.
    ///
    /// - Parameters:
    ///   - date: the date by which rows are readable; nil if no row must be left.
    ///   - condition: the condition of the rows to delete.
    func requireSome(by date: DateAttribute?, besides condition: SQLFragment = .never) throws {
        guard let date else { return }
        let scope = RowScope(table)
        let sql = try scope.date(date, store: session.name)
        let readable = sql.readable()
        if let seen = session.lastSeen[table.oid], let source = try source(of: seen) {
            let isThere =
                "SELECT 1 FROM \(source) AS \(RowScope.alias)"
                + SQLFragment.all(["\(RowScope.alias).ctid = " + .bound(seen.place, "tid"), readable]).whereClause
            if try session.exists(isThere, isRepeated: true) { return }
        }
        session.lastSeen[table.oid] = nil
        let hasPlaces = table.isSingle || table.isPartitioned && !table.isDistributed
        let select = SQLFragment(hasPlaces ? "SELECT \(BatchDelete.place(scope))" : "SELECT 1") + " FROM \(scope.from)"
        var found: ServerRow?
        if sql.reading == .ordered, try table.dateIndex(scope.attribute(date.name, store: session.name)) != nil {
            found = try session.row(select + readable.whereClause + " ORDER BY \(sql.column) DESC LIMIT 1")
        } else {
            let isRest = "(" + condition + ") IS NOT TRUE"
            found =
                try session.row(select + SQLFragment.all([readable, isRest]).whereClause + " LIMIT 1")
                ?? session.row(select + readable.whereClause + " LIMIT 1")
        }
        guard let found else { throw StoreError.lastRow(of: table.name, store: session.name) }
        if hasPlaces {
            session.lastSeen[table.oid] = RowPlace(table: try found.int("tableoid"), place: try found.text("ctid"))
        }
    }

    /// The real table of a row, in SQL; nil if it no longer belongs to the table.
    private func source(of seen: RowPlace) throws -> String? {
        table.isSingle
            ? table.sql : try session.leaves(of: table).first { $0.oid == seen.table }.map { "ONLY \($0.sql)" }
    }
}
