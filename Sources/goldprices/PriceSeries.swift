/// Price points in time order, a random walk for each symbol: first those of the store, then those of the pending file.
///
/// Every step has one point for each symbol. The pending file begins with a new step, so each of its points is newer than all points of the
/// store.
struct PriceSeries: Sequence, IteratorProtocol {
    private let symbolCount: Int
    private let rowCount: Int
    private let secondsPerStep: Int64
    private var generator: SplitMix64
    private var cents: [Int]
    private var step: Int64
    private var emitted = 0

    /// A part of a series: its number of points, and where it begins.
    struct Span {
        /// Seconds since 1970-01-01T00:00:00Z of the first step.
        var firstUnixSeconds: Int64
        var rowCount: Int
    }

    /// The points of the store, then those of the pending file. The last step is the last whole one before `until`.
    static func spans(
        storeRows: Int, pendingRows: Int, symbolCount: Int, secondsPerStep: Int64, untilUnixSeconds: Int64
    ) -> (store: Span, pending: Span) {
        let storeSteps = Int64((storeRows + symbolCount - 1) / symbolCount)
        let pendingSteps = Int64((pendingRows + symbolCount - 1) / symbolCount)
        // Rounded towards the past, also before 1970.
        let behind = (untilUnixSeconds % secondsPerStep + secondsPerStep) % secondsPerStep
        let end = untilUnixSeconds - behind + (behind == 0 ? 0 : secondsPerStep)
        let pendingStart = end - pendingSteps * secondsPerStep
        return (
            Span(firstUnixSeconds: pendingStart - storeSteps * secondsPerStep, rowCount: storeRows),
            Span(firstUnixSeconds: pendingStart, rowCount: pendingRows)
        )
    }

    /// Makes the points of a span. `symbolCount` and `secondsPerStep` are at least 1.
    init(_ span: Span, symbolCount: Int, secondsPerStep: Int64, seed: UInt64) {
        self.symbolCount = symbolCount
        self.rowCount = span.rowCount
        self.secondsPerStep = secondsPerStep
        self.generator = SplitMix64(seed: seed)
        self.cents = (0..<symbolCount).map { 2_400_00 + 350_00 * $0 }
        self.step = span.firstUnixSeconds
    }

    mutating func next() -> PricePoint? {
        guard emitted < rowCount else { return nil }
        let symbol = emitted % symbolCount
        if symbol == 0 && emitted > 0 { step += secondsPerStep }
        emitted += 1

        let open = cents[symbol]
        // The price moves by at most 75 cents. A walk that comes near zero turns back.
        let change = generator.next(below: 151) - 75
        let close = open + change < 100_00 ? open - change : open + change
        cents[symbol] = close
        let (low, high) = open < close ? (open, close) : (close, open)
        return PricePoint(
            symbol: Int32(symbol), priceCents: Int32(clamping: close), openCents: Int32(clamping: open),
            highCents: Int32(clamping: high + generator.next(below: 30)),
            lowCents: Int32(clamping: low - generator.next(below: 30)),
            volume: Int32(generator.next(below: 500)), unixSeconds: step)
    }
}
