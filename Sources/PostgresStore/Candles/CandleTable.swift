import PriceStore

/// The table of the candles of a rule, in SQL.
struct CandleTable {
    private let connection: PostgresDatabase
    private let rollup: Rollup
    private let scope: RowScope
    private let candle: CandleSQL
    private let time: DateSQL
    /// The columns of the key, then those of ``Candle/fields``.
    private let columns: [Attribute]
    /// The candles to read; nil for all.
    private let left: RowsLeft?

    init(_ rollup: Rollup, _ connection: PostgresDatabase, _ left: RowsLeft? = nil) throws {
        self.rollup = rollup
        self.connection = connection
        self.left = left
        let scope = try connection.scope(rollup.target)
        self.scope = scope
        time = try scope.date(rollup.date.named(rollup.names[.time]))
        candle = try CandleSQL(rollup.names, rollup.date, scope)
        columns = try (rollup.key + Candle.fields.map { rollup.names[$0] }).map { try scope.attribute($0) }
    }

    var table: PostgresTable { scope.table }
    /// The columns that identify a candle: its group and its time.
    var key: [String] { columns.prefix(rollup.key.count).map(\.name) }
    /// The columns of ``Candle/fields``.
    var fields: [String] { columns.dropFirst(rollup.key.count).map(\.name) }

    /// A list of values of the first columns as a table `made`, with the place of each value.
    private func list(_ values: [[StoreValue]]) -> SQLFragment {
        let count = values.first?.count ?? 0
        let lists = (0..<count).map { column in SQLFragment.list(values.lazy.map { $0[column].serverText }, "text") }
        let names = (0..<count).map { "v\($0)" } + ["place"]
        return "unnest(" + .joined(lists, by: ", ") + ") WITH ORDINALITY AS made (\(names.joined(separator: ", ")))"
    }

    /// The value of a column in ``list(_:)``, in the column's type. A time without a zone gets the session's, as in
    /// ``PostgresDatabase/newValue(_:_:_:)``.
    private func made(_ column: Int) -> String {
        let isLocal =
            column == rollup.groupedBy.count && [.timestamp, .date].contains(scope.table.type(columns[column]))
        return "made.v\(column)\(isLocal ? "::timestamptz" : "")::\(columns[column].declaredType)"
    }

    /// The condition that a candle has the key of a row in ``list(_:)``.
    ///
    /// - Parameter isNull: which values of the group are NULL. An index serves `=` and `IS NULL`.
    private func isKey(_ isNull: [Bool]) -> String {
        (isNull + [false]).enumerated().map { place, isNull in
            scope.column(columns[place].name) + (isNull ? " IS NULL" : " = \(made(place))")
        }.joined(separator: " AND ")
    }

    /// The span of time of some keys. With it, the server skips other parts of a table and locks no compressed rows in them.
    private func span(_ keys: [CandleBuilder.Key]) -> SQLFragment {
        let starts = keys.map(\.bucket.lowerBound)
        guard !scope.table.isSingle, time.reading == .ordered, let first = starts.min(), let last = starts.max() else {
            return .always
        }
        return .all([time.bound(.greaterOrEqual, .start(first)), time.bound(.lessOrEqual, .end(last))])
    }

    private func values(_ key: CandleBuilder.Key) throws -> [StoreValue] {
        key.group + [try rollup.time(of: key.bucket, isLocal: time.type == .timestamp)]
    }

    private func isNull(_ key: CandleBuilder.Key) -> [Bool] { key.group.map(\.isNull) }

    /// Whether a candle's group has the same letters as the requested key. A column that ignores case would merge groups.
    private var isGroup: String {
        let letters = columns.indices.prefix(rollup.groupedBy.count).filter {
            [.text, .other].contains(scope.table.type(columns[$0]))
        }
        let same = letters.map {
            "\(scope.column(columns[$0].name))::text COLLATE \"C\" IS NOT DISTINCT FROM \(made($0))::text COLLATE \"C\""
        }
        return same.isEmpty ? "TRUE" : same.joined(separator: " AND ")
    }

    /// The stored candles of some keys.
    func stored(_ keys: [CandleBuilder.Key], lock: SQLFragment = "") throws -> [CandleBuilder.Key: Candle] {
        var found: [CandleBuilder.Key: Candle] = [:]
        for (isNull, keys) in Dictionary(grouping: keys, by: isNull) {
            let rows = try connection.rows(
                (left?.tables ?? "") + "SELECT made.place, \(isGroup) AS is_group, " + .columns(candle.columns)
                    + " FROM " + list(try keys.map(values)) + " JOIN \(scope.from) ON "
                    + .all([SQLFragment(isKey(isNull)), span(keys), left?.condition(scope) ?? .always])
                    + lock)
            for row in rows {
                guard try row.isTrue("is_group") else {
                    throw failure(
                        "\(rollup.target) has a candle of another group with the same key as one of these rows")
                }
                guard let candle = try candle.candle(row) else {
                    throw failure("a row of \(rollup.target) is not a candle, so new rows cannot be added to it")
                }
                found[keys[try row.int("place") - 1]] = candle
            }
        }
        return found
    }

