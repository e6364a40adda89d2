import PriceStore

/// The SQL for candles of an archive.
extension RestorationTable {
    /// The condition that two rows are about the same candle; a part of its group may be NULL.
    private func isCandle(_ m: String, _ r: String) -> String {
        let parts = zip(key, archivedKey).map { column, archived in
            let (stored, kept) = ("\(m).\(column.quotedIdentifier)", "\(r).\(archived)")
            return target.entity.attribute(named: column)?.isRequired == true
                ? "\(stored) = \(kept)" : "(\(stored) = \(kept) OR \(stored) IS NULL AND \(kept) IS NULL)"
        }
        return parts.joined(separator: " AND ")
    }

    private func values(_ prefix: String) -> [String] { columns.map { reference($0, prefix) } }

    /// Whether there was no candle before.
    private var wasMade: String { "num_nonnulls(\(values("old").joined(separator: ", "))) = 0" }

    /// Whether the store's candle has the old or the new values.
    private func isCandle(_ prefix: String) -> String {
        isCandle("m", "r") + " AND " + Self.same(columns.map { "m.\($0.quotedIdentifier)" }, values(prefix))
    }

    private var candleKey: String { archivedKey.joined(separator: ", ") }

    /// The candles of some rows of the archive: its number, that of the first row about the same candle, and whether it was made, is
    /// written, and follows, as ``ArchivedCandle`` has it.
    func candleStates(_ ranges: [ClosedRange<Int64>]) -> SQLFragment {
        let former = columns.indices.map { "lag(r.new_\($0 + 1)) OVER before" }
        return
            "SELECT row, first_value(row) OVER candle, is_made, bool_or(is_written) OVER (candle ROWS BETWEEN CURRENT ROW AND "
            + "UNBOUNDED FOLLOWING), follows FROM (SELECT r.\(rowNumber) AS row, \(candleKey), \(wasMade) AS is_made, "
            + "EXISTS (SELECT 1 FROM \(target.sql) AS m WHERE \(isCandle("new"))) AS is_written, "
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
    func candleDelete(_ rows: ClosedRange<Int64>) -> SQLFragment {
        "DELETE FROM \(target.sql) AS m USING " + candles(rows)
            + " WHERE \(wasMade) AND \(isCandle("new")) RETURNING r.first"
    }

    /// Gives the others their old values, and returns their first numbers.
    func candleUpdate(_ rows: ClosedRange<Int64>) -> SQLFragment {
        let sets = zip(columns, values("old")).map { "\($0.quotedIdentifier) = \($1)" }.joined(separator: ", ")
        return "UPDATE \(target.sql) AS m SET \(sets) FROM " + candles(rows)
            + " WHERE NOT (\(wasMade)) AND \(isCandle("new")) RETURNING r.first"
    }

    /// Counts archived rows of a range whose keys other rows of the store use, and those among them whose keys are those of candles that
    /// the run has made.
    func conflicts(
        _ rows: ClosedRange<Int64>, _ references: [RestorationTable], besides candles: [RestorationTable]
    ) -> SQLFragment {
        let made = candles.map {
            "EXISTS (SELECT 1 FROM \($0.source) AS r WHERE \($0.wasMade) AND \($0.isCandle("m", "r")))"
        }
        return
            "SELECT count(*), count(*) FILTER (WHERE \((made + ["FALSE"]).joined(separator: " OR "))) FROM \(source) AS a "
            + "JOIN \(target.sql) AS m ON \(isSameKey("a")) WHERE " + isIn(rows) + " AND NOT (\(isEqual(references)))"
    }
}
