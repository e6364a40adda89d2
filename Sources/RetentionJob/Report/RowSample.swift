package import PriceStore

/// Some rows of a rule with their table's columns, for a review before a run.
package struct RowSample: Sendable {
    package var columns: [String]
    /// The first and the last rows that would be deleted, each in date order; a row is in only one of the two.
    package var oldest: [[StoreValue]] = []
    package var newest: [[StoreValue]] = []
    /// The first rows at or after the cutoff, which stay.
    package var kept: [[StoreValue]] = []
}

/// The groups of `keep_last` that lose rows and get none.
package struct SilentGroups: Sendable {
    /// How many there are, as far as they were counted.
    package var count = 0
    /// Whether there may be more.
    package var isCut = false
    /// The first of them, the ones that have been silent for the shortest time first: `symbol XAU`, and the date of the newest row.
    package var newest: [(group: String, date: Instant)] = []
}

/// Rows that will expire soon if no row arrives and nothing changes.
package struct Forecast: Hashable, Sendable {
    /// Within the next 24 hours.
    package var nextDay: Int
    /// In the 7 days after that.
    package var nextWeek: Int
    /// Until the next run is due; nil: it is due, or when is not known.
    package var untilDue: Int?
}
