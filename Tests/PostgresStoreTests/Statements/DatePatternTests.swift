import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// What the server reads by a pattern, beside what Swift reads.
@Suite(.needsPostgres)
struct DatePatternTests {
    @Test(
        arguments: [
            "%d.%m.%Y %H:%M", "%Y/%m/%d", "%Y%m%d%H%M%S", "%a, %d %b %Y %H:%M:%S %z", "%Y-%m-%d %H:%M:%S.%f %z %Z",
            "%b %d, %Y %H:%M %Z", "%Y年%m月%d日", "a.c*[%%] (%d|%m) %Y{2}$ %H", "%d-%b-%Y %H:%M:%S.%f",
        ], ["UTC", "Europe/Berlin"])
    func readsWhatSwiftReads(_ text: String, _ name: String) throws {
        let encoding = DateEncoding.pattern(try #require(DatePattern(text)))
        let zone = try #require(CalendarZone(identifier: name))
        var random = SeededRandom(5)
        var texts = ["", " ", "31.02.2009 0:00", "1.1.2009 0:00", "1.1.2009 0:00\n", "Xxx, 1 Jan 2024 0:00:00 +0000"]
        for _ in 0..<300 {
            let instant = Instant(
                microseconds: Int64.random(in: -3_000_000_000_000_000...4_000_000_000_000_000, using: &random))
            guard case .text(let written) = encoding.value(of: instant, zone: zone) else { continue }
            var characters = Array(written)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: characters.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: characters.remove(at: place)
                case 1: characters.insert(["0", " ", "9"].randomElement(using: &random) ?? "0", at: place)
                case 2: characters[place] = ["0", "3", "6", "Z", "z", ":", "-"].randomElement(using: &random) ?? "0"
                default: characters.swapAt(place, 0)
                }
            }
            texts.append(String(characters))
        }
        let date = DateSQL(date: DateAttribute(name: "t", encoding: encoding, zone: zone), column: "t", type: .text)
        let civil = CivilSQL(date)
        let rows = try TestDatabase().connection().rows(
            "SELECT t, " + civil.scalar("s") + " AS s, " + civil.scalar("e") + " AS e FROM unnest("
                + .bound(ServerArray.text(texts), "text[]") + ") AS texts (t)")
        var found = 0
        for row in rows {
            let value = try row.text("t")
            var span: [Int64?] = [nil, nil]
            if case .span(let start, let end) = encoding.read(.text(value), zone: zone) {
                // Beyond these years a zone is assumed not to change.
                guard (1800..<2200).contains(zone.civil(of: start).date.year) else { continue }
                span = [start.microseconds, end.microseconds]
            }
            #expect(try [row.optionalText("s"), row.optionalText("e")] == span.map { $0.map { "\($0)" } }, "\(value)")
            found += span[0] == nil ? 0 : 1
        }
        #expect(rows.count == texts.count && found > 50 && found < texts.count)
    }
}
