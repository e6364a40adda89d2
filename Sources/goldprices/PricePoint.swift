/// The price of one symbol in one minute. Prices are whole cents, so that the same seed gives the same bytes everywhere.
struct PricePoint {
    /// The index in the series' list of symbols.
    var symbol: Int32
    var priceCents: Int32
    var openCents: Int32
    var highCents: Int32
    var lowCents: Int32
    var volume: Int32
    /// Seconds since 1970-01-01T00:00:00Z.
    var unixSeconds: Int64
}
