import ArgumentParser
import GRDB
import PriceObjects
import PriceStore
import SQLiteStore

/// New points for an empty store. Both ways of inserting them make the same ones.
struct NewPoints: ParsableArguments {
    @Argument(help: "The store, made with `goldprices --rows 0`.")
    var store: String

    @Argument(help: "How many points.")
    var rows: Int

    /// One point.
    struct Point {
        var time: Int64
        var price: Double
        var volume: Int64
    }

    /// The point of a number.
    func point(_ number: Int) -> Point {
        let step = Int64(number)
        return Point(
            time: 1_600_000_000 + 60 * step, price: 1500 + Double(step &* 7919 % 100_000) / 100,
            volume: step &* 104_729 % 10_000)
    }
}

/// Inserts by one batch insert request whose handler makes a row at a time.
struct InsertBatch: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Inserts points by a batch insert request.")

    @OptionGroup var points: NewPoints

    func run() throws {
        let context = StoreContext(try SQLiteWriter(path: points.store))
        var number = 0
        let request = BatchInsertRequest(entity: "YahooGoldPricePoint") { row in
            guard number < points.rows else { return .stop }
            let point = points.point(number)
            number += 1
            row["symbol"] = .text("XAUUSD")
            row["updateTime"] = .integer(point.time)
            row["price"] = .real(point.price)
            row["open"] = .real(point.price)
            row["high"] = .real(point.price + 1)
            row["low"] = .real(point.price - 1)
            row["volume"] = .integer(point.volume)
            return .insert
        }
        _ = try context.execute(request)
    }
}

/// Inserts by a prepared statement in a loop, in one transaction, with GRDB alone.
struct InsertGRDB: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "insert-grdb", abstract: "Inserts points by a prepared statement, with GRDB alone.")

    @OptionGroup var points: NewPoints

    func run() throws {
        let queue = try DatabaseQueue(path: points.store)
        try queue.writeWithoutTransaction { db in
            // As the engine does in a WAL store.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        try queue.write { db in
            let statement = try db.makeStatement(
                sql: """
                    INSERT INTO YahooGoldPricePoint (symbol, updateTime, price, open, high, low, volume) \
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """)
            for number in 0..<points.rows {
                let point = points.point(number)
                try statement.execute(arguments: [
                    "XAUUSD", point.time, point.price, point.price, point.price + 1, point.price - 1, point.volume,
                ])
            }
        }
    }
}
