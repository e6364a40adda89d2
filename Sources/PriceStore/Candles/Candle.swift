/// What a bucket keeps of its rows: the first and the last price, the highest and the lowest, and sums.
///
/// A row with a price is a candle of its own, so rows and candles are merged in the same way.
package struct Candle: Hashable, Sendable {
    package var open: CandleNumber
    package var high: CandleNumber
    package var low: CandleNumber
    package var close: CandleNumber
    package var volume: CandleNumber
    /// Σ price · volume, from which the mean price of several candles is computed.
    package var priceVolume: CandleNumber
    package var count: Int64
    package var openTime: CandleTime
    package var closeTime: CandleTime
}

extension Candle {
    package init(
        price: CandleNumber, volume: CandleNumber = .integer(0), at time: CandleTime
    ) throws(CandleError) {
        self.init(
            open: price, high: price, low: price, close: price, volume: volume, priceVolume: try price * volume,
            count: 1, openTime: time, closeTime: time)
    }

    /// The fields of a candle in a table besides its key, in the order of ``values``.
    package static let fields: [CandleField] = [
        .open, .high, .low, .close, .volume, .priceVolume, .count, .openTime, .closeTime,
    ]

    package var values: [StoreValue] {
        [
            open.storeValue, high.storeValue, low.storeValue, close.storeValue, volume.storeValue,
            priceVolume.storeValue, .integer(count), openTime.value, closeTime.value,
        ]
    }

    /// Makes the candle of a row; nil: the row is not a candle.
    ///
    /// - Parameter number: reads the field at an index of ``fields``; `time` reads it as a date.
    package init?(number: (Int) -> CandleNumber?, time: (Int) -> CandleTime?) {
        guard let open = number(0), let high = number(1), let low = number(2), let close = number(3),
            let volume = number(4), let priceVolume = number(5), case .integer(let count)? = number(6),
            let openTime = time(7), let closeTime = time(8)
        else { return nil }
        self.init(
            open: open, high: high, low: low, close: close, volume: volume, priceVolume: priceVolume, count: count,
            openTime: openTime, closeTime: closeTime)
    }

    /// Merges another candle of the bucket. The open changes only if the other candle is earlier, the close only if it is later.
    ///
    /// - Parameter isLaterInTie: whether the other candle is the later one if both close at the same time.
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

/// The time of a price: the date of its row as the store holds it, and the instant of that date.
///
/// Some formats are finer than an instant, so dates of the same instant are compared as numbers.
package struct CandleTime: Hashable, Sendable {
    package let instant: Instant
    package let value: StoreValue

    package init(_ instant: Instant, _ value: StoreValue) {
        self.instant = instant
        self.value = value
    }

    package static func < (a: CandleTime, b: CandleTime) -> Bool {
        if a.instant != b.instant { return a.instant < b.instant }
        guard let a = a.number, let b = b.number else { return false }
        return a < b
    }

    /// The date as a number; nil: it is not a number.
    private var number: CandleNumber? {
        if case .text(let text) = value { DecimalNumber(text).map(CandleNumber.decimal) } else { CandleNumber(value) }
    }

    package static func == (a: CandleTime, b: CandleTime) -> Bool { !(a < b) && !(b < a) }

    package func hash(into hasher: inout Hasher) { hasher.combine(instant) }
}
