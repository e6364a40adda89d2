import PriceStore

/// The local times of a zone that are before an instant: all before an end, except a hole where the zone skips times.
///
/// A skipped local time uses the offset before the gap, so it represents a later instant than the local times after the gap. Within an hour
/// of such a change, some skipped times are already past the instant while later local times are not.
struct LocalRange: Hashable {
    /// The end, exclusive: microseconds since 1970-01-01T00:00:00 on local clocks.
    var end: Int64
    /// Local times below the end that are not before the instant; nil if there are none.
    var hole: Range<Int64>?

    init(before instant: Instant, zone: CalendarZone) {
        let day: Int64 = 86_400_000_000
        let pieces = zone.offsetPieces(
            from: instant.advanced(byMicroseconds: -2 * day), to: instant.advanced(byMicroseconds: 2 * day))
        // In a piece, local times before the instant end at the instant plus the piece's offset.
        var ranges: [(start: Int64, end: Int64)] = []
        for (index, piece) in pieces.enumerated() {
            let start = index == 0 ? Int64.min : piece.localStart * 1_000_000
            let limit = index + 1 < pieces.count ? pieces[index + 1].localStart * 1_000_000 : Int64.max
            let end = min(limit, instant.advanced(byMicroseconds: piece.offset * 1_000_000).microseconds)
            if end > start { ranges.append((start, end)) }
        }
        end = ranges.last?.end ?? instant.microseconds
        if ranges.count > 1, ranges[ranges.count - 2].end < ranges[ranges.count - 1].start {
            hole = ranges[ranges.count - 2].end..<ranges[ranges.count - 1].start
        }
    }
}
