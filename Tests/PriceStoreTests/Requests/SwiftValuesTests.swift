import Foundation
import PriceStore
import Testing

/// Values, conditions and dates as Swift writes them.
struct SwiftValuesTests {
    @Test func literalsAreValues() {
        let values: [StoreValue] = [1, 2.5, "gold", true, false, "n\(1)"]
        #expect(values == [.integer(1), .real(2.5), .text("gold"), .integer(1), .integer(0), .text("n1")])
    }

    @Test func swiftValuesComeBackAsTheyWere() {
        #expect(Int(storeValue: 7.storeValue) == 7 && Int64(storeValue: Int64.min.storeValue) == .min)
        #expect(Double(storeValue: 2.5.storeValue) == 2.5 && Double(storeValue: 2) == 2)
        #expect(Bool(storeValue: true.storeValue) == true && String(storeValue: "a".storeValue) == "a")
        #expect([UInt8](storeValue: ([1, 2] as [UInt8]).storeValue) == [1, 2])
        #expect(Int?(storeValue: .null) == .some(nil) && StoreValue(nil as Int?) == .null)
        #expect(Int(storeValue: "7") == nil && Bool(storeValue: 2) == nil && String(storeValue: .null) == nil)
    }

    @Test func comparisonsAreConditions() {
        let condition: StorePredicate = Attribute("done") == true && Attribute("price") < 10
        #expect(
            condition == .and([.compare("done", .equal, .integer(1)), .compare("price", .less, .integer(10))]))
        let note: String? = nil
        #expect((Attribute("note") == note) == StorePredicate.isNull("note"))
        #expect((Attribute("note") != note) == StorePredicate.isNotNull("note"))
        let others = [Attribute("a") <= 1, Attribute("a") > 1.5, Attribute("a") >= "x", Attribute("a") != 2]
        #expect(
            others == [
                .compare("a", .lessOrEqual, 1), .compare("a", .greater, 1.5), .compare("a", .greaterOrEqual, "x"),
                .compare("a", .notEqual, 2),
            ])
    }

    @Test(arguments: [0, 1, -1, 1_735_689_600_123_456, -62_135_596_800_000_000] as [Int64])
    func datesAndInstantsConvertToTheMicrosecond(_ microseconds: Int64) {
        let instant = Instant(microseconds: microseconds)
        #expect(Instant(Date(instant)).microseconds.distance(to: microseconds).magnitude <= 8)
        #expect(abs(Date(instant).timeIntervalSince1970 - Double(microseconds) / 1e6) < 1e-5)
    }

    @Test func datesOutOfRangeSaturateAndNoNumberDeletesNothing() {
        #expect(Instant(Date(timeIntervalSince1970: 1e300)) == .distantFuture)
        #expect(Instant(Date(timeIntervalSince1970: -1e300)) == .distantPast)
        #expect(Instant(Date(timeIntervalSince1970: .nan)) == .distantPast)
        #expect(Instant(Date(timeIntervalSince1970: 1_735_689_600)) == Instant(iso8601: "2025-01-01"))
    }

    @Test func durationsMoveInstantsAndSaturate() {
        let instant = Instant(unixSeconds: 100)
        #expect(
            instant + .seconds(1) == Instant(unixSeconds: 101)
                && instant - .milliseconds(1500) == Instant(microseconds: 98_500_000))
        #expect(instant - .seconds(Int64.max) == .distantPast && instant + .seconds(Int64.max) == .distantFuture)
    }

    @Test func objectIDsCanBeRead() {
        #expect("\(ObjectID(entity: "item", key: [17]))" == "item 17")
    }
}
