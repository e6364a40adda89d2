/// The rows that a rule keeps of those before its cutoff: in each group, one row of each bucket of the calendar, or up to four.
///
/// A tier has buckets of one size, and an age. A row is kept if it is a pick of its bucket in at least one tier whose age it has not
/// passed. Picks are chosen among all readable rows, including those at or after the cutoff.
package struct Thinning: Hashable, Sendable {
    /// Which row of a bucket is kept. Among rows of one date, the row with the highest key is the last, and the one with the lowest key the
    /// first.
    package enum Pick: Hashable, Sendable {
        /// The row with the latest date.
        case last
        /// The row with the earliest date.
        case first
        /// The rows with the first, highest, lowest and last price, of equal prices the first. ``Thinning/among`` has only rows with a price.
        case ohlc(price: String)

        package var word: String { price == nil ? self == .last ? "last" : "first" : "ohlc" }

        /// The attribute of the price; nil: none matters.
        package var price: String? { if case .ohlc(let price) = self { price } else { nil } }

        /// The rows among which it is chosen, apart from other conditions; nil: all.
        package var isPriced: StorePredicate? { price.map { .isNumber($0) } }

        /// The rows of a bucket that are kept, each the first one in an order.
        package var ends: [End] {
            switch self {
            case .last: [End(isLast: true)]
            case .first: [End(isLast: false)]
            case .ohlc: [End(isLast: false), End(byPrice: "DESC"), End(byPrice: "ASC"), End(isLast: true)]
            }
        }
    }

    /// The order in which one row of a bucket is the first: by its price, if that matters, then by its date and key.
    package struct End: Hashable, Sendable {
        /// `DESC` for the highest price, `ASC` for the lowest; nil: prices do not matter.
        package var byPrice: String?
        /// Whether the latest date comes first.
        package var isLast = false
    }

    /// A size of buckets, and an age.
    package struct Tier: Hashable, Sendable {
        package var unit: CalendarUnit
        /// Rows before this instant have passed the tier's age; the distant past: none ever does.
        ///
        /// A row passes the age together with its bucket, at the bucket's end, unless only the last row is kept. Otherwise the next row of
        /// the bucket would become the first, although an earlier run may have left none.
        package var since: Instant

        package init(_ unit: CalendarUnit, since: Instant) {
            self.unit = unit
            self.since = since
        }
    }

    package let tiers: [Tier]
    package let pick: Pick
    /// The attributes of a group; empty: all rows are one group. NULL is a group of its own.
    package let groupedBy: [String]
    /// The rows among which picks are chosen: readable rows that match this condition.
    package internal(set) var among: StorePredicate
    /// The date that determines the bucket of a row. Buckets follow the calendar in the zone of the date.
    package let date: DateAttribute
    /// Rows at or after this instant are not looked at, except to choose picks, and count as not picked. A request of a rule sets its own.
    package var cutoff: Instant

    package init(
        tiers: [Tier], pick: Pick = .last, groupedBy: [String], among: StorePredicate, date: DateAttribute,
        before cutoff: Instant = .distantPast
    ) {
        self.tiers = tiers.sorted { $0.unit.size < $1.unit.size }
        self.pick = pick
        self.groupedBy = groupedBy
        self.among = among
        self.date = date
        self.cutoff = cutoff
    }
}

extension Thinning {
    /// The start of the earliest bucket in which a tier may keep a row; nil: any row may be kept.
    package var startOfLiveBuckets: Instant? {
        guard !tiers.contains(where: { $0.since == .distantPast }) else { return nil }
        return tiers.map { tier in
            let since = tier.since.advanced(byMicroseconds: -date.encoding.longestSpan)
            return date.zone.buckets(of: tier.unit, from: since, through: since)[0]
        }.min()
    }
}

/// The cells into which the buckets of all tiers of a ``Thinning`` divide time. Each bucket is a number of whole cells.
package struct ThinningCells {
    /// The start of each cell, in order, and the end of the last one.
    package private(set) var starts: [Instant] = []
    /// For each tier, the start of each bucket, in order, and the end of the last one; empty: none matters.
    package private(set) var bounds: [[Instant]] = []
    /// For each tier, the number of the bucket that contains each cell; nil: none that matters.
    package private(set) var buckets: [[Int?]] = []
    /// For each tier, the number of the first bucket that ends after ``Thinning/Tier/since``.
    package private(set) var firstLive: [Int] = []

    /// Makes the cells of the buckets that have rows before the cutoff and may have rows that their tier keeps; empty: there are none.
    package init(_ thinning: Thinning, oldest: Instant) {
        let zone = thinning.date.zone
        for tier in thinning.tiers {
            // A value that represents a span begins before the span has passed an age.
            let since = tier.since.advanced(byMicroseconds: -thinning.date.encoding.longestSpan)
            let first = max(oldest, since)
            let starts = zone.buckets(
                of: tier.unit, from: first, through: max(first, thinning.cutoff.advanced(byMicroseconds: -1)))
            guard starts[0] < thinning.cutoff else {
                bounds.append([])
                firstLive.append(0)
                continue
            }
            bounds.append(starts)
            firstLive.append(starts.dropFirst().firstIndex { $0 > tier.since }.map { $0 - 1 } ?? starts.count)
        }
        starts = Array(Set(bounds.joined())).sorted()
        guard !starts.isEmpty else { return }
        buckets = bounds.map { bounds in
            var bucket = -1
            return starts.dropLast().map { start in
                while bucket + 1 < bounds.count, bounds[bucket + 1] <= start { bucket += 1 }
                return bucket >= 0 && bucket + 1 < bounds.count ? bucket : nil
            }
        }
    }
}

extension CalendarUnit {
    /// The position among the units, smallest first.
    package var size: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension DateEncoding {
    /// The longest span of a value in microseconds, including an hour for a clock change.
    fileprivate var longestSpan: Int64 {
        let day: Int64 = 86_400_000_000
        return switch self {
        case .iso8601: 367 * day
        case .yyyymmdd, .unixDays, .native, .pattern: 2 * day
        default: 0
        }
    }
}
