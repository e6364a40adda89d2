extension DateEncoding {
    /// The other formats in which a value lies within the 400 days before the clock (inclusive), newest first, for `wrong_unit`.
    package static func plausibleAlternatives(
        to declared: DateEncoding, for value: StoreValue, now: Instant, zone: CalendarZone
    ) -> [(DateEncoding, Instant)] {
        let recent = now.advanced(byMicroseconds: -400 * 86_400_000_000)...now
        return allCases.filter { $0 != .native && $0 != declared }
            .compactMap { encoding in encoding.read(value, zone: zone).start.map { (encoding, $0) } }
            .filter { recent.contains($1) }.sorted { $0.1 > $1.1 }
    }
}
