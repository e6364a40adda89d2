import PriceStore
import Testing

struct CandleNumberTests {
    @Test func integersAndDoublesAreComparedExactly() {
        let numbers: [CandleNumber] = [
            .real(-.greatestFiniteMagnitude), .integer(.min), .integer(.min + 1), .real(-1.5), .integer(-1),
            .real(-0.5),
            .integer(0), .real(.leastNonzeroMagnitude), .integer(1), .real(1.5), .real(0x1p53), .integer(1 << 53 + 1),
            .integer(.max), .real(0x1p63), .real(.greatestFiniteMagnitude),
        ]
        for (index, number) in numbers.enumerated() {
            for (other, next) in numbers.enumerated() {
                #expect((number < next) == (index < other), "\(number) \(next)")
                #expect((number == next) == (index == other), "\(number) \(next)")
            }
        }
        #expect(CandleNumber.integer(3) == .real(3) && CandleNumber.integer(.min) == .real(-0x1p63))
        #expect(Set([CandleNumber.integer(3), .real(3)]).count == 1)
    }

    @Test func sumsAreExactOrRefused() throws {
        #expect(try CandleNumber.integer(.max - 1) + .integer(1) == .integer(.max))
        #expect(throws: CandleError.overflow) { try CandleNumber.integer(.max) + .integer(1) }
        #expect(throws: CandleError.overflow) { try CandleNumber.integer(1 << 32) * .integer(1 << 31) }
        #expect(throws: CandleError.overflow) { try CandleNumber.real(.greatestFiniteMagnitude) * .integer(2) }
        #expect(try CandleNumber.integer(1) + .real(0.5) == .real(1.5))
    }

    @Test func onlyFiniteNumbersAreNumbers() {
        for value: StoreValue in [.null, .text("1"), .blob([1]), .real(.infinity), .real(.nan)] {
            #expect(CandleNumber(value) == nil)
        }
        #expect(CandleNumber(.integer(1))?.storeValue == .integer(1) && CandleNumber(.real(1))?.storeValue == .real(1))
    }
}
