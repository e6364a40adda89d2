/// Reads the commonest form of ISO 8601, `YYYY-MM-DDTHH:MM:SS` in UTC, and remembers the day. The next row usually has the same day, and
/// then only its time is read.
///
/// A text of the same day costs a few nanoseconds. Nothing is allocated.
package struct RecentDay {
    private let isUTC: Bool
    /// The ten bytes of the date, as in memory.
    private var date: (UInt64, UInt16)
    private var startSeconds: Int64 = 0

    /// - Parameter zone: the zone of texts without an offset. If it is not UTC, such texts are not read here.
    package init(zone: CalendarZone) {
        isUTC = zone == .utc
        date = Array("1970-01-01".utf8).withUnsafeBytes(Self.date)
    }

    private static func date(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt16) {
        (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
    }

    /// The instant of a text, in microseconds since 1970-01-01T00:00:00Z. It lasts a microsecond. Nil: the text has another form, or is not
    /// a date; ``DateEncoding/readText(_:zone:)`` decides.
    package mutating func read(_ utf8: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard utf8.count == 20 ? utf8[19] | 0x20 == 0x7A : utf8.count == 19 && isUTC,
            utf8[10] | 0x20 == 0x74 || utf8[10] == 0x20, utf8[13] == 0x3A, utf8[16] == 0x3A
        else { return nil }
        let found = Self.date(UnsafeRawBufferPointer(utf8))
        if found != date {
            var reader = ISO8601Reader(UnsafeBufferPointer(rebasing: utf8[..<10]))
            guard let span = reader.read(zone: .utc) else { return nil }
            (date, startSeconds) = (found, span.start / 1_000_000)
        }
        func number(at index: Int) -> Int64 {
            let (tens, ones) = (utf8[index] &- 48, utf8[index + 1] &- 48)
            return tens <= 9 && ones <= 9 ? Int64(tens) * 10 + Int64(ones) : .max
        }
        let (hour, minute, second) = (number(at: 11), number(at: 14), number(at: 17))
        guard hour <= 23, minute <= 59, second <= 59 else { return nil }
        return (startSeconds + hour * 3600 + minute * 60 + second) * 1_000_000
    }
}
