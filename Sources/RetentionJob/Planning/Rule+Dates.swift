package import PriceStore
package import RetentionPolicy

extension Rule {
    /// The date attribute with everything needed to read it; nil: the rule has no format.
    ///
    /// Dates before 1971-01-01 in the zone are invalid unless the rule sets `earliest`. Only then is a stored 0 a date.
    ///
    /// A run writes the times of candles: 0 is a time there, and the first candle may begin before the first valid date.
    package func date(zone: CalendarZone) -> DateAttribute? {
        let earliestDate = earliest ?? Self.defaultEarliest(zone)
        let longer = rollup.flatMap { $0.isFromCandles ? $0.buckets : nil }
        return dateFormat.map {
            DateAttribute(
                name: dateName ?? dateAttribute, encoding: $0, zone: zone,
                earliest: longer?.bucket(at: earliestDate).lowerBound ?? earliestDate,
                latest: latest, trustsZero: earliest != nil || longer != nil)
        }
    }

    /// What the rows become when they are deleted; nil: they become nothing.
    func rollupRequest(_ date: DateAttribute) -> Rollup? {
        rollup.map { setting in
            Rollup(
                target: setting.target, buckets: setting.buckets, groupedBy: setting.per,
                source: setting.price.map { .prices($0, volume: setting.volume) } ?? .candles(setting.sourceNames),
                names: setting.names, date: date, allowsNonPositive: setting.allowsNonPositive)
        }
    }
}

extension StoreReader {
    /// The error that the store cannot do what is asked for.
    func unsupported(_ message: String) -> StoreError { StoreError(.unsupported, store: name, message: message) }

    /// The first date of some rows; nil: there is no row, or its date cannot be read.
    func firstDate(
        _ date: DateAttribute, of rows: StoreFetchRequest, ascending: Bool = true
    ) throws(StoreError) -> Instant? {
        var rows = rows
        (rows.sortDescriptors, rows.fetchLimit) = ([StoreSortDescriptor(date.name, ascending: ascending)], 1)
        return try fetch(rows, attributes: [date.name]).first?.first.flatMap {
            date.encoding.read($0, zone: date.zone).start
        }
    }
}
