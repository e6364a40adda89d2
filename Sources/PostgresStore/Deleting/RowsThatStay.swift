import PriceStore

/// Where a row is.
struct RowPlace {
    /// The `oid` of the real table.
    var table: Int
    var place: String
}

/// The rows of a table that a deletion leaves.
struct RowsThatStay {
    let session: PostgresConnection
    let table: PostgresTable

    /// Throws if no readable row is left: the rows that were to stay are gone, by another session. The caller undoes
    /// the batch.
    ///
    /// A row that was there after the last batch is looked at first. Without an index a search would read again, in each batch, what
    /// was deleted before.
    ///
    /// - Parameters:
    ///   - date: the date by which rows are readable; nil: none must be left.
    ///   - condition: of the rows that are deleted.
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

    /// The real table of a row, in SQL; nil: it is not a part of the table any more.
    private func source(of seen: RowPlace) throws -> String? {
        table.isSingle
            ? table.sql : try session.leaves(of: table).first { $0.oid == seen.table }.map { "ONLY \($0.sql)" }
    }
}
