import ArgumentParser

/// The kinds of store that the benchmarks compare.
enum StoreSchema: String, CaseIterable, ExpressibleByArgument {
    /// A rowid table with a date index.
    case s1
    /// ``s1`` and a unique key of symbol and date.
    case s2
    /// A table without a rowid: the key is symbol and date, and there is no date index.
    case s3
    /// A rowid table without a date index.
    case s4
    /// ``s1`` with dates as ISO 8601 text.
    case s5

    /// Whether dates are text.
    var storesText: Bool { self == .s5 }

    /// The statement that creates the table.
    var table: String {
        let id = self == .s3 ? "" : "id INTEGER PRIMARY KEY, "
        let key = self == .s3 ? ", PRIMARY KEY (symbol, updateTime)) WITHOUT ROWID" : ")"
        return """
            CREATE TABLE YahooGoldPricePoint (\
            \(id)symbol TEXT NOT NULL, updateTime \(storesText ? "TEXT" : "INTEGER") NOT NULL, price REAL NOT NULL, \
            open REAL NOT NULL, high REAL NOT NULL, low REAL NOT NULL, volume INTEGER NOT NULL\(key)
            """
    }

    /// The statements that make its indexes.
    var indexes: [String] {
        let date = "CREATE INDEX ix_time ON YahooGoldPricePoint (updateTime)"
        switch self {
        case .s1, .s5: return [date]
        case .s2: return [date, "CREATE UNIQUE INDEX ux_symbol_time ON YahooGoldPricePoint (symbol, updateTime)"]
        case .s3, .s4: return []
        }
    }
}
