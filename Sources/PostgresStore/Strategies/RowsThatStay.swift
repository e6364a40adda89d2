import PriceStore

/// Where a row is.
struct RowPlace {
    /// The number of the real table.
    var table: Int
    var place: String
}

extension PostgresConnection {
    /// Throws if no readable row of a table is left: the rows that were to stay are gone, by another session. The caller undoes
    /// the batch.
    ///
    /// A row that was there after the last batch is looked at first. Without an index a search would read again, in each batch, what
    /// was deleted before.
    ///
    /// - Parameters:
    ///   - date: the date by which rows are readable; nil: none must be left.
    ///   - condition: of the rows that are deleted.
    func requireRest(of table: PostgresTable, _ date: DateAttribute?, besides condition: SQLFragment = .never) throws {
        guard let date else { return }
        let scope = RowScope(table)
        let sql = try scope.date(date, store: name)
        let readable = sql.readable()
        if let seen = lastSeen[table.number], let source = try source(of: seen, table) {
            let isThere =
                "SELECT 1 FROM \(source) AS \(RowScope.alias)"
                + SQLFragment.all(["\(RowScope.alias).ctid = " + .bound(seen.place, "tid"), readable]).whereClause
            if try exists(isThere, isRepeated: true) { return }
        }
        lastSeen[table.number] = nil
        let hasPlaces = table.isSingle || table.isPartitioned && !table.isDistributed
        let select = SQLFragment(hasPlaces ? "SELECT \(BatchDelete.place(scope))" : "SELECT 1") + " FROM \(scope.from)"
        var row: [String?]?
        if sql.reading == .ordered, try table.dateIndex(scope.attribute(date.name, store: name)) != nil {
            row = try rows(select + readable.whereClause + " ORDER BY \(sql.column) DESC LIMIT 1").first
        } else {
            let isRest = "(" + condition + ") IS NOT TRUE"
            row = try rows(select + SQLFragment.all([readable, isRest]).whereClause + " LIMIT 1").first
            if row == nil { row = try rows(select + readable.whereClause + " LIMIT 1").first }
        }
        guard let row else { throw StoreError.lastRow(of: table.name, store: name) }
        if hasPlaces, let number = row[0].flatMap({ Int($0) }), let place = row[1] {
            lastSeen[table.number] = RowPlace(table: number, place: place)
        }
    }

    /// The real table of a row, in SQL; nil: it is no part of the table any more.
    private func source(of seen: RowPlace, _ table: PostgresTable) throws -> String? {
        table.isSingle ? table.sql : try leaves(of: table).first { $0.number == seen.table }.map { "ONLY \($0.sql)" }
    }
}
