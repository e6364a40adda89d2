extension DateEncoding {
    private static let recognisable = allCases.filter { $0 != .native }
    private static let day: Int64 = 86_400_000_000

    /// The other formats in which a value lies within the 400 days before the clock (inclusive), newest first, for `wrong_unit`.
    package static func plausibleAlternatives(
        to declared: DateEncoding, for value: StoreValue, now: Instant, zone: CalendarZone
    ) -> [(DateEncoding, Instant)] {
        let recent = now.advanced(byMicroseconds: -400 * day)...now
        var found: [(DateEncoding, Instant)] = []
        for encoding in recognisable where encoding != declared {
            guard let date = encoding.read(value, zone: zone).start, recent.contains(date) else { continue }
            found.append((encoding, date))
        }
        return found.sorted { $0.1 > $1.1 }
    }
}
