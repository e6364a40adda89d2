import PriceStore
import TestSupport
import Testing

/// The short way to a date must lead where the long way leads, whatever was read before.
struct RecentDayTests {
    @Test(arguments: ["UTC", "Europe/Vienna"])
    func agreesWithTheLongWay(zoneName: String) throws {
        let zone = try #require(CalendarZone(identifier: zoneName))
        var recent = RecentDay(zone: zone)
        var random = SeededRandom(20)
        let days = ["2026-11-20", "2024-02-29", "1970-01-01", "2026-02-29", "0000-01-01", "9999-12-31", "2026-1-011"]
        let alphabet = Array("0123456789-:. TtZzx\u{0}".utf8)
        var quickCount = 0
        for _ in 0..<20_000 {
            var text = Array((days.randomElement(using: &random) ?? "").utf8)
            text += Array(["T", "t", " ", "x", "\u{14}"].randomElement(using: &random)?.utf8 ?? "".utf8)
            text += Array("\(["00", "12", "23", "24"].randomElement(using: &random) ?? ""):".utf8)
            text += Array("\(["00", "59", "60"].randomElement(using: &random) ?? ""):34".utf8)
            text += Array(["", "Z", "z", "\u{1A}", "+01", ".5"].randomElement(using: &random)?.utf8 ?? "".utf8)
            if Int.random(in: 0..<3, using: &random) == 0 {
                let place = Int.random(in: text.indices, using: &random)
                text[place] = alphabet.randomElement(using: &random) ?? 0
            }
            if Int.random(in: 0..<50, using: &random) == 0 { text = Array(repeating: 0, count: text.count) }
            text.withUnsafeBufferPointer { bytes in
                guard let quick = recent.read(bytes) else { return }
                quickCount += 1
                let long = DateEncoding.iso8601.readText(bytes, zone: zone)
                #expect(long?.start == quick, "\(text)")
                #expect(long?.end == quick + 1, "\(text)")
            }
        }
        #expect(quickCount > 1000)
    }

    @Test func readsTheCommonestShapes() {
        var recent = RecentDay(zone: .utc)
        for (text, expected) in [
            ("1970-01-01T00:00:01Z", 1), ("1970-01-01 00:01:00", 60), ("1970-01-02t01:00:00z", 90_000),
        ] {
            #expect(Array(text.utf8).withUnsafeBufferPointer { recent.read($0) } == Int64(expected) * 1_000_000)
        }
    }
}
