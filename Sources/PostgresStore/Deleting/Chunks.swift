import PriceStore

/// A chunk of a hypertable.
struct Chunk {
    let leaf: Leaf
    /// Its range; nil if it has an open end.
    let bounds: PartitionBounds?
    let bytes: Int
    /// Whether it is frozen: the server changes nothing in it.
    let isFrozen: Bool
}

extension PostgresConnection {
    /// The column that divides a hypertable into chunks; nil if a function of it does.
    func chunkColumn(_ table: PostgresTable) throws -> String? {
        try texts(TimescaleSQL.primaryDimension(table)).first
    }
}

/// The chunks of a hypertable, and what their ranges prove about their rows.
struct Chunks {
    private let session: PostgresConnection
    private let date: DateSQL
    /// All chunks, oldest first.
    let all: [Chunk]

    init(of table: PostgresTable, _ date: DateSQL, _ session: PostgresConnection) throws {
        (self.session, self.date) = (session, date)
        if let known = session.catalog.chunks?[table.oid] {
            all = known
            return
        }
        all = try session.rows(TimescaleSQL.chunks(table, type: date.type)).map { row in
            Chunk(
                leaf: Leaf(
                    oid: try row.int("oid"), sql: try row.relation("nspname", "relname"),
                    name: try row.text("relname"), isForeign: try !row.isTrue("is_changeable")),
                bounds: try row.bounds(), bytes: try row.int("bytes"), isFrozen: try row.isTrue("is_frozen"))
        }
        session.catalog.chunks?[table.oid] = all
    }

    /// The indexes of the chunks that are proved to hold only rows with valid dates before an instant. Chunks of the same range, in a space
    /// dimension, are dropped together or not at all.
    func expired(before instant: Instant) throws -> [Int] {
        let areExpired = try date.areTrue(date.isWhollyBefore(instant), of: all.map(\.bounds), session)
        let kept = Set(all.filter(\.leaf.isForeign).compactMap(\.bounds))
        return all.indices.filter { areExpired[$0] && all[$0].bounds.map(kept.contains) == false }
    }

    /// Whether no chunk overlaps another one with another range. Attached chunks may.
    private func areApart() throws -> Bool {
        let gaps = zip(all, all.dropFirst()).compactMap {
            one, next -> PartitionBounds?? in
            guard let end = one.bounds, let start = next.bounds else { return .some(nil) }
            return end == start ? nil : PartitionBounds(lower: end.upper, upper: start.lower)
        }
        return try date.areTrue(SQLFragment("bounds.low <= bounds.high"), of: gaps, session).allSatisfy { $0 }
    }

    /// The condition of the rows outside some chunks, and whether these chunks are the oldest. If the chunks are adjacent, an index finds
    /// the other rows; if they are the oldest, the bounds of the other chunks do too.
    func outside(_ places: [Int]) throws -> (condition: SQLFragment, areOldest: Bool) {
        guard let first = places.first, let last = places.last else { return (.always, false) }
        let isOther = "NOT " + RowScope.isIn(places.map { all[$0].leaf.oid })
        guard last - first + 1 == places.count, let start = all[first].bounds?.lower,
            let end = all[last].bounds?.upper, try areApart()
        else { return (isOther, false) }
        let isAfter = "\(date.column) >= " + .bound(end, date.orderType)
        if first == 0 { return (isAfter, true) }
        return (.all([isOther, .any(["\(date.column) < " + .bound(start, date.orderType), isAfter])]), false)
    }
}
