package import PriceStore
import RetentionJob

/// How tables name past runs: with few characters, but enough for `--run` and `undo`.
package struct RunNames {
    private let length: Int
    private let now: Instant?

    /// The names of some runs.
    ///
    /// - Parameters:
    ///   - identifiers: the IDs among which a short one must be distinct: all of the ledger.
    ///   - now: the time of the clock, whose year is not shown; nil: all years are.
    package init(_ identifiers: [String], now: Instant? = nil) {
        self.now = now
        let longest = identifiers.map(\.count).max() ?? 10
        let isDistinct = { (length: Int) in Set(identifiers.map { $0.prefix(length) }).count == identifiers.count }
        length = (10..<max(11, longest)).first(where: isDistinct) ?? longest
    }

    /// The first characters of an ID.
    func short(_ run: String) -> String { SafeText.line(String(run.prefix(length))) }

    /// A time in UTC: `25 Nov 03:17`, with the year if it is not this one.
    func time(_ instant: Instant) -> String {
        let civil = instant.civil
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let year = civil.date.year == now?.civil.date.year ? "" : " \(civil.date.year)"
        return "\(civil.date.day) \(months[civil.date.month - 1])\(year) \(instant.plain.dropFirst(11).prefix(5))"
    }
}
