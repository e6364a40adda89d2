import PriceStore

extension BatchDelete {
    /// Deletes the rows of the predicate among the next rows in physical order, up to the limit, one real table after another.
    ///
    /// It serves tables without a date index, and reads the table once, one window for each batch. A `ctid` is compared only within one
    /// real table, by that table's name: in another partition, the same `ctid` is another row.
    mutating func windows() throws -> BatchContinuation? {
        let leaves = try connection.leaves(of: scope.table).filter { !$0.isForeign }
        guard !leaves.isEmpty, scope.table.windowObstacle == nil else {
            throw StoreError(
                .unsupported, store: connection.name,
                message: "\(scope.table.name) cannot be read in the order of its rows' places",
                hint: "use the method range or whole")
        }
        if scope.table.isPartitioned {
            // What the batch checked for the whole table must hold until this transaction ends.
            try connection.execute("LOCK TABLE ONLY \(scope.table.sql) IN ROW EXCLUSIVE MODE")
            if let reason = try connection.guards(of: scope.table)?.leafObstacle {
                throw StoreError(
                    .unsupported, store: connection.name,
                    message: "\(scope.table.name) cannot be read partition by partition: \(reason)",
                    hint: "use the method range")
            }
        }
        var index = 0
        var (after, last): (String?, String?)
        if let position = request.continuation?.position, case .integer(let number)? = position.first {
            index = leaves.prefix { Int64($0.oid) < number }.count
            if index < leaves.count, Int64(leaves[index].oid) == number {
                let places = position.dropFirst().compactMap(\.serverText)
                (after, last) = (places.first, places.dropFirst().first)
            }
        }
        guard index < leaves.count else { return nil }
        let leaf = leaves[index]
        if after == nil, let span = try blocks(of: leaf) {
            guard span.last != nil else { return next(behind: index, of: leaves) }
            (after, last) = span
        }
        let place = "\(RowScope.alias).ctid"
        let limit = request.fetchRequest.fetchLimit ?? .max
        guard let end = try windowEnd(of: leaf, after: after, mostRows: limit), Self.isBefore(last, after) else {
            return next(behind: index, of: leaves)
        }
        let window = (after.map { ["\(place) > " + .bound($0, "tid")] } ?? []) + ["\(place) <= " + .bound(end, "tid")]
        var rows = SQLFragment.all(window + [condition])
        let source: SQLFragment = "ONLY \(leaf.sql) AS \(RowScope.alias)"
        // To name the rows takes three times as long as to delete them.
        if let most = request.allowedRows, most < limit,
            try connection.count("SELECT count(*) FROM " + source + rows.whereClause) > most
        {
            let first = "SELECT ctid FROM " + source + rows.whereClause + " LIMIT \(most)"
            rows = .all([rows, "\(place) = ANY (ARRAY(" + first + "))"])
        }
        try delete(rows, from: "ONLY \(leaf.sql)")
        return BatchContinuation(
            position: [.integer(Int64(leaf.oid)), .text(end)] + (last.map { [.text($0)] } ?? []))
    }

    /// The place of the last expired row of a real table, and a place before all of them, by a BRIN index. It is nil without such an
    /// index; `last` is nil if there is no such row. Rows that expire later wait for the next run.
    private func blocks(of leaf: Leaf) throws -> (after: String?, last: String?)? {
        guard let date, date.reading == .ordered,
            let range = request.fetchRequest.predicate.dateRange, scope.table.blockIndex(date.date) != nil
        else { return nil }
        let found = try connection.onlyRow(
            "SELECT min(\(RowScope.alias).ctid) AS first, max(\(RowScope.alias).ctid) AS last FROM ONLY \(leaf.sql) AS "
                + "\(RowScope.alias)" + date.readable(from: range.from, before: range.before).whereClause)
        let page = try found.optionalText("first").map { Self.numbers($0)[0] } ?? 0
        return (page == 0 ? nil : "(\(page - 1),\(Self.lastRow))", try found.optionalText("last"))
    }

    /// Whether a place is before the last one, as far as both are known.
    private static func isBefore(_ last: String?, _ place: String?) -> Bool {
        guard let place, let last else { return true }
        return numbers(place).lexicographicallyPrecedes(numbers(last))
    }

    /// The page and the row of a place, such as (7,12).
    private static func numbers(_ place: String) -> [Int] {
        place.dropFirst().dropLast().split(separator: ",").compactMap { Int($0) }
    }

    /// No page has a row after this one.
    private static let lastRow = Int(UInt16.max)

    /// The last place of a window with a number of rows at most; nil if there are no more rows.
    ///
    /// A search for the row with that number costs a third of a delete. A page holds a known number of rows at most, so a window of whole
    /// pages needs no search. Only a smaller limit is met row by row. Source: PostgreSQL, `MaxHeapTuplesPerPage` in
    /// `access/htup_details.h`.
    private func windowEnd(of leaf: Leaf, after: String?, mostRows: Int) throws -> String? {
        let sizes = try connection.onlyRow(
            "SELECT pg_relation_size(" + .bound("\(leaf.oid)", "oid") + ") / size AS pages, (size - 24) / 28 "
                + "AS rows_per_page FROM (SELECT current_setting('block_size')::int8 AS size) AS block")
        let rowsPerPage = try sizes.int("rows_per_page")
        guard let pageCount = try sizes.optionalInt("pages") else {
            // The real table is gone.
            try connection.requireSchema(of: [scope.table])
            return nil
        }
        guard mostRows >= rowsPerPage else {
            let place = "\(RowScope.alias).ctid"
            let window = after.map { "\(place) > " + .bound($0, "tid") } ?? .always
            return try connection.texts(
                "SELECT max(place) FROM (SELECT ctid AS place FROM ONLY \(leaf.sql) AS \(RowScope.alias)"
                    + window.whereClause + " LIMIT \(max(1, mostRows))) AS next"
            ).first
        }
        let numbers = after.map(Self.numbers) ?? [-1, Self.lastRow]
        let page = numbers[0] + (numbers[1] == Self.lastRow ? 1 : 0)
        guard page < pageCount else { return nil }
        return "(\(min(page + mostRows / rowsPerPage, pageCount) - 1),\(Self.lastRow))"
    }

    private func next(behind index: Int, of leaves: [Leaf]) -> BatchContinuation? {
        guard index + 1 < leaves.count else { return nil }
        return BatchContinuation(position: [.integer(Int64(leaves[index + 1].oid)), .null])
    }
}
