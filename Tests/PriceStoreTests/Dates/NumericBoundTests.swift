import PriceStore
import TestSupport
import Testing

struct NumericBoundTests {
    static let numeric = DateEncoding.allCases.filter(\.isNumeric)
    static let cutoff = Instant(unixSeconds: 1_795_132_800)

    struct Span {
        var start: Instant
        var end: Instant
    }

    static func span(_ encoding: DateEncoding, _ value: StoreValue) -> Span? {
        guard case .span(let start, let end) = encoding.read(value, zone: .utc) else { return nil }
        return Span(start: start, end: end)
    }

    /// Instants of many kinds: whole days, seconds, milliseconds, microseconds, near and far.
    static func instant(_ random: inout SeededRandom) -> Instant {
        let range: ClosedRange<Int64> =
            Bool.random(using: &random)
            ? -2_000_000_000_000_000...4_000_000_000_000_000 : -9_000_000_000_000_000...9_000_000_000_000_000
        let micros = Int64.random(in: range, using: &random)
        let unit: Int64 = [1, 1000, 1_000_000, 3_600_000_000, 86_400_000_000].randomElement(using: &random) ?? 1
        return Instant(microseconds: micros / unit * unit)
    }

    /// INTEGERs at, beside, and near an instant.
    static func integers(_ encoding: DateEncoding, near instant: Instant, _ random: inout SeededRandom) -> [Int64] {
        let cutoff = encoding.cutoffBound(instant).integer
        let latest = encoding.latestBound(instant).integer
        let far = Int64.random(in: -100_000_000_000...100_000_000_000, using: &random)
        return [cutoff - 1, cutoff, cutoff + 1, latest - 1, latest, latest + 1, cutoff &+ far]
            .filter { $0 > .min && $0 < .max }
    }

    @Test(arguments: numeric)
    func integersAreJudgedAsTheirDates(encoding: DateEncoding) {
        var random = SeededRandom(7)
        for _ in 0..<4000 {
            let instant = NumericBoundTests.instant(&random)
            // Beyond 64 bits bounds are clamped.
            guard abs(instant.microseconds) < 7_000_000_000_000_000 else { continue }
            let (lower, cutoff, latest) = (
                encoding.lowerBound(instant).integer, encoding.cutoffBound(instant).integer,
                encoding.latestBound(instant).integer
            )
            for value in NumericBoundTests.integers(encoding, near: instant, &random) {
                guard let span = NumericBoundTests.span(encoding, .integer(value)) else { continue }
                #expect((value >= lower) == (span.start >= instant), "lower \(value) \(instant.rfc3339)")
                #expect((value < cutoff) == (span.end <= instant), "cutoff \(value) \(instant.rfc3339)")
                #expect((value <= latest) == (span.start <= instant), "latest \(value) \(instant.rfc3339)")
            }
        }
    }

    @Test(arguments: numeric)
    func doublesAreJudgedAsTheirDates(encoding: DateEncoding) {
        var random = SeededRandom(8)
        for _ in 0..<4000 {
            let instant = NumericBoundTests.instant(&random)
            let (lower, cutoff, latest) = (
                encoding.lowerBound(instant).real, encoding.cutoffBound(instant).real,
                encoding.latestBound(instant).real
            )
            let scatter = Double.random(in: 0.999...1.001, using: &random)
            let values = [
                cutoff.nextDown, cutoff, cutoff.nextUp, lower.nextDown, lower, lower.nextUp, latest.nextDown, latest,
                latest.nextUp, cutoff * scatter, cutoff.rounded(.down), cutoff.rounded(.up),
            ]
            for value in values {
                guard let span = NumericBoundTests.span(encoding, .real(value)) else { continue }
                if encoding != .unixDays, value == lower {
                    // The nearest double to an instant counts as that instant.
                    #expect(value >= lower && !(value < cutoff) && value <= latest)
                    continue
                }
                #expect((value >= lower) == (span.start >= instant), "lower \(value) \(instant.rfc3339)")
                #expect((value < cutoff) == (span.end <= instant), "cutoff \(value) \(instant.rfc3339)")
                #expect((value <= latest) == (span.start <= instant), "latest \(value) \(instant.rfc3339)")
            }
        }
    }

    @Test(arguments: numeric)
    func theRowExactlyAtTheCutoffIsKeptAndTheOneBeforeIsNot(encoding: DateEncoding) {
        let bound = encoding.cutoffBound(NumericBoundTests.cutoff)
        let value = encoding.value(of: NumericBoundTests.cutoff, zone: .utc)
        switch value {
        case .integer(let integer):
            #expect(bound.integer == integer)
            #expect(bound.real == Double(integer))
        default:
            #expect(encoding == .julianDay)
            #expect(bound == NumericBound(integer: 2_461_365, real: 2_461_364.5))
        }
    }

