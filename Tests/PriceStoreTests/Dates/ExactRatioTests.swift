import TestSupport
import Testing

@testable import PriceStore

struct ExactRatioTests {
    /// The processor's own division of two exact doubles is rounded correctly.
    @Test func agreesWithTheProcessorOnWhatDoublesHold() {
        var random = SeededRandom(5)
        for _ in 0..<100_000 {
            let numerator =
                Int64.random(in: -(1 << 53)...1 << 53, using: &random) >> Int64.random(in: 0...52, using: &random)
            let denominator = Int64.random(in: 1...1 << 37, using: &random) >> Int64.random(in: 0...36, using: &random)
            let divisor = max(1, denominator)
            let ratio = ExactRatio(numerator: Int128(numerator), denominator: Int128(divisor))
            #expect(ratio.nearestDouble == Double(numerator) / Double(divisor))
        }
    }

    @Test func roundsLargeWholeNumbersAsTheProcessorDoes() {
        var random = SeededRandom(6)
        for _ in 0..<50_000 {
            let number = Int64.random(in: .min ... .max, using: &random)
            #expect(ExactRatio(numerator: Int128(number), denominator: 1).nearestDouble == Double(number))
            // Times a power of two nothing is rounded anew.
            let large = ExactRatio(numerator: Int128(number) << 30, denominator: 1)
            #expect(large.nearestDouble == Double(number) * 0x1p30)
        }
    }

    @Test func tiesGoToTheEvenNeighbour() {
        let base: Int128 = 1 << 53
        #expect(ExactRatio(numerator: base + 1, denominator: 1).nearestDouble == 0x1p53)
        #expect(ExactRatio(numerator: base + 3, denominator: 1).nearestDouble == 0x1p53 + 4)
        #expect(ExactRatio(numerator: -(base + 1), denominator: 1).nearestDouble == -0x1p53)
        // A trifle above the tie is no tie, however far down the trifle is.
        #expect(ExactRatio(numerator: ((base + 1) << 37) + 1, denominator: 1 << 37).nearestDouble == 0x1p53 + 2)
        #expect(ExactRatio(numerator: ((base + 1) << 40) + 1, denominator: 1).nearestDouble == (0x1p53 + 2) * 0x1p40)
        #expect(ExactRatio(numerator: (base + 1) << 40, denominator: 1).nearestDouble == 0x1p93)
    }

    @Test func flooringADoubleIsExact() {
        #expect(ExactRatio.floor(of: 0.1, times: 10, over: 1) == 1)
        #expect(ExactRatio.floor(of: 0.3, times: 10, over: 1) == 2)
        #expect(ExactRatio.floor(of: -0.3, times: 10, over: 1) == -3)
        #expect(ExactRatio.floor(of: Double.leastNonzeroMagnitude, times: 86_400_000_000, over: 1) == 0)
        #expect(ExactRatio.floor(of: -Double.leastNonzeroMagnitude, times: 1, over: 1000) == -1)
        #expect(ExactRatio.floor(of: 0x1p79, times: 1, over: 1000) == (Int128(1) << 79) / 1000)
        #expect(ExactRatio.floor(of: 2_461_364.5, times: 86_400_000_000, over: 1) == 212_661_892_800_000_000)
    }
}
