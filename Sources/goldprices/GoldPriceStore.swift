import GRDB
import PriceStore

/// Writes price points into a new SQLite file.
struct GoldPriceStore {
    let path: String
    let schema: StoreSchema
    let symbols: [String]

    /// Creates the file in WAL journal mode. It gets its name when it is complete.
    ///
    /// - Throws: an error of SQLite or of the file system; there is then no file of that name.
    func write(_ points: some Sequence<PricePoint>) throws {
        try NewStoreFile(path: path).make { try fill($0, with: points) }
    }

    private func fill(_ partial: String, with points: some Sequence<PricePoint>) throws {
        let queue = try DatabaseQueue(path: partial)
        try queue.writeWithoutTransaction { db in
            // An incomplete file is discarded after a crash, so nothing in it must be durable.
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
}
