import ArgumentParser
import GRDB
import PriceObjects
import PriceStore
import SQLiteStore

/// A point as a typed row.
struct TypedPoint: Storable {
    static let entity = "YahooGoldPricePoint"
    static let attributes = ["symbol", "updateTime", "price", "open", "high", "low", "volume"]
    var symbol: String
    var time: Int64
    var price: Double
    var open: Double
    var high: Double
    var low: Double
    var volume: Int64

    /// The point of a number.
    init(_ number: Int) {
        symbol = "XAUUSD"
        time = 1_600_000_000 + 60 * Int64(number)
        price = 1500 + Double(number &* 7919 % 100_000) / 100
        open = price
        high = price + 1
        low = price - 1
        volume = Int64(number &* 104_729 % 10_000)
    }

    init(_ row: inout StoredValues) throws {
        symbol = try row.next()
        time = try row.next()
        price = try row.next()
        open = try row.next()
        high = try row.next()
        low = try row.next()
        volume = try row.next()
    }

    var row: [StoreValue] {
        [
            symbol.storeValue, time.storeValue, price.storeValue, open.storeValue, high.storeValue, low.storeValue,
            volume.storeValue,
        ]
    }
}

/// New points for an empty store. Every way of inserting them makes the same ones.
struct NewPoints: ParsableArguments {
    @Argument(help: "The store, made with `goldprices --rows 0`.")
    var store: String

    @Argument(help: "How many points.")
    var rows: Int
}

/// Inserts by one batch insert request whose handler makes a row at a time.
struct InsertBatch: ParsableCommand {
    @OptionGroup var points: NewPoints

    func run() throws {
        let context = StoreContext(try SQLiteWriter(path: points.store))
        var number = 0
        let request = BatchInsertRequest(entity: TypedPoint.entity) { row in
            guard number < points.rows else { return .stop }
            let point = TypedPoint(number)
            number += 1
            row["symbol"] = .text(point.symbol)
            row["updateTime"] = .integer(point.time)
            row["price"] = .real(point.price)
            row["open"] = .real(point.open)
            row["high"] = .real(point.high)
            row["low"] = .real(point.low)
            row["volume"] = .integer(point.volume)
            return .insert
        }
        try context.execute(request)
    }
}

/// Inserts by one batch insert request of typed rows.
struct InsertTyped: ParsableCommand {
    @OptionGroup var points: NewPoints

    func run() throws {
        let context = StoreContext(try SQLiteWriter(path: points.store))
        try context.execute(BatchInsertRequest((0..<points.rows).lazy.map { TypedPoint($0) }))
    }
}

/// Inserts by a prepared statement in a loop, in one transaction, with GRDB alone.
struct InsertGRDB: ParsableCommand {
    @OptionGroup var points: NewPoints

    func run() throws {
        let queue = try DatabaseQueue(path: points.store)
        // As the engine does in a WAL store.
        try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        try queue.write { db in
            let statement = try db.makeStatement(
                sql: """
                    INSERT INTO YahooGoldPricePoint (symbol, updateTime, price, open, high, low, volume) \
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """)
            for number in 0..<points.rows {
                let point = TypedPoint(number)
                try statement.execute(arguments: [
                    point.symbol, point.time, point.price, point.open, point.high, point.low, point.volume,
                ])
            }
        }
    }
}

/// Fetches all points, as typed rows or as lists of values.
struct FetchPoints: ParsableCommand {
    @Argument(help: "The store.")
    var store: String

    @Flag(help: "As typed rows.")
    var typed = false

    func run() throws {
        let reader = try SQLiteReader(path: store)
        print(
            typed
                ? try StoreContext(reader).fetch(TypedPoint.self).count
                : try reader.fetch(.init(entity: TypedPoint.entity), attributes: TypedPoint.attributes).count)
    }
}
