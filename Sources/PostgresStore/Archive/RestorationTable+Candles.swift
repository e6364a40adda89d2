import PriceStore

/// The SQL for candles of an archive.
extension RestorationTable {
    private func values(_ prefix: String) -> [String] { columns.map { reference($0, prefix) } }

    /// Whether there was no candle before.
    private var wasMade: String { "num_nonnulls(\(values("old").joined(separator: ", "))) = 0" }

    /// Whether the store's candle is as the run has written it.
    private var isWritten: String { Self.same(columns.map { "m.\($0.quotedIdentifier)" }, values("new")) }

    private var candleKey: String { archivedKey.joined(separator: ", ") }

    /// The candles of some rows of the archive: its number, that of the first row about the same candle, and whether it was made, is
    /// written, and follows, as ``ArchivedCandle`` has it.
    func candleStates(_ ranges: [ClosedRange<Int64>]) -> SQLFragment {
        let former = columns.indices.map { "lag(r.new_\($0 + 1)) OVER before" }
        return
            "SELECT row, first_value(row) OVER candle, is_made, bool_or(is_written) OVER (candle ROWS BETWEEN CURRENT ROW AND "
            + "UNBOUNDED FOLLOWING), follows FROM (SELECT r.\(rowNumber) AS row, \(candleKey), \(wasMade) AS is_made, "
            + "\(hasRow("r", where: isWritten)) AS is_written, "
            + "\(Self.same(columns.indices.map { "r.old_\($0 + 1)" }, former)) AS follows FROM \(source) AS r WHERE "
            + .any(ranges.map { isIn($0, alias: "r") })
            + " WINDOW before AS (PARTITION BY \(candleKey) ORDER BY r.\(rowNumber))) AS r "
            + "WINDOW candle AS (PARTITION BY \(candleKey) ORDER BY row)"
    }

    /// The candles of a range, each once: its first number, its last new values and its first old ones.
    private func candles(_ rows: ClosedRange<Int64>) -> SQLFragment {
        let old = columns.indices.map { "first_value(r.old_\($0 + 1)) OVER candle AS old_\($0 + 1)" }
        let new = columns.indices.map { "r.new_\($0 + 1)" }
        let values = ["first_value(r.\(rowNumber)) OVER candle AS first"] + old + new
        return
            "(SELECT DISTINCT ON (\(candleKey)) \(candleKey), \(values.joined(separator: ", ")) FROM \(source) AS r WHERE "
            + isIn(rows, alias: "r") + " WINDOW candle AS (PARTITION BY \(candleKey) ORDER BY r.\(rowNumber)) "
            + "ORDER BY \(candleKey), r.\(rowNumber) DESC) AS r"
    }

    /// Counts the candles of a range.
    func candleCount(_ rows: ClosedRange<Int64>) -> SQLFragment { "SELECT count(*) FROM " + candles(rows) }

    /// Deletes the candles of a range that were made then and are as the run has written them, and returns their first numbers.
    func candleDeletes(_ rows: ClosedRange<Int64>) -> [SQLFragment] {
        sameKeys("r").map {
            "DELETE FROM \(target.sql) AS m USING " + candles(rows)
                + " WHERE \(wasMade) AND \($0.condition) AND \(isWritten) RETURNING r.first"
        }
    }

    /// Gives the others their old values, and returns their first numbers.
    func candleUpdates(_ rows: ClosedRange<Int64>) -> [SQLFragment] {
        let sets = zip(columns, values("old")).map { "\($0.quotedIdentifier) = \($1)" }.joined(separator: ", ")
        return sameKeys("r").map {
            "UPDATE \(target.sql) AS m SET \(sets) FROM " + candles(rows)
                + " WHERE NOT (\(wasMade)) AND \($0.condition) AND \(isWritten) RETURNING r.first"
        }
    }

    /// The condition that the store's row `m` has the key of a candle that the run has made, in some ranges of the archive.
    func isMade(in ranges: [ClosedRange<Int64>]) -> SQLFragment {
        .any(
            sameKeys("r").map { way in
                let isSame = (way.equal + way.keptIsNull).map { " AND " + $0 }.joined()
                let isOther = way.storedIsNull.map { $0 + " AND " }.joined()
                return "\(isOther)EXISTS (SELECT 1 FROM \(source) AS r WHERE \(wasMade)\(isSame) AND ("
                    + .any(ranges.map { isIn($0, alias: "r") }) + "))"
            })
    }

    /// Counts archived rows of a range whose keys rows of the store use: those with other values, those of them whose keys become
    /// free, and rows with the same values whose keys become free.
    func conflicts(_ rows: ClosedRange<Int64>, _ references: [RestorationTable], isFreed: SQLFragment) -> SQLFragment {
        "SELECT count(*) FILTER (WHERE NOT is_equal), count(*) FILTER (WHERE NOT is_equal AND is_freed), "
            + "count(*) FILTER (WHERE is_equal AND is_freed) FROM (SELECT \(isEqual(references)) AS is_equal, "
            + isFreed
            + " AS is_freed FROM \(source) AS a \(join("a")) WHERE " + isIn(rows) + ") AS found"
    }
}
