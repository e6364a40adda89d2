package import PriceStore

/// Dates around a change of the clocks, as an engine compares them and as Swift reads them.
package enum ClockChanges {
    /// A zone, and when its clocks change; of UTC a leap second.
    package struct Change: Sendable, CustomStringConvertible {
        package let zone: String
        package let instant: String
        package var description: String { "\(zone) \(instant)" }
    }

    package static let all = [
        Change(zone: "Europe/Berlin", instant: "2026-10-25T01:00:00Z"),
        Change(zone: "Europe/Berlin", instant: "2026-03-29T01:00:00Z"),
        // Midnight occurs twice.
        Change(zone: "Atlantic/Azores", instant: "2026-10-25T01:00:00Z"),
        Change(zone: "Australia/Lord_Howe", instant: "2026-04-04T15:00:00Z"),
        Change(zone: "UTC", instant: "2017-01-01T00:00:00Z"),
    ]

    /// A column of a kind of store. Its values are those of a format; dates of a server's own type are given as texts.
    package struct Column: Hashable, Sendable, CustomStringConvertible {
        package let encoding: DateEncoding
        package let type: String
        package var description: String { "\(encoding) in \(type)" }

        package init(_ encoding: DateEncoding, _ type: String) { (self.encoding, self.type) = (encoding, type) }

        /// Local times and days around a change, and the leap seconds before hours, where the column can have them.
        package func values(_ change: Change) -> [StoreValue] {
            guard let zone = CalendarZone(identifier: change.zone), let middle = Instant(iso8601: change.instant)
            else { return [] }
            var texts: [String] = []
            for step in -20...20 {
                let moment = middle.advanced(byMicroseconds: Int64(step) * 900_000_000)
                let civil = zone.civil(of: moment)
                let parts = [civil.hour, civil.minute, civil.second].map { $0 < 10 ? "0\($0)" : "\($0)" }
                let day = "\(civil.date)"
                texts += [day + " " + parts.joined(separator: ":"), "\(day) \(parts[0]):59:60"]
                let date = civil.date
                texts += [-1, 0, 1].map { "\(CivilDate(dayNumber: date.dayNumber + $0))" }
            }
            let isDay = encoding == .yyyymmdd || type == "date"
            return Array(Set(texts)).sorted().compactMap { text in
                if isDay != (text.count == 10), encoding != .iso8601 { return nil }
                // The server itself has no leap seconds.
                if encoding == .native, text.hasSuffix(":60") { return nil }
                guard encoding != .iso8601, encoding != .native else { return .text(text) }
                let digits = text.filter(\.isNumber)
                return ["INTEGER", "int8"].contains(type) ? Int64(digits).map(StoreValue.integer) : .text(digits)
            }
        }

        package func date(in zone: CalendarZone) -> DateAttribute {
            DateAttribute(name: "at", encoding: encoding, zone: zone, earliest: Instant(unixSeconds: 315_532_800))
        }
    }

    /// The comparisons in which an engine finds other rows than Swift. The rows are numbered from 1 in the order of the values.
    package static func failures(
        _ change: Change, _ column: Column, of entity: String, _ reader: any RetentionReader
    ) throws -> [String] {
        guard let zone = CalendarZone(identifier: change.zone), let middle = Instant(iso8601: change.instant)
        else { return ["no such zone"] }
        let date = column.date(in: zone)
        let spans = column.values(change).map { value -> (start: Instant, end: Instant)? in
            guard case .span(let start, let end) = column.encoding.read(value, zone: zone) else { return nil }
            return (start, end)
        }
        var failures = spans.contains { $0 == nil } ? ["Swift does not read all values"] : []
        func compare(_ what: String, _ predicate: StorePredicate, _ isRight: ((start: Instant, end: Instant)) -> Bool)
            throws
        {
            let rows = try reader.fetch(StoreFetchRequest(entity: entity, predicate: predicate), attributes: ["id"])
            let wanted = spans.enumerated().filter { $1.map(isRight) ?? false }.map {
                StoreValue.integer(Int64($0.offset) + 1)
            }
            if Set(rows.map { $0[0] }) != Set(wanted) { failures.append(what) }
        }
        for step in -24...24 {
            let instant = middle.advanced(byMicroseconds: Int64(step) * 450_000_000)
            try compare("before \(instant)", .date(DateRange(date, before: instant))) { $0.end <= instant }
            let operators: [(StorePredicate.Operator, (Instant, Instant) -> Bool)] = [
                (.less, { $0 < $1 }), (.lessOrEqual, { $0 <= $1 }), (.greater, { $0 > $1 }),
                (.greaterOrEqual, { $0 >= $1 }), (.equal, { $0 == $1 }), (.notEqual, { $0 != $1 }),
            ]
            for (comparison, isRight) in operators {
                try compare("\(comparison) \(instant)", .dateCompare(date, comparison, instant)) {
                    isRight($0.start, instant)
                }
            }
        }
        return failures
    }
}
