import PriceStore
import Testing

struct RecognitionTests {
    static let now = Instant(unixSeconds: 1_795_132_800)

    @Test(arguments: DateEncodingTests.midnight)
    func recentDatesAreRecognisedInEveryFormat(row: DateEncodingTests.Known) throws {
        let samples = (1...50).map { day in
            row.encoding.value(of: RecognitionTests.now.advanced(byMicroseconds: -86_400_000_000 * day), zone: .utc)
        }
        let found = DateEncoding.recognise(samples + [.null], now: RecognitionTests.now, zone: .utc)
        let best = try #require(found.first)
        #expect(best.encoding == row.encoding)
        #expect(best.plausibleShare == 1)
        #expect(best.newest.rfc3339 == "2026-11-19T00:00:00Z")
    }

    @Test func mixedSamplesHaveTheirShare() throws {
        let samples: [StoreValue] = [.integer(1_790_000_000), .text("2026-01-01"), .text("2026-01-02"), .null]
        let found = DateEncoding.recognise(samples, now: RecognitionTests.now, zone: .utc)
        #expect(found.map(\.encoding).prefix(2) == [.iso8601, .unixSeconds])
        let share = try #require(found.first?.plausibleShare)
        #expect(abs(share - 2.0 / 3) < 1e-9)
    }

    @Test func nothingIsRecognisedInNoise() {
        #expect(
            DateEncoding.recognise(
                [.null, .text("abc"), .blob([1]), .integer(.max)], now: RecognitionTests.now, zone: .utc
            ).isEmpty)
        #expect(DateEncoding.recognise([], now: RecognitionTests.now, zone: .utc).isEmpty)
    }

    @Test func secondsDeclaredAsMillisecondsHaveOneAlternative() {
        let found = DateEncoding.plausibleAlternatives(
            to: .unixMilliseconds, for: .integer(1_795_132_800), now: RecognitionTests.now, zone: .utc)
        #expect(found.map(\.0) == [.unixSeconds])
        #expect(found.map(\.1) == [RecognitionTests.now])
    }

    @Test func alternativesLieWithinFourHundredDays() {
        let oldest = RecognitionTests.now.advanced(byMicroseconds: -400 * 86_400_000_000)
        func alternatives(_ instant: Instant) -> [DateEncoding] {
            let value = DateEncoding.unixMicroseconds.value(of: instant, zone: .utc)
            return DateEncoding.plausibleAlternatives(
                to: .unixSeconds, for: value, now: RecognitionTests.now, zone: .utc
            )
            .map(\.0)
        }
        #expect(alternatives(oldest) == [.unixMicroseconds])
        #expect(alternatives(oldest.advanced(byMicroseconds: -1)).isEmpty)
        #expect(alternatives(RecognitionTests.now.advanced(byMicroseconds: 1)).isEmpty)
    }

    @Test func theDeclaredFormatIsNoAlternative() {
        let value = StoreValue.integer(1_795_132_800)
        let found = DateEncoding.plausibleAlternatives(
            to: .unixSeconds, for: value, now: RecognitionTests.now, zone: .utc)
        #expect(found.isEmpty)
    }
}