    /// Throws if the time of a candle has another text than a run would write. The key would not find such a candle.
    func checkTimes() throws {
        let pattern = rollup.date.encoding.datePattern
        guard rollup.date.encoding == .iso8601 || pattern != nil, time.type == .text else { return }
        let written = pattern?.written ?? #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"#
        let times = try CandleTimeSQL(time.date, scope, as: "time")
        let found = try connection.row(
            "SELECT " + .columns(times.columns)
                + " FROM \(scope.from) WHERE \(time.column) !~ '^\(written)$' AND "
                + time.readable()
                + " LIMIT 1")
        guard let found, let start = try times.time(found) else { return }
        throw failure(rollup.otherSpelling(of: start.instant))
    }

    private func failure(_ message: String) -> StoreError {
        StoreError(.constraint, store: connection.name, message: message)
    }

    /// Writes the changed candles, reads them back, and compares them with the rows.
    func write(_ candles: CandleBuilder, deletedCount: Int, _ part: ArchivePart?) throws {
        let changes = candles.changes
        func values(_ change: CandleBuilder.Change) throws -> [StoreValue] {
            try self.values(change.key) + change.after.values
        }
        func returning(_ values: [String]) -> SQLFragment {
            SQLFragment(part == nil ? "" : " RETURNING \(values.joined(separator: ", "))")
        }
        let all = columns.map { scope.column($0.name) }
        var writtenCount = 0
        let new = changes.filter { $0.before == nil }
        if !new.isEmpty {
            let names = columns.map(\.name.quotedIdentifier).joined(separator: ", ")
            let insertion =
                "INSERT INTO \(scope.table.sql) AS \(RowScope.alias) (\(names)) SELECT "
                + "\(columns.indices.map(made).joined(separator: ", ")) FROM " + list(try new.map(values))
                + returning(all)
            writtenCount +=
                try part?.write(insertion, of: self) ?? connection.execute(insertion).changedCount
        }
        let sets = columns.indices.dropFirst(rollup.key.count).map {
            "\(columns[$0].name.quotedIdentifier) = \(made($0))"
        }.joined(separator: ", ")
        for (isNull, old) in Dictionary(grouping: changes.filter { $0.before != nil }, by: { isNull($0.key) }) {
            let found = SQLFragment.all([SQLFragment(isKey(isNull)), span(old.map(\.key))])
            let update =
                "UPDATE \(scope.from) SET \(sets) FROM " + list(try old.map(values)) + found.whereClause
                + returning(["made.place"] + all)
            let before =
                "SELECT \((["made.place"] + all.dropFirst(rollup.key.count)).joined(separator: ", ")) FROM "
                + list(try old.map { try self.values($0.key) }) + " JOIN \(scope.from) ON " + found
            writtenCount +=
                try part?.write(update, before: before, of: self) ?? connection.execute(update).changedCount
        }
        guard writtenCount == changes.count else { throw CandleError.notAsWritten }
        let written = try stored(changes.map(\.key))
        try candles.check(written: changes.map { written[$0.key] }, deletedCount: deletedCount)
    }
}

extension BatchDelete {
    /// Deletes the rows of a condition and adds them to candles, in the current transaction.
    ///
    /// The DELETE returns the deleted rows with their last values. After a SELECT, others may have changed or deleted some rows, and a
    /// trigger may keep some.
    mutating func delete(_ condition: SQLFragment, becoming rollup: Rollup) throws -> Int {
        let from = scope.from
        let rows = try CandleRows(rollup, of: scope)
        let table = try CandleTable(rollup, connection)
        let gone: ServerResult
        if let part {
            let copies = try connection.unlogged(isUnlogged()) {
                try part.delete(condition, of: scope, isRepeated: usesOnePlan)
            }
            gone = try connection.execute(rows.query { "SELECT " + $0 + copies }, isRepeated: usesOnePlan)
        } else {
            gone = try connection.unlogged(isUnlogged()) {
                try connection.execute(
                    rows.query { "DELETE FROM \(from)" + condition.whereClause + " RETURNING " + $0 },
                    isRepeated: usesOnePlan)
            }
        }
        var made = CandleBuilder(rollup.buckets)
        try connection.refusingCandles {
            try made.add(rows.rows(gone)) { try table.stored($0, lock: " FOR UPDATE OF \(RowScope.alias)") }
            try table.write(made, deletedCount: gone.rows.count, part)
        }
        request.candles.add(made)
        writtenCount += made.changes.count
        deletedCount += gone.rows.count
        return gone.rows.count
    }

    /// The deleted rows and the changed candles of this transaction, as the server counts them.
    func changeCounts(_ rollup: Rollup) throws -> [Int] {
        let target = [try connection.requireTable(rollup.target)]
        let candles = ["inserted", "updated", "deleted"].map { connection.changeCount($0, target) }
        return try connection.numbers(ofEach: [
            connection.changeCount("deleted", [scope.table]), candles.joined(separator: " + "),
        ])
    }

    /// Throws if triggers deleted other rows, or changed other candles, than the batch itself. Each deleted row must become part of a
    /// candle, and a candle must agree with its rows.
    func requireOwnChanges(_ rollup: Rollup, since before: [Int]) throws {
        guard try changeCounts(rollup) == [before[0] + deletedCount, before[1] + writtenCount] else {
            throw StoreError(
                .constraint, store: connection.name,
                message: "a trigger of \(scope.table.name) or \(rollup.target) deletes rows or changes candles")
        }
    }
}

extension PostgresDatabase {
    /// Runs work on candles. Errors of candles become errors of the store.
    func refusingCandles<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch let error as CandleError {
            throw StoreError(.constraint, store: name, message: error.description)
        }
    }
}
