import PriceStore

/// The SQL for candles of an archive.
extension RestorationTable {
    private func values(_ prefix: String) -> [String] { columns.map { reference($0, prefix) } }

    /// Whether there was no candle before.
    private var wasMade: String { "num_nonnulls(\(values("old").joined(separator: ", "))) = 0" }

    /// Whether the store's candle is as the run wrote it.
    private var isWritten: String { Self.same(columns.map { "m.\($0.quotedIdentifier)" }, values("new")) }

    private var candleKey: String { archivedKey.joined(separator: ", ") }

    /// The archived candles of some rows, with the values of ``ArchivedCandle``, ordered by the first number of their key and their own
    /// number.
    ///
    /// - Parameter restored: rows of the archive that the store may have again in the place of candles; nil if the store is not compared
    ///   with the old values.
    func candleStates(
        _ ranges: [ClosedRange<Int64>], restored: (table: RestorationTable?, rows: [ClosedRange<Int64>])?
    ) -> SQLFragment {
        let former = columns.indices.map { "lag(r.new_\($0 + 1)) OVER before" }
        let follows = Self.same(columns.indices.map { "r.old_\($0 + 1)" }, former)
        var isBefore = SQLFragment("FALSE")
        if let restored {
            let isFormer = Self.same(columns.map { "m.\($0.quotedIdentifier)" }, values("old"))
            isBefore = SQLFragment(
                "CASE WHEN \(wasMade) THEN \(rowCount("r", where: "TRUE")) = 0 ELSE \(rowCount("r", where: isFormer)) > 0 END"
            )
            if let table = restored.table, !restored.rows.isEmpty {
                let (own, others) = (archivedKey.map { "r.\($0)" }, key.map { "a.\($0.quotedIdentifier)" })
                isBefore =
                    "(" + isBefore
                    + " OR \(Self.text(own)) IN (SELECT \(Self.text(others)) FROM \(table.source) AS a WHERE "
                    + .any(restored.rows.map { table.isIn($0) }) + "))"
            }
        }
        return
            "SELECT row, first_value(row) OVER candle AS first, is_made, is_written, follows, is_before FROM (SELECT "
            + "r.\(rowNumber) AS row, \(candleKey), \(wasMade) AS is_made, \(rowCount("r", where: isWritten)) = 1 AS is_written, "
            + "\(follows) AS follows, " + isBefore + " AS is_before FROM \(source) AS r WHERE "
            + .any(ranges.map { isIn($0, alias: "r") })
            + " WINDOW before AS (PARTITION BY \(candleKey) ORDER BY r.\(rowNumber))) AS r "
            + "WINDOW candle AS (PARTITION BY \(candleKey) ORDER BY row) ORDER BY first, row"
    }

    /// The candles of a range, each once: its first number, its last new values and its first old values.
    private func candles(_ rows: ClosedRange<Int64>) -> SQLFragment {
        let old = columns.indices.map { "first_value(r.old_\($0 + 1)) OVER candle AS old_\($0 + 1)" }
        let new = columns.indices.map { "r.new_\($0 + 1)" }
        let values = ["first_value(r.\(rowNumber)) OVER candle AS first"] + old + new
        return
            "(SELECT DISTINCT ON (\(candleKey)) \(candleKey), \(values.joined(separator: ", ")) FROM \(source) AS r WHERE "
            + isIn(rows, alias: "r") + " WINDOW candle AS (PARTITION BY \(candleKey) ORDER BY r.\(rowNumber)) "
            + "ORDER BY \(candleKey), r.\(rowNumber) DESC) AS r"
    }

    func candleCount(_ rows: ClosedRange<Int64>) -> SQLFragment { "SELECT count(*) FROM " + candles(rows) }

    /// Deletes the candles of a range that the run made and that are as it wrote them. Returns their first numbers.
    func candleDeletes(_ rows: ClosedRange<Int64>) -> [SQLFragment] {
        sameKeys("r").map {
            "DELETE FROM \(target.sql) AS m USING " + candles(rows)
                + " WHERE \(wasMade) AND \($0.condition) AND \(isWritten) RETURNING r.first"
        }
    }

    /// Restores the old values of the other candles. Returns their first numbers.
    func candleUpdates(_ rows: ClosedRange<Int64>) -> [SQLFragment] {
        let sets = zip(columns, values("old")).map { "\($0.quotedIdentifier) = \($1)" }.joined(separator: ", ")
        return sameKeys("r").map {
            "UPDATE \(target.sql) AS m SET \(sets) FROM " + candles(rows)
                + " WHERE NOT (\(wasMade)) AND \($0.condition) AND \(isWritten) RETURNING r.first"
        }
    }

    /// The condition that the store's row `m` has the key of a candle that the run made, in some ranges of the archive.
    func isMade(in ranges: [ClosedRange<Int64>]) -> SQLFragment {
        "\(Self.text(key.map { "m.\($0.quotedIdentifier)" })) IN (SELECT \(Self.text(archivedKey.map { "r.\($0)" })) FROM "
            + "\(source) AS r WHERE \(wasMade) AND (" + .any(ranges.map { isIn($0, alias: "r") }) + "))"
    }

    /// Counts the archived rows of a range whose key a row of the store uses: rows with other values, those of them whose key becomes free,
    /// and rows with equal values whose key becomes free.
    func conflicts(_ rows: ClosedRange<Int64>, _ references: [RestorationTable], isFreed: SQLFragment) -> SQLFragment {
        "SELECT count(*) FILTER (WHERE NOT is_equal) AS conflicts, count(*) FILTER (WHERE NOT is_equal AND is_freed) AS freed, "
            + "count(*) FILTER (WHERE is_equal AND is_freed) AS freed_equal FROM (SELECT \(isEqual(references)) AS is_equal, "
            + isFreed
            + " AS is_freed FROM \(source) AS a \(join("a")) WHERE " + isIn(rows) + ") AS found"
    }
}
