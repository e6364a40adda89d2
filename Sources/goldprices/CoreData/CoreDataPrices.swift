import GRDB

/// Puts price points into the tables of a Core Data store.
struct CoreDataPrices {
    let shape: CoreDataShape
    let symbols: [String]

    /// Seconds from 1970-01-01 to 2001-01-01, when Core Data's dates begin.
    static let appleEpochUnixSeconds: Int64 = 978_307_200

    /// Inserts the points, each with a key from its position in the sequence, and their related rows.
    func insert(_ points: some Sequence<PricePoint>, _ db: Database, _ layout: CoreDataLayout) throws {
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
                    INSERT INTO ZPRICEDETAIL (Z_PK, Z_ENT, Z_OPT, ZPOINT, ZSOURCE) VALUES (?1, ?2, 1, ?1, 'goldprices')
                    """) : nil
        if shape == .symbol { try insertSymbols(db, layout) }
        var key = 0
        for point in points {
            key += 1
            let symbol: any DatabaseValueConvertible =
                shape == .symbol ? Int(point.symbol) + 1 : symbols[Int(point.symbol)]
            let time = point.unixSeconds - Self.appleEpochUnixSeconds
            let (price, open) = (Double(point.priceCents) / 100, Double(point.openCents) / 100)
            let (high, low) = (Double(point.highCents) / 100, Double(point.lowCents) / 100)
            try insert.execute(arguments: [key, entity, symbol, time, price, open, high, low, Int(point.volume)])
            try insertDetail?.execute(arguments: [key, detailEntity])
        }
    }

    private func insertSymbols(_ db: Database, _ layout: CoreDataLayout) throws {
        for (place, name) in symbols.enumerated() {
            try db.execute(
                sql: "INSERT INTO ZSYMBOL (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, ?, 1, ?)",
                arguments: [place + 1, layout.numbers["Symbol"], name])
        }
    }
}
