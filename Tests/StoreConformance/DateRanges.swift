package import PriceStore

/// Ranges of dates with two ends, against the ranges from the earliest date on that they are the difference of.
package enum DateRanges {
    /// Instants around the ends of hours, days, months and years, and around a change of the clock.
    package static let ends = [
        "2022-12-31T10:00:00Z", "2023-12-31T23:00:00Z", "2024-01-01T00:00:00Z", "2024-01-31T23:59:59.999999Z",
        "2024-02-29T00:00:00Z", "2024-02-29T14:00:00Z", "2024-03-01T00:00:00Z", "2024-03-01T00:00:00.000001Z",
        "2024-03-31T01:00:00Z", "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z", "2025-01-01T12:00:00Z",
    ].compactMap { Instant(iso8601: $0) }

    /// Texts of `iso8601` that represent years, months, days and instants.
    package static let texts = [
        "2022", "2023", "2024", "2025", "2023-12", "2024-02", "2024-03", "2024-12", "2023-12-31", "2024-01-01",
        "2024-02-29", "2024-03-01", "2024-02-29T23:30:00-12:00", "2024-03-01T00:30+14:00", "2024-03-31 02:30",
        "2024-10-27T02:30", "2024-10-27T02:30Z", "gold", "", "1850-01-01",
    ]

    /// A column of a kind of store that holds dates of a format.
    package struct Column: Hashable, Sendable, CustomStringConvertible {
        package let encoding: DateEncoding
        package let type: String
        package var description: String { "\(encoding) in \(type)" }

        package init(_ encoding: DateEncoding, _ type: String) { (self.encoding, self.type) = (encoding, type) }

        /// The attribute `at` with this column in a zone.
        package func date(in zone: CalendarZone) -> DateAttribute {
            DateAttribute(name: "at", encoding: encoding, zone: zone, earliest: Instant(unixSeconds: 315_532_800))
        }

        /// Values around all ends.
        package func values(in zone: CalendarZone) -> [StoreValue] {
            if encoding == .iso8601 { return texts.map { .text($0) } }
            return ends.flatMap { end in
                [-400, -40, -2, -1, 0, 1, 2].map {
                    encoding.value(of: end.advanced(byMicroseconds: $0 * 43_200_000_000), zone: zone)
                }
            }
        }
    }

    package static let zones = ["UTC", "Europe/Berlin", "Pacific/Kiritimati"]

    /// The ranges that are not the difference of two, of every pair of ends; a text, too, if the ranges hardly differ.
    package static func failures(
        _ date: DateAttribute, of entity: String, _ reader: any RetentionReader
    ) throws -> [String] {
        func ids(_ range: DateRange) throws -> Set<StoreValue> {
            let rows = StoreFetchRequest(entity: entity, predicate: .date(range))
            return Set(try reader.fetch(rows, attributes: ["id"]).map { $0[0] })
        }
        var failures: [String] = []
        var sizes: Set<Int> = []
        for from in ends {
            let before = try ids(DateRange(date, before: from))
            for end in ends + [nil] {
                let range = DateRange(date, from: from, before: end)
                let found = try ids(range)
                sizes.insert(found.count)
                if try found != ids(DateRange(date, before: end)).subtracting(before) { failures.append("\(range)") }
            }
        }
        return sizes.count > 2 ? failures : failures + ["the ranges have \(sizes) rows"]
    }
}
