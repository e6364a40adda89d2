import GRDB
import PriceStore

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    import Darwin
#endif

/// Writes price points into a new SQLite file.
struct GoldPriceStore {
    let path: String
    let schema: StoreSchema
    let symbols: [String]

    /// Makes the file; it appears under its name when it is complete, in WAL journal mode.
    ///
    /// - Throws: what SQLite or the file system reports; no file of that name is left behind then.
    func write(_ points: some Sequence<PricePoint>) throws {
        let partial = path + ".part"
        remove(partial)
        do {
            try fill(partial, with: points)
        } catch {
            remove(partial)
            throw error
        }
        remove(path)
        guard rename(partial, path) == 0 else {
            throw GoldPricesError("cannot rename \(partial) to \(path): \(String(cString: strerror(errno)))")
        }
    }

    private func fill(_ partial: String, with points: some Sequence<PricePoint>) throws {
        let queue = try DatabaseQueue(path: partial)
        try queue.writeWithoutTransaction { db in
            // The half-made file is thrown away after a crash, so nothing of it needs to be safe.
            try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")
            try db.inTransaction {
                try db.execute(sql: schema.table)
                let insert = try db.makeStatement(
                    sql: """
                        INSERT INTO YahooGoldPricePoint (symbol, updateTime, price, open, high, low, volume) \
                        VALUES (?, ?, ?, ?, ?, ?, ?)
                        """)
                for point in points { try insert.execute(arguments: arguments(of: point)) }
                for index in schema.indexes { try db.execute(sql: index) }
                return .commit
            }
            try db.execute(sql: "PRAGMA journal_mode = WAL")
        }
        try queue.close()
    }

    private func arguments(of point: PricePoint) -> StatementArguments {
        let time: any DatabaseValueConvertible =
            schema.storesText ? Instant(unixSeconds: point.unixSeconds).rfc3339 : point.unixSeconds
        return [
            symbols[Int(point.symbol)], time, Double(point.priceCents) / 100, Double(point.openCents) / 100,
            Double(point.highCents) / 100, Double(point.lowCents) / 100, Int(point.volume),
        ]
    }

    /// Removes a store and what SQLite keeps beside it; files that are not there are no error.
    private func remove(_ store: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(store + suffix) }
    }
}
