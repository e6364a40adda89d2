import GRDB

/// A Core Data store of made-up gold prices: an entity `YahooGoldPricePoint`, and what its points are related to.
package struct GoldObjects {
    let shape: Shape
    let symbols: [String]
    let rows: Int
    let step: Int
    let until: Int
    let hasHistory: Bool

    /// Seconds from 1970-01-01 to 2001-01-01, when Core Data's dates begin.
    private static let appleEpochUnixSeconds = 978_307_200

    /// - Parameters:
    ///   - rows: how many points there are, a step with one of each symbol after the other.
    ///   - step: seconds from one point of a symbol to the next.
    ///   - until: the end of the last step, in seconds since 1970-01-01T00:00:00Z; 2025-01-01T00:00:00Z if not given.
    ///   - hasHistory: whether the store tracks its history.
    package init(
        _ shape: Shape = .symbol, symbols: [String] = ["XAUUSD"], rows: Int = 100, step: Int = 60,
        until: Int = 1_735_689_600, hasHistory: Bool = false
    ) {
        (self.shape, self.symbols, self.rows) = (shape, symbols, rows)
        (self.step, self.until, self.hasHistory) = (step, until, hasHistory)
    }

    /// Creates the store. There must be no older file of that name.
    package func write(to path: String) throws {
        try CoreDataStore(
            path: path, model: shape.model, hasHistory: hasHistory,
            savedAtAppleSeconds: Double(until - Self.appleEpochUnixSeconds)
        ).write { db, layout in try insert(db, layout) }
    }

    private func insert(_ db: Database, _ layout: CoreDataLayout) throws {
        let (entity, detailEntity) = (layout.numbers["YahooGoldPricePoint"], layout.numbers["PriceDetail"])
        let detail = shape == .detail ? (column: ", ZDETAIL", value: ", ?1") : (column: "", value: "")
        let insert = try db.makeStatement(
            sql: """
                INSERT INTO ZYAHOOGOLDPRICEPOINT (Z_PK, Z_ENT, Z_OPT, ZSYMBOL, ZUPDATETIME, ZPRICE, ZOPEN, ZHIGH, \
                ZLOW, ZVOLUME\(detail.column)) VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9\(detail.value))
                """)
        let insertDetail =
            shape == .detail
            ? try db.makeStatement(
                sql: """
                    INSERT INTO ZPRICEDETAIL (Z_PK, Z_ENT, Z_OPT, ZPOINT, ZSOURCE) VALUES (?1, ?2, 1, ?1, 'samples')
                    """) : nil
        if shape == .symbol {
            for (place, name) in symbols.enumerated() {
                try db.execute(
                    sql: "INSERT INTO ZSYMBOL (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, ?, 1, ?)",
                    arguments: [place + 1, layout.numbers["Symbol"], name])
            }
        }
        let steps = (rows + symbols.count - 1) / symbols.count
        for number in 0..<rows {
            let place = number % symbols.count
            let symbol: any DatabaseValueConvertible = shape == .symbol ? place + 1 : symbols[place]
            let time = until - Self.appleEpochUnixSeconds - (steps - number / symbols.count) * step
            // Any prices do that differ: neither an index nor a page may hold one value again and again.
            let price = 1500 + Double(number &* 7919 % 100_000) / 100
            try insert.execute(arguments: [
                number + 1, entity, symbol, time, price, price, price + 1, price - 1, number &* 104_729 % 10_000,
            ])
            try insertDetail?.execute(arguments: [number + 1, detailEntity])
        }
    }
}