    @Test func aSubSecondCutoffIsRoundedUpForWholeSeconds() {
        let half = NumericBoundTests.cutoff.advanced(byMicroseconds: 500_000)
        let bound = DateEncoding.unixSeconds.cutoffBound(half)
        #expect(bound == NumericBound(integer: 1_795_132_801, real: 1_795_132_800.5))
        #expect(bound.singleParameter == .real(1_795_132_800.5))
        #expect(DateEncoding.unixSeconds.latestBound(half).integer == 1_795_132_800)
    }

    @Test func aDayIsExpiredOnlyWhenAllOfItIs() {
        let noon = NumericBoundTests.cutoff.advanced(byMicroseconds: 43_200_000_000)
        #expect(DateEncoding.unixDays.cutoffBound(noon) == NumericBound(integer: 20_777, real: 20_777))
        #expect(DateEncoding.unixDays.lowerBound(noon) == NumericBound(integer: 20_778, real: 20_778))
        #expect(DateEncoding.unixDays.latestBound(noon).integer == 20_777)
    }

    @Test(arguments: numeric)
    func theEndsOfTimeExcludeNothingThatCanBeRead(encoding: DateEncoding) {
        let lower = encoding.lowerBound(.distantPast)
        let latest = encoding.latestBound(.distantFuture)
        #expect(lower.integer == .min && latest.integer == .max)
        #expect(lower.real == -.greatestFiniteMagnitude && latest.real == .greatestFiniteMagnitude)
        let cutoff = encoding.cutoffBound(.distantPast)
        #expect(cutoff.integer == .min && cutoff.real == -.greatestFiniteMagnitude)
    }

    @Test func noValuePassesInFormatsThatDoNotCount() {
        for encoding in [DateEncoding.iso8601, .yyyymmdd, .yyyymmddhhmmss, .native] {
            let bound = encoding.cutoffBound(NumericBoundTests.cutoff)
            #expect(bound.integer == .min && bound.real == -.infinity)
        }
    }

    @Test(arguments: numeric)
    func oneParameterDecidesAsTwoDo(encoding: DateEncoding) {
        var random = SeededRandom(9)
        var singles = 0
        for _ in 0..<3000 {
            let instant = NumericBoundTests.instant(&random)
            let bound = encoding.cutoffBound(instant)
            guard let single = bound.singleParameter, bound.integer.magnitude < 1 << 62 else { continue }
            singles += 1
            for value in [bound.integer - 1, bound.integer, bound.integer + 1] {
                #expect(NumericBoundTests.isLess(.integer(value), single) == (value < bound.integer))
            }
            for value in [bound.real.nextDown, bound.real, bound.real.nextUp] {
                #expect(NumericBoundTests.isLess(.real(value), single) == (value < bound.real))
            }
            let latest = encoding.latestBound(instant)
            guard let inclusive = latest.singleInclusiveParameter, latest.integer.magnitude < 1 << 62 else { continue }
            for value in [latest.integer - 1, latest.integer, latest.integer + 1] {
                #expect(!NumericBoundTests.isLess(inclusive, .integer(value)) == (value <= latest.integer))
            }
            for value in [latest.real.nextDown, latest.real, latest.real.nextUp] {
                #expect(!NumericBoundTests.isLess(inclusive, .real(value)) == (value <= latest.real))
            }
        }
        #expect(singles > 100)
    }

    @Test func twoParametersAreNeededWhereDoublesAreCoarserThanUnits() {
        let odd = NumericBoundTests.cutoff.advanced(byMicroseconds: 1)
        #expect(DateEncoding.unixNanoseconds.cutoffBound(odd).singleParameter == nil)
        #expect(
            DateEncoding.unixSeconds.cutoffBound(NumericBoundTests.cutoff).singleParameter == .integer(1_795_132_800))
    }

    /// How a store compares numbers of both kinds: by their exact values.
    static func isLess(_ a: StoreValue, _ b: StoreValue) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.real(let a), .real(let b)): a < b
        case (.integer(let a), .real(let b)): b >= 0x1p63 || (b > -0x1p63 && a < Int64(b.rounded(.up)))
        case (.real(let a), .integer(let b)): a < -0x1p63 || (a < 0x1p63 && Int64(a.rounded(.down)) < b)
        default: false
        }
    }
}
