/// What a bucket keeps of its rows: the first and the last price, the highest and the lowest, and sums.
///
/// A row with a price is a candle of its own, so rows and candles are merged in one way.
package struct Candle: Hashable, Sendable {
    package var open: CandleNumber
    package var high: CandleNumber
    package var low: CandleNumber
    package var close: CandleNumber
    package var volume: CandleNumber
    /// Σ price · volume, so that a mean price can be computed of several candles.
    package var priceVolume: CandleNumber
    /// How many prices there are.
    package var count: Int64
    package var openTime: CandleTime
    package var closeTime: CandleTime

    /// Makes a candle of all its parts.
    package init(
        open: CandleNumber, high: CandleNumber, low: CandleNumber, close: CandleNumber, volume: CandleNumber,
        priceVolume: CandleNumber, count: Int64, openTime: CandleTime, closeTime: CandleTime
    ) {
        self.open = open
        self.high = high
        self.low = low
        self.close = close
        self.volume = volume
        self.priceVolume = priceVolume
        self.count = count
        self.openTime = openTime
        self.closeTime = closeTime
    }

    /// The candle of one price.
    package init(
        price: CandleNumber, volume: CandleNumber = .integer(0), at time: CandleTime
    ) throws(CandleError) {
        self.init(
            open: price, high: price, low: price, close: price, volume: volume, priceVolume: try price * volume,
            count: 1, openTime: time, closeTime: time)
    }

    /// Takes another candle of the bucket in. The open is its only if it is earlier, the close only if it is later.
    ///
    /// - Parameter isLaterInTie: whether the other one is the later one if both close at the same time.
    package mutating func merge(_ other: Candle, isLaterInTie: Bool = false) throws(CandleError) {
        if other.openTime < openTime { (open, openTime) = (other.open, other.openTime) }
        if closeTime < other.closeTime || isLaterInTie && closeTime == other.closeTime {
            (close, closeTime) = (other.close, other.closeTime)
        }
        if high < other.high { high = other.high }
        if other.low < low { low = other.low }
        volume = try volume + other.volume
        priceVolume = try priceVolume + other.priceVolume
        let (sum, isTooLarge) = count.addingReportingOverflow(other.count)
        guard !isTooLarge else { throw .overflow }
        count = sum
    }
}

/// When a price was: the date of its row as the store holds it, and the instant that it says.
///
/// Some formats are finer than an instant, so dates of one instant are compared as numbers.
package struct CandleTime: Hashable, Sendable {
    package let instant: Instant
    package let value: StoreValue

    /// Makes a time of a stored date and what it says.
    package init(_ instant: Instant, _ value: StoreValue) {
        self.instant = instant
        self.value = value
    }

    /// Whether it is earlier than another one.
    package static func < (a: CandleTime, b: CandleTime) -> Bool {
        if a.instant != b.instant { return a.instant < b.instant }
        guard let a = CandleNumber(a.value), let b = CandleNumber(b.value) else { return false }
        return a < b
    }

    /// Whether neither is earlier.
    package static func == (a: CandleTime, b: CandleTime) -> Bool { !(a < b) && !(b < a) }

    /// Hashes the instant.
    package func hash(into hasher: inout Hasher) { hasher.combine(instant) }
}
