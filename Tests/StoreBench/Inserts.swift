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
        try context.execute(request)
    }
}

/// A point as a typed row.
struct TypedPoint: Storable {
    static let entity = "YahooGoldPricePoint"
    static let attributes = ["symbol", "updateTime", "price", "open", "high", "low", "volume"]
    var symbol = "XAUUSD"
    var time: Int64
    var price: Double
    var open: Double
    var high: Double
    var low: Double
    var volume: Int64

    init(_ point: NewPoints.Point) {
        time = point.time
        price = point.price
        open = point.price
        high = point.price + 1
        low = point.price - 1
        volume = point.volume
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

/// Inserts by one batch insert request of typed rows.
struct InsertTyped: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Inserts points as typed rows.")

    @OptionGroup var points: NewPoints

    func run() throws {
        let context = StoreContext(try SQLiteWriter(path: points.store))
        try context.execute(BatchInsertRequest((0..<points.rows).lazy.map { TypedPoint(points.point($0)) }))
    }
}

/// Fetches all points, as typed rows or as lists of values.
struct FetchPoints: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Fetches all points.")

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
