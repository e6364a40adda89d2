import PriceStore
import TestSupport
import Testing

struct OffsetPiecesTests {
    @Test func aZoneWithoutChangesHasOnePiece() {
        #expect(CalendarZone.utc.offsetPieces(from: .distantPast, to: .distantFuture).map(\.offset) == [0])
    }

    /// Whoever looks a local time up in the pieces finds the instant that the zone itself gives.
    @Test(arguments: ["Europe/Berlin", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Casablanca"])
    func thePiecesGiveTheInstantsOfTheZone(name: String) throws {
        for occurrence in [CalendarZone.Occurrence.first, .last] { try compare(name, occurrence) }
    }

    private func compare(_ name: String, _ occurrence: CalendarZone.Occurrence) throws {
        let zone = try #require(CalendarZone(identifier: name))
        let start = try #require(Instant(iso8601: "2005-01-01"))
        let end = try #require(Instant(iso8601: "2030-01-01"))
        let pieces = zone.offsetPieces(from: start, to: end, occurrence)
        #expect(pieces.count > 10)
        var random = SeededRandom(7)
        for round in 0..<20_000 {
            // Every other one within hours of a change.
            let near = Int64.random(in: -10_000...10_000, using: &random)
            let local =
                round.isMultiple(of: 2)
                ? Int64.random(in: 1_104_700_000...1_893_400_000, using: &random)
                : (pieces.dropFirst().randomElement(using: &random)?.localStart ?? 0) + near
            let piece = try #require(pieces.last { $0.localStart <= local } ?? pieces.first)
            let civil = Instant(unixSeconds: local).civil
            #expect(zone.instant(of: civil, occurrence) == Instant(unixSeconds: local - piece.offset), "\(civil)")
        }
    }
}
