import PriceStore

/// The chunks of a hypertable, and what their ranges prove about their rows.
struct Chunks {
    private let session: PostgresDatabase
    private let date: DateSQL
    /// All chunks, oldest first.
    let all: [Leaf]

    init(of table: PostgresTable, _ date: DateSQL, _ session: PostgresDatabase) throws {
        (self.session, self.date) = (session, date)
        if let known = session.catalog.chunks?[table.oid] {
            all = known
            return
        }
        all = try session.rows(TimescaleSQL.chunks(table, type: date.type)).map { row in
            Leaf(
                oid: try row.int("oid"), sql: try row.relation("nspname", "relname"), name: try row.text("relname"),
                isForeign: try !row.isTrue("is_changeable"), bounds: try row.bounds(), bytes: try row.int("bytes"),
                isFrozen: try row.isTrue("is_frozen"))
        }
        session.catalog.chunks?[table.oid] = all
    }

    /// The indexes of the chunks that are proved to hold only rows with valid dates before an instant. Chunks of the same range, in a space
    /// dimension, are dropped together or not at all.
    func expired(before instant: Instant) throws -> [Int] {
        let areExpired = try date.areTrue(date.isWhollyBefore(instant), of: all.map(\.bounds), session)
        let kept = Set(all.filter(\.isForeign).compactMap(\.bounds))
        return all.indices.filter { areExpired[$0] && all[$0].bounds.map(kept.contains) == false }
    }

    /// Whether no chunk overlaps another one with another range. Attached chunks may.
    private func areApart() throws -> Bool {
        let ranges = all.compactMap(\.bounds)
        let gaps = zip(ranges, ranges.dropFirst()).filter { $0 != $1 }.map {
            PartitionBounds(lower: $0.upper, upper: $1.lower)
        }
        return try ranges.count == all.count
            && date.areTrue("bounds.low <= bounds.high", of: gaps, session).allSatisfy { $0 }
    }

    /// The condition of the rows outside some chunks, and whether these chunks are the oldest. Then an index finds the other rows, and so
    /// do the bounds of the other chunks.
    func outside(_ places: [Int]) throws -> (condition: SQLFragment, areOldest: Bool) {
        guard let last = places.last, last + 1 == places.count, let end = all[last].bounds?.upper, try areApart() else {
            return (places.isEmpty ? .always : "NOT " + RowScope.isIn(places.map { all[$0].oid }), false)
        }
        return ("\(date.column) >= " + .bound(end, date.orderType), true)
    }
}
