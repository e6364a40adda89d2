extension DateEncoding {
    private static let recognisable = allCases.filter { $0 != .native }
    private static let day: Int64 = 86_400_000_000

    /// The formats in which samples read as plausible dates, between 1971 and a day after the clock, best first. For
    /// messages only: a guess is never acted on.
    ///
    /// `newest` is the newest plausible date, `plausibleShare` the share of the samples that are not NULL, above 0. Of
    /// two formats with one share, that with the newer date is first. Empty if no format reads any sample.
    package static func recognise(
        _ samples: [StoreValue], now: Instant, zone: CalendarZone
    ) -> [(encoding: DateEncoding, newest: Instant, plausibleShare: Double)] {
        let values = samples.filter { !$0.isNull }
        let start1971 = Instant(unixSeconds: 31_536_000)
        let plausible = start1971...max(start1971, now.advanced(byMicroseconds: day))
        var found: [(encoding: DateEncoding, newest: Instant, plausibleShare: Double)] = []
        for encoding in recognisable {
            let dates = values.compactMap { encoding.read($0, zone: zone).start }.filter(plausible.contains)
            guard let newest = dates.max() else { continue }
            found.append((encoding, newest, Double(dates.count) / Double(values.count)))
        }
        return found.sorted { ($0.plausibleShare, $0.newest) > ($1.plausibleShare, $1.newest) }
    }

    /// The other formats that put a value within the 400 days before the clock, the clock's instant included, newest
    /// first: what `wrong_unit` asks. Empty: none does.
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
