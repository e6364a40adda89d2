import ArgumentParser
import GRDB
import PriceObjects
import PriceStore
import SQLiteStore

/// A point as a typed row.
struct TypedPoint: Storable {
    static let entity = "YahooGoldPricePoint"
    static let attributes =
        [Attribute(name: "symbol", affinity: .text), Attribute(name: "updateTime", affinity: .integer)]
        + ["price", "open", "high", "low"].map { Attribute(name: $0, affinity: .real) }
        + [Attribute(name: "volume", affinity: .integer)]
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

    func write(to row: inout StoredValues) {
        row.append(symbol)
        row.append(time)
        row.append(price)
        row.append(open)
        row.append(high)
        row.append(low)
        row.append(volume)
    }
}

/// Inserts new points into an empty store in one of several ways, which make the same ones.
struct Insert: ParsableCommand {
    enum Way: String, ExpressibleByArgument {
        /// By one batch insert request whose handler makes a row at a time.
        case batch
        /// By one batch insert request of typed rows.
        case typed
        /// By a prepared statement in a loop, in one transaction, with GRDB alone.
        case grdb
    }

    @Argument(help: "The way: batch, typed or grdb.")
    var way: Way

    @Argument(help: "The store, made with `goldprices --rows 0`.")
    var store: String

    @Argument(help: "How many points.")
    var rows: Int

    func run() throws {
        switch way {
        case .batch: try insert(batch())
        case .typed: try insert(BatchInsertRequest((0..<rows).lazy.map { TypedPoint($0) }))
        case .grdb: try insertByStatement()
        }
    }

    private func insert(_ request: BatchInsertRequest) throws {
        try StoreContext(try SQLiteWriter(path: store)).execute(request)
    }

    private func batch() -> BatchInsertRequest {
        var number = 0
        return BatchInsertRequest(entity: TypedPoint.entity) { row in
            guard number < rows else { return .stop }
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
    }

    private func insertByStatement() throws {
        let queue = try DatabaseQueue(path: store)
        // As the engine does in a WAL store.
        try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        try queue.write { db in
            let statement = try db.makeStatement(
                sql: """
                    INSERT INTO YahooGoldPricePoint (symbol, updateTime, price, open, high, low, volume) \
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """)
            for number in 0..<rows {
                let point = TypedPoint(number)
                try statement.execute(arguments: [
                    point.symbol, point.time, point.price, point.open, point.high, point.low, point.volume,
                ])
            }
        }
    }
}
