package import PriceStore

/// The table of the candles of a rule, in SQL.
struct CandleTable {
    private let connection: PostgresConnection
    private let rollup: Rollup
    private let scope: RowScope
    private let candle: CandleSQL
    /// The columns of the key, then those of ``Candle/fields``.
    private let columns: [Column]

    private struct Column {
        let name: String
        let type: ColumnType
        let typeName: String

        /// A value that came as text, in the column's type. A date without a zone gets the session's, as in ``PostgresConnection/newValue(_:_:_:)``.
        func value(_ text: String, isInstant: Bool) -> String {
            isInstant && [.timestamp, .date].contains(type)
                ? "\(text)::timestamptz::\(typeName)" : "\(text)::\(typeName)"
        }
    }

    /// - Throws: ``StoreError`` if the store lacks the table or one of its columns.
    init(_ rollup: Rollup, _ connection: PostgresConnection) throws {
        self.rollup = rollup
        self.connection = connection
        let scope = RowScope(try connection.requireTable(rollup.target))
        self.scope = scope
        candle = try CandleSQL(rollup.names, rollup.date, scope, store: connection.name)
        columns = try (rollup.key + Candle.fields.map { rollup.names[$0] }).map { name in
            let attribute = try scope.attribute(name, store: connection.name)
            return Column(
                name: attribute.name, type: scope.table.type(attribute),
                typeName: scope.table.typeNames[attribute.name] ?? "text")
        }
    }

    /// A list of values of the first columns as a table `made`, with the place of each.
    private func list(_ values: [[StoreValue]]) -> SQLFragment {
        let count = values.first?.count ?? 0
        let lists = (0..<count).map { column in
            SQLFragment.bound(ServerArray.text(values.lazy.map { $0[column].serverText }), "text[]")
        }
        let names = (0..<count).map { "v\($0)" } + ["place"]
        return "unnest(" + .joined(lists, by: ", ", empty: .never) + ") WITH ORDINALITY AS made ("
            + names.joined(separator: ", ") + ")"
    }

    /// The value of a column in ``list(_:)``.
    private func made(_ column: Int) -> String {
        columns[column].value("made.v\(column)", isInstant: column == rollup.groupedBy.count)
    }

    /// The condition that a candle has the key of a row in ``list(_:)``.
    ///
    /// - Parameter isNull: which values of the group are NULL: an index is used for `=` and for `IS NULL`.
    private func isKey(_ isNull: [Bool]) -> String {
        (isNull + [false]).enumerated().map { place, isNull in
            scope.column(columns[place].name) + (isNull ? " IS NULL" : " = \(made(place))")
        }.joined(separator: " AND ")
    }

    private func values(_ key: CandleBuilder.Key) -> [StoreValue] {
        key.group + [rollup.date.encoding.value(of: key.bucket.lowerBound, zone: rollup.date.zone)]
    }

    private func isNull(_ key: CandleBuilder.Key) -> [Bool] { key.group.map(\.isNull) }

    /// The candles that the table has of some keys.
    ///
    /// - Parameter lock: how their rows are locked until the transaction ends; empty: they are not.
    func stored(_ keys: [CandleBuilder.Key], lock: String = "") throws -> [CandleBuilder.Key: Candle] {
        var found: [CandleBuilder.Key: Candle] = [:]
        for (isNull, keys) in Dictionary(grouping: keys, by: isNull) {
            let result = try connection.execute(
                "SELECT made.place, " + .joined(candle.columns, by: ", ", empty: .never) + " FROM "
                    + list(keys.map(values))
                    + " JOIN \(scope.from) ON \(isKey(isNull))\(lock)")
            for row in result.rows {
                guard let place = row[0].flatMap({ Int($0) }),
                    let candle = candle.candle(row[1...], types: result.types[1...])
                else {
                    throw StoreError(
                        .constraint, store: connection.name,
                        message: "a row of \(rollup.target) is no candle, and new rows cannot be added to it")
                }
                found[keys[place - 1]] = candle
            }
        }
        return found
    }

