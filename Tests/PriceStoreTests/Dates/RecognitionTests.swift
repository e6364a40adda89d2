import PriceStore
import Testing

struct RecognitionTests {
    static let now = Instant(unixSeconds: 1_795_132_800)

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
