// Foundation, not FoundationEssentials: a static binary has time zone data only with ICU.
import Foundation

/// The offsets of one zone from UTC, computed from Foundation's time zone data when needed, and cached.
///
/// Foundation's "next transition" covers daylight saving time only, but a zone can also change its standard time or skip a day. So the
/// offset is read twice for each day, and a change is found by bisection.
final class ZoneOffsets: Sendable {
    /// An interval with one offset: start inclusive, end exclusive, all in seconds. The same offset may continue after it.
    struct Segment {
        var start: Int
        var end: Int
        var offset: Int
    }

    private struct State: Sendable {
        var latest: Segment?
        var buckets: [Int: [Segment]] = [:]
    }

    private let zone: TimeZone
    private let state = LockedValue(State())

    private static let known = LockedValue<[String: ZoneOffsets]>([:])

    private init(_ zone: TimeZone) { self.zone = zone }

    /// The offsets of the zone of an IANA name; nil: there is none. They are created once for each name.
    static func named(_ identifier: String) -> ZoneOffsets? {
        known.withLock { known in
            if let offsets = known[identifier] { return offsets }
            // Foundation also accepts "GMT+2", "PST" and similar, which are not IANA names.
            guard identifier.contains("/") || namesWithoutArea.contains(identifier),
                let zone = TimeZone(identifier: identifier), zone.identifier == identifier
            else { return nil }
            let offsets = ZoneOffsets(zone)
            known[identifier] = offsets
            return offsets
        }
    }

    private static let namesWithoutArea: Set<String> = [
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "HST", "Hongkong",
        "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST", "MST7MDT", "NZ",
        "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK", "Singapore", "Turkey", "W-SU",
        "WET",
    ]

    // Outside the years 1779 to 9999 the data give answers that change from one day to the next, or none.
    private static let firstSecond = -6_000_000_000
    private static let lastSecond = 253_402_300_799
    private static let bucketLength = 1 << 25
    private static let stepLength = 43_200
    /// More than the difference between the offsets of any two zones.
    private static let margin = 2 * 86_400

    /// The interval that holds an instant, in seconds since 1970-01-01T00:00:00Z.
    func segment(at seconds: Int) -> Segment {
        state.withLock { state in
            if let latest = state.latest, latest.start <= seconds, seconds < latest.end { return latest }
            let segment = find(seconds, &state)
            state.latest = segment
            return segment
        }
    }

    /// Seconds since 1970-01-01T00:00:00Z at a local time; see ``CalendarZone/instant(of:_:)``.
    func seconds(ofLocal local: Int, _ occurrence: CalendarZone.Occurrence) -> Int {
        state.withLock { state in
            if let latest = state.latest {
                let seconds = local - latest.offset
                if latest.start + ZoneOffsets.margin <= seconds, seconds < latest.end - ZoneOffsets.margin {
                    return seconds
                }
            }
            var segment = find(local - ZoneOffsets.margin, &state)
            while true {
                let seconds = local - segment.offset
                if seconds < segment.end {
                    // It is not before the start of the interval either: the search began two days early and stopped at the first interval
                    // that has this local time.
                    if occurrence == .last { segment = lastSegment(ofLocal: local, from: segment, &state) }
                    state.latest = segment
                    return local - segment.offset
                }
                let next = find(segment.end, &state)
                if local - next.offset < next.start {
                    // The local time is skipped: the clocks changed from before it to after it.
                    return seconds
                }
                segment = next
            }
        }
    }

    /// The last interval that has a local time, searched from `first`, the first one that has it.
    private func lastSegment(ofLocal local: Int, from first: Segment, _ state: inout State) -> Segment {
        var (last, end) = (first, first.end)
        while end - ZoneOffsets.margin < local - first.offset {
            let next = find(end, &state)
            if (next.start..<next.end).contains(local - next.offset) { last = next }
            end = next.end
        }
        return last
    }

    private func find(_ seconds: Int, _ state: inout State) -> Segment {
        if seconds < ZoneOffsets.firstSecond {
            return Segment(start: .min / 2, end: ZoneOffsets.firstSecond, offset: offset(at: ZoneOffsets.firstSecond))
        }
        if seconds > ZoneOffsets.lastSecond {
            return Segment(
                start: ZoneOffsets.lastSecond + 1, end: .max / 2, offset: offset(at: ZoneOffsets.lastSecond))
        }
        let bucket = seconds.flooringDivision(by: ZoneOffsets.bucketLength)
        let segments: [Segment]
        if let kept = state.buckets[bucket] {
            segments = kept
        } else {
            segments = survey(bucket)
            state.buckets[bucket] = segments
        }
        for segment in segments where seconds < segment.end { return segment }
        return Segment(start: seconds, end: seconds + 1, offset: offset(at: seconds))
    }

    /// The intervals of a bucket, in order of time, without gaps.
    private func survey(_ bucket: Int) -> [Segment] {
        let start = max(bucket * ZoneOffsets.bucketLength, ZoneOffsets.firstSecond)
        let end = min((bucket + 1) * ZoneOffsets.bucketLength, ZoneOffsets.lastSecond + 1)
        var segments: [Segment] = []
        var current = Segment(start: start, end: end, offset: offset(at: start))
        var seen = start
        while seen < end - 1 {
            let next = min(seen + ZoneOffsets.stepLength, end - 1)
            let offsetThere = offset(at: next)
            if offsetThere != current.offset {
                var (low, high) = (seen, next)
                while high - low > 1 {
                    let middle = low + (high - low) / 2
                    if offset(at: middle) == current.offset { low = middle } else { high = middle }
                }
                current.end = high
                segments.append(current)
                current = Segment(start: high, end: end, offset: offset(at: high))
                seen = high
            } else {
                seen = next
            }
        }
        segments.append(current)
        return segments
    }

    private func offset(at seconds: Int) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }
}