    /// Writes the candles that rows were added to, reads them again, and compares them with the rows.
    ///
    /// - Parameter deletedCount: how many rows were deleted.
    func write(_ candles: CandleBuilder, deletedCount: Int) throws {
        let changes = candles.changes
        func values(_ change: CandleBuilder.Change) -> [StoreValue] { self.values(change.key) + change.after.values }
        var writtenCount = 0
        let new = changes.filter { $0.before == nil }
        if !new.isEmpty {
            let names = columns.map(\.name.quotedIdentifier).joined(separator: ", ")
            writtenCount += try connection.execute(
                "INSERT INTO \(scope.table.sql) (\(names)) SELECT \(columns.indices.map(made).joined(separator: ", ")) FROM "
                    + list(new.map(values))
            ).changedCount
        }
        let sets = columns.indices.dropFirst(rollup.key.count).map {
            "\(columns[$0].name.quotedIdentifier) = \(made($0))"
        }.joined(separator: ", ")
        for (isNull, old) in Dictionary(grouping: changes.filter { $0.before != nil }, by: { isNull($0.key) }) {
            writtenCount += try connection.execute(
                "UPDATE \(scope.from) SET \(sets) FROM " + list(old.map(values)) + " WHERE \(isKey(isNull))"
            ).changedCount
        }
        guard writtenCount == changes.count else { throw CandleError.notAsWritten }
        let written = try stored(changes.map(\.key))
        try candles.check(written: changes.map { written[$0.key] }, deletedCount: deletedCount)
    }
}

extension BatchDelete {
    /// Deletes the rows of a condition and makes them parts of candles, in the transaction at work.
    ///
    /// The rows that the DELETE returns are those that are gone, as they were at last: others may have changed or deleted
    /// some since a SELECT saw them, and a trigger may keep some.
    mutating func delete(_ condition: SQLFragment, becoming rollup: Rollup) throws -> Int {
        let isListed = request.resultType == .objectIDs
        if isListed { _ = try connection.requireKey(scope) }
        let (from, name) = (scope.from, connection.name)
        let rows = try CandleRows(rollup, of: scope, withKeys: isListed, store: name)
        let table = try CandleTable(rollup, connection)
        let gone = try connection.execute(
            rows.query { "DELETE FROM \(from)" + condition.whereClause + " RETURNING " + $0 }, isRepeated: usesOnePlan)
        var made = CandleBuilder(rollup.buckets)
        try connection.refusing {
            try made.add(rows.rows(gone)) { try table.stored($0, lock: " FOR UPDATE OF \(RowScope.alias)") }
            try table.write(made, deletedCount: gone.rows.count)
        }
        if isListed {
            let keys = rows.keys(gone)
            objectIDs += keys.rows.map { connection.objectID(scope, $0, types: keys.types) }
        }
        candles.add(made)
        deletedCount += gone.rows.count
        return gone.rows.count
    }

    /// How many rows of the table this transaction has deleted, as the server counts them; nil: other servers have them.
    func goneCount() throws -> Int? {
        guard !scope.table.isDistributed else { return nil }
        return try connection.count(SQLFragment("SELECT " + connection.changeCount("deleted", [scope.table])))
    }
}

extension PostgresConnection {
    /// Carries out what rows become; what they cannot become is an error of the store.
    fileprivate func refusing<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch let error as CandleError {
            throw StoreError(.constraint, store: name, message: error.description)
        }
    }
}

extension PostgresDatabase {
    /// So many rows of a dry run are held at a time.
    private static let rowsAtATime = 10_000

    /// How many candles the rows of a request would make, and how many that are there they would change.
    package func candles(of request: SurveyRequest) throws(StoreError) -> CandleTally {
        guard let rollup = request.rollup else { return CandleTally() }
        return try run("making candles of \(request.entity)") {
            try snapshot {
                let earlier = request.preceding.map(\.fetchRequest).filter { $0.entity == request.entity }
                let fetch = BatchDeleteRequest(request).fetchRequest.besides(earlier.map(\.predicate))
                let scope = try scope(request.entity)
                let condition = try condition(fetch.predicate, scope)
                let rows = try CandleRows(rollup, of: scope, withKeys: false, store: name)
                let table = try table(rollup.target) == nil ? nil : CandleTable(rollup, self)
                try execute(
                    "DECLARE retention_rows NO SCROLL CURSOR FOR "
                        + rows.query { "SELECT " + $0 + " FROM \(scope.from)" + condition.whereClause })
                var tally = CandleTally()
                while true {
                    let found = try execute("FETCH \(Self.rowsAtATime) FROM retention_rows")
                    var builder = CandleBuilder(rollup.buckets)
                    try refusing { try builder.add(rows.rows(found)) { try table?.stored($0) ?? [:] } }
                    tally.add(builder)
                    guard found.rows.count == Self.rowsAtATime else { break }
                }
                try execute("CLOSE retention_rows")
                return tally
            }
        }
    }
}
