/// The totals of rows or candles, over all buckets.
package struct CandleTotals: Sendable {
    package private(set) var rowCount = 0
    private var count = Int128(0)
    private var high: CandleNumber?
    private var low: CandleNumber?
    private var wholeVolume = Int128(0)
    private var decimalVolume: DecimalNumber?
    /// In units of ``unit``, like all sums of doubles here, so that finite volumes have a finite sum.
    private var realVolume = 0.0
    private var hasReals = false
    /// The sum of the magnitudes of all volumes, which bounds the rounding error.
    private var magnitude = 0.0
    private static let unit = 0x1p64

    package init() {}

    package mutating func add(_ candle: Candle) {
        rowCount += 1
        count += Int128(candle.count)
        high = high.map { max($0, candle.high) } ?? candle.high
        low = low.map { min($0, candle.low) } ?? candle.low
        switch candle.volume {
        case .integer(let volume): wholeVolume += Int128(volume)
        case .real(let volume):
            realVolume += volume / Self.unit
            hasReals = true
        case .decimal(let volume): decimalVolume = decimalVolume.map { $0 + volume } ?? volume
        }
        if decimalVolume == nil { magnitude += abs(candle.volume.asDouble) / Self.unit }
    }

    /// The volume, if no part of it is a double.
    private var exactVolume: DecimalNumber {
        let whole = DecimalNumber(wholeVolume)
        return decimalVolume.map { $0 + whole } ?? whole
    }

    /// Throws unless some rows and the candles before them add up to the candles after them.
    package static func check(rows: CandleTotals, before: CandleTotals, after: CandleTotals) throws(CandleError) {
        func require(_ holds: Bool, _ figure: String) throws(CandleError) {
            guard holds else { throw .disagreement(figure) }
        }
        try require(rows.count + before.count == after.count, "their number")
        try require([rows.high, before.high].compactMap(\.self).max() == after.high, "the highest price")
        try require([rows.low, before.low].compactMap(\.self).min() == after.low, "the lowest price")
        if rows.hasReals || before.hasReals || after.hasReals {
            let sum = Double(rows.wholeVolume + before.wholeVolume) / unit + rows.realVolume + before.realVolume
            let difference = abs(sum - (Double(after.wholeVolume) / unit + after.realVolume))
            // Subnormal doubles are coarse.
            let allowed = max(tolerance * (rows.magnitude + before.magnitude), .leastNormalMagnitude)
            try require(difference <= allowed, "the volume")
        } else {
            try require(rows.exactVolume + before.exactVolume == after.exactVolume, "the volume")
        }
    }

    /// The allowed difference, per unit of volume, between sums of the same doubles in different orders.
    private static let tolerance = 1e-9
}
