extension CalendarZone {
    /// A stretch of local time that one offset from UTC converts to instants.
    package struct OffsetPiece: Hashable, Sendable {
        /// Where it begins: seconds since 1970-01-01T00:00:00 on local clocks. The first piece also holds all earlier times.
        package var localStart: Int64
        /// Seconds to subtract from the local time.
        package var offset: Int64
    }

    /// The stretches of local time with one offset between two instants, in order; at least one.
    ///
    /// They follow the rule of ``instant(of:_:)``: a skipped time belongs to the stretch before the gap, and a time that occurs twice to the
    /// later stretch, or to the earlier one.
    package func offsetPieces(
        from start: Instant, to end: Instant, _ occurrence: Occurrence = .last
    ) -> [OffsetPiece] {
        guard let offsets else { return [OffsetPiece(localStart: .min / 2_000_000, offset: 0)] }
        let last = Int(end.microseconds).flooringDivision(by: 1_000_000)
        var seconds = Int(start.microseconds).flooringDivision(by: 1_000_000)
        var segment = offsets.segment(at: seconds)
        var pieces = [OffsetPiece(localStart: Int64(.min / 2_000_000), offset: Int64(segment.offset))]
        while segment.end <= last {
            seconds = segment.end
            let next = offsets.segment(at: seconds)
            if next.offset != segment.offset {
                let offset = occurrence == .last ? next.offset : max(segment.offset, next.offset)
                pieces.append(OffsetPiece(localStart: Int64(seconds + offset), offset: Int64(next.offset)))
            }
            segment = next
        }
        return pieces
    }

    /// The period around an instant in which clocks show each local time twice; nil: there is none.
    package func repeatedTime(around instant: Instant) -> Range<Instant>? {
        let day: Int64 = 86_400_000_000
        let pieces = offsetPieces(
            from: instant.advanced(byMicroseconds: -day), to: instant.advanced(byMicroseconds: day))
        for (former, piece) in zip(pieces, pieces.dropFirst()) where piece.offset < former.offset {
            let change = Instant(unixSeconds: piece.localStart - piece.offset)
            let length = (former.offset - piece.offset) * 1_000_000
            let times = change.advanced(byMicroseconds: -length)..<change.advanced(byMicroseconds: length)
            if times.contains(instant) { return times }
        }
        return nil
    }

    /// The local times, in seconds, that clocks skip when they are set forward, if one of them is read as this instant; nil: none is.
    package func skip(at instant: Instant) -> Range<Int64>? {
        let day: Int64 = 86_400_000_000
        let pieces = offsetPieces(from: instant.advanced(byMicroseconds: -day), to: instant)
        guard pieces.count > 1, let last = pieces.last else { return nil }
        let gap = last.offset - pieces[pieces.count - 2].offset
        let change = Instant(unixSeconds: last.localStart - last.offset)
        guard gap > 0, instant < change.advanced(byMicroseconds: gap * 1_000_000) else { return nil }
        return last.localStart - gap..<last.localStart
    }
}
