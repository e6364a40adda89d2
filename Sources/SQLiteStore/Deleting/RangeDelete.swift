import PriceStore

extension BatchDelete {
    /// Deletes the oldest rows up to the limit, by a range of the date index.
    ///
    /// The index gives the first row that remains. Everything before its date is deleted as one range in a single pass, and rows of the
    /// same date are deleted by key. So a batch has exactly the rows of its limit, and at any time every remaining row is at least as new
    /// as every deleted one.
    mutating func range() throws -> BatchContinuation? {
        guard let date = statement.date, statement.access != nil else {
            throw connection.failure(
                .unsupported, "\(statement.scope.table.name) has no index that gives its rows by date")
        }
        return try range(of: .always, by: date.sql, from: work.place?.first)
            .map(BatchContinuation.init(position:))
    }

    /// Deletes the oldest rows of a group from a date on, up to the limit of the request.
    ///
    /// - Returns: the date and key of the first remaining row, or nil if no row of the group is left.
    private mutating func range(
        of group: SQLFragment, by date: DateSQL, from: StoreValue?
    ) throws -> [StoreValue]? {
        func rows(_ stretch: DateSQL.Stretch) -> SQLFragment { .all([group, statement.condition(stretch)]) }
        let most = work.mostRows
        let limit = most == .max ? most : most - deletedCount
        let ahead = rows(DateSQL.Stretch(from: from))
        let whole = limit < .max ? try wholeStretch(by: date, from: from, count: limit) : nil
        guard limit < .max,
            let boundary = try whole?.boundary ?? boundary(of: group, by: date, from: from, offset: limit)
        else {
            let dates = statement.select("\(date.column)", of: ahead, by: .date)
            let newest = try connection.row("\(dates) ORDER BY \(date.column) DESC LIMIT 1", db)?.first
            if let newest { try requireExpired(newest, date.date) }
            try delete(range: ahead)
            return nil
        }
        // It is not older than any row that is deleted.
        let value = boundary[0]
        try requireExpired(value, date.date)
        let key = Array(boundary[1...])
        let before = deletedCount
        if from != value {
            let stretch = DateSQL.Stretch(from: from, below: value)
            try delete(range: whole?.rows ?? rows(stretch), isChecked: whole != nil)
        }
        if work.rollup != nil {
            guard deletedCount == before else { return boundary }
            let together = rows(DateSQL.Stretch(at: value))
            guard try mayGoTogether(together, by: .date) else { return nil }
            try delete(together, by: .date)
        } else if deletedCount - before < limit {
            try delete(.all([rows(DateSQL.Stretch(at: value)), statement.keyBefore(key)]), by: .date)
        }
        return boundary
    }

    /// The date and key of the first row that remains if `offset` rows from a date on are deleted, or nil if no matching row remains.
    private func boundary(
        of group: SQLFragment, by date: DateSQL, from: StoreValue?, offset: Int
    ) throws -> [StoreValue]? {
        var ahead = statement.condition(DateSQL.Stretch(from: from))
        var isNamed = SQLFragment.always
        // Without its end the range is walked in half the time.
        if statement.rest == .always, let before = statement.date?.before,
            let walk = date.walk(from: from, before: before)
        {
            (ahead, isNamed) = (walk, date.isBefore(before))
        }
        let query = statement.boundary(.all([group, ahead]), column: date.column, offset: offset, is: isNamed)
        guard let found = try connection.row(query, db), found.last == .integer(1) else { return nil }
        return found.dropLast()
    }

    /// Deletes rows group by group, each group's oldest first.
    ///
    /// A continuation is the date and key of the first remaining row, the key's first value being the group.
    mutating func delete(by groups: KeyGroups, _ values: [StoreValue], _ date: DateSQL) throws -> BatchContinuation? {
        var from = work.place
        let first = from.flatMap { place in values.firstIndex { $0 == place[1] } } ?? 0
        for value in values[first...] {
            if let boundary = try range(of: groups.condition(value), by: date, from: from?[0]) {
                return BatchContinuation(position: boundary)
            }
            from = nil
        }
        return nil
    }

    /// The next `count` rows of a parsed date, without those of the last date, and the first row after them. Nil if some of them must stay
    /// or there are fewer.
    ///
    /// Each row is checked once, by its date in the table. SQLite must be able to undo a statement that calls a function, so it writes
    /// every page that the statement changes to a temporary file. The delete of a whole range calls none.
    private func wholeStretch(
        by date: DateSQL, from: StoreValue?, count: Int
    ) throws -> (rows: SQLFragment, boundary: [StoreValue])? {
        guard date.function != nil else { return nil }
        // The index begins with the rows without a date, which belong to no range.
        let isDated: SQLFragment = from == nil ? "\(date.column) IS NOT NULL" : .always
        let query = statement.boundary(
            .all([isDated, statement.wholeStretch(DateSQL.Stretch(from: from))]), column: date.column, offset: count,
            is: statement.condition())
        guard let found = try connection.row(query, db), found.last == .integer(1) else { return nil }
        let rows = statement.wholeStretch(DateSQL.Stretch(from: from, below: found[0]))
        let read = lookedUp(rows, by: .date) ?? statement.rows(rows, by: .date)
        return try hasOthers(read) ? nil : (rows, found.dropLast())
    }

    private mutating func delete(range: SQLFragment, isChecked: Bool = false) throws {
        let rows = lookedUp(range, by: .date)
        if !isChecked { try checkIndex(rows, by: .date) }
        try deleteChecked(range, by: .date, rows)
    }
}
